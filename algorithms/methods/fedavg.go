package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/state"
)

type fedAvgOptions struct{ kit.AverageOptions }

type fedProxOptions struct {
	kit.AverageOptions
	// mu of the proximal term mu/2 |w - w_sent|^2 in every client's objective; 0 is FedAvg
	Mu float64 `toml:"mu"`
}

func (o *fedProxOptions) Validate(c *config.Checker) {
	o.Check(c, o.Mu)
	c.Require(o.Mu >= 0 && o.Mu <= 1e12, "mu", o.Mu, "must be in [0, 1e12]")
}

// fedAvg is federated averaging. The server sends one model w to all devices. They
// make mini-batch steps on their own objective (see LocalSGDOptions; with mu > 0 also
// on a proximal term, which is FedProx). The server adds to w the mean of their changes
// weighted by their rows (or equally), which is the weighted mean of their models.
// The mean leaves out devices that do not respond, and takes partial work in full. One
// w for all tasks does not reach the optimum P* of a problem whose tasks differ.
type fedAvg struct {
	kit.GlobalModel
	server serverStep // nil: the server adds the mean
}

var _ algorithms.Stateful = (*fedAvg)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name: "fedavg",
		Summary: "federated averaging: local SGD, the mean of models; one model for all tasks, weighted by " +
			"rows: compare errors, since one model does not reach the P* of tasks that differ",
		Reference: "McMahan, Moore, Ramage, Hampson, Aguera y Arcas: Communication-Efficient Learning of Deep " +
			"Networks from Decentralized Data, AISTATS 2017",
		Describe: kit.Means,
		Options:  func() algorithms.Options { return &fedAvgOptions{kit.DefaultAverage(kit.ByRows)} },
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return newFedAvg(s, o.(*fedAvgOptions).AverageOptions, 0), nil
		},
	})
	kit.Register(algorithms.Factory{
		Name:    "fedprox",
		Summary: "averaging with a proximal term; it holds local models near the one they were sent",
		Reference: "Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith: Federated Optimization in Heterogeneous Networks, " +
			"MLSys 2020",
		Describe: kit.Means,
		Options: func() algorithms.Options {
			return &fedProxOptions{AverageOptions: kit.DefaultAverage(kit.ByRows), Mu: 0.1}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts := o.(*fedProxOptions)
			return newFedAvg(s, opts.AverageOptions, opts.Mu), nil
		},
	})
}

func newFedAvg(s algorithms.Setup, o kit.AverageOptions, mu float64) *fedAvg {
	return &fedAvg{GlobalModel: kit.NewGlobalModel(s, o, mu)}
}

// End adds the mean of the changes to w, or takes the step of the server along it. A round
// without responses is none.
func (f *fedAvg) End() (float64, error) {
	if f.server == nil || f.Round.Weight == 0 {
		return f.Round.Apply(f.Weights(), 1) + f.Link.Take(), nil
	}
	mean, flops := f.Round.Mean()
	return flops + f.server.step(f.Weights(), mean) + f.Link.Take(), nil
}

// State codes w, the changes of it and the server's step.
func (f *fedAvg) State(c *state.Coder) {
	f.GlobalModel.State(c)
	if f.server != nil {
		f.server.state(c)
	}
}
