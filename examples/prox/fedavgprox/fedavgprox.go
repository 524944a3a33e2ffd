// Package fedavgprox is federated averaging with a proximal term, written outside of
// fedsim. Device k, which was sent the model w_sent and has n_k rows, makes steps of
// mini-batch gradient descent on
//
//	1/n_k sum_i loss(w . x_ki, y_ki) + mu/2 |w - w_sent|^2
//
// and the server adds to its model the mean of the devices' changes, weighted by n_k
// (Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith: Federated Optimization in Heterogeneous
// Networks, MLSys 2020). fedsim has the same method under the name fedprox; a test here
// shows that both have the same bits.
package fedavgprox

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
)

// Options are decoded strictly from the options of the method's table, over the factory's
// defaults. Those of the local steps and of the mean come with the kit.
type Options struct {
	kit.AverageOptions
	Mu float64 `toml:"mu" doc:"mu of the proximal term mu/2 |w - w_sent|^2; 0: plain federated averaging"`
}

// Validate reports everything wrong with the options.
func (o *Options) Validate(c *config.Checker) {
	o.Check(c, o.Mu)
	c.Require(o.Mu >= 0 && o.Mu <= 1e12, "mu", o.Mu, "must be in [0, 1e12]")
}

func init() {
	kit.Register(algorithms.Factory{
		Name:    "fedavg-prox",
		Summary: "federated averaging with a proximal term, from another module",
		Reference: "Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith: Federated Optimization in Heterogeneous Networks, " +
			"MLSys 2020",
		Options:  func() algorithms.Options { return &Options{kit.DefaultAverage(kit.ByRows), 0.1} },
		Describe: kit.Means,
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts := o.(*Options)
			return &method{kit.NewGlobalModel(s, opts.AverageOptions, opts.Mu)}, nil
		},
	})
}

// method is one run. The kit has the model of the server, the steps of devices and their changes.
type method struct{ kit.GlobalModel }

// The method is Stateful: an interrupted run can be resumed, where one of another method starts
// over.
var _ algorithms.Stateful = (*method)(nil)

// End adds the mean of the changes to the model.
func (m *method) End() (flops float64, err error) {
	return m.Round.Apply(m.Weights(), 1) + m.Link.Take(), nil
}
