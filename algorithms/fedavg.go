package algorithms

import "fedsim/config"

// FedAvgOptions are the settings of FedAvg.
type FedAvgOptions struct{ LocalSGDOptions }

// FedProxOptions are the settings of FedProx.
type FedProxOptions struct {
	LocalSGDOptions
	Mu float64 `toml:"mu" doc:"mu of the proximal term mu/2 |w - w_sent|^2 in every device's objective; 0 is FedAvg"`
}

// Validate reports everything wrong with the options.
func (o *FedProxOptions) Validate(c *config.Checker) {
	o.check(c, o.Mu)
	c.Require(o.Mu >= 0 && o.Mu <= 1e12, "mu", o.Mu, "must be in [0, 1e12]")
}

// FedAvg is federated averaging: all devices are sent the one model w, make
// mini-batch steps on their own objective (see LocalSGDOptions; with mu > 0 also
// on a proximal term, which is FedProx), and the server adds to w the mean of
// their changes weighted by their rows, which is the weighted mean of their models.
// A device that does not answer is left out of the mean, and one that could afford
// less counts with what it did. One w for all tasks does not reach the optimum P*
// of a problem whose tasks differ.
type FedAvg struct {
	globalModel
	round average
}

var _ Algorithm = (*FedAvg)(nil)

func init() {
	Register(Factory{
		Name:      "fedavg",
		Summary:   "federated averaging: one model for all tasks, local mini-batch SGD, the mean of the models weighted by rows; compare errors, since one model does not reach the P* of tasks that differ",
		Reference: "McMahan, Moore, Ramage, Hampson, Aguera y Arcas: Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017",
		OneModel:  true,
		Options:   func() Options { return &FedAvgOptions{defaultLocalSGD()} },
		Needs:     func(o Options) Needs { return o.(*FedAvgOptions).needs() },
		Load:      func(o Options, features int) Load { return o.(*FedAvgOptions).load(features) },
		New: func(s Setup, o Options) (Algorithm, error) {
			return newFedAvg(s, o.(*FedAvgOptions).LocalSGDOptions, 0), nil
		},
	})
	Register(Factory{
		Name:      "fedprox",
		Summary:   "federated averaging with a proximal term that holds local models near the one they were sent",
		Reference: "Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith: Federated Optimization in Heterogeneous Networks, MLSys 2020",
		OneModel:  true,
		Options:   func() Options { return &FedProxOptions{LocalSGDOptions: defaultLocalSGD(), Mu: 0.1} },
		Needs:     func(o Options) Needs { return o.(*FedProxOptions).needs() },
		Load:      func(o Options, features int) Load { return o.(*FedProxOptions).load(features) },
		New: func(s Setup, o Options) (Algorithm, error) {
			opts := o.(*FedProxOptions)
			return newFedAvg(s, opts.LocalSGDOptions, opts.Mu), nil
		},
	})
}

func newFedAvg(s Setup, o LocalSGDOptions, mu float64) *FedAvg {
	return &FedAvg{globalModel: newGlobalModel(s, o, mu), round: newAverage(s.Problem.Features())}
}

// Begin opens a round: each device is sent w.
func (f *FedAvg) Begin() int {
	f.round.reset()
	return len(f.w)
}

// Solve makes the device's local steps from w.
func (f *FedAvg) Solve(r Request) Work { return f.solve(r, f.w) }

// Commit takes the device's change into the mean.
func (f *FedAvg) Commit(device int) { f.round.add(f.change.Row(device), f.rows(device), 1) }

// Discard leaves the device out of the mean.
func (f *FedAvg) Discard(int) {}

// End adds the mean of the changes to w.
func (f *FedAvg) End() float64 { return f.round.apply(f.w, 1) }
