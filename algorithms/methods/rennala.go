package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
)

type rennalaOptions struct {
	gradientOptions
	// B: gradients at the present model that the server gathers for a step along their mean; a
	// client may give several
	Gradients int `toml:"gradients"`
	stopping
}

func (o *rennalaOptions) Validate(c *config.Checker) {
	o.gradientOptions.Validate(c)
	c.Require(o.Gradients >= 1, "gradients", o.Gradients, "must be at least 1")
}

// Rennala SGD gathers B gradients at the present w, refuses those at earlier ones, and takes a step
// along their mean. So it is FedBuff with a buffer of B, in which nothing is stale.
func init() {
	kit.Register(algorithms.Factory{
		Name:    "rennala",
		Summary: "Rennala SGD: gathers B gradients at one model; refuses those at earlier models",
		Reference: "Tyurin, Richtarik: Optimal Time Complexities of Parallel Stochastic Optimization Methods Under a " +
			"Fixed Computation Model, NeurIPS 2023",
		Options: func() algorithms.Options {
			return &rennalaOptions{gradientOptions: defaultGradient(), Gradients: 10}
		},
		Describe: mayStop,
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts := o.(*rennalaOptions)
			buffer := FedBuffOptions{AverageOptions: opts.weighted(kit.Equally), Buffer: opts.Gradients, ServerStep: 1}
			f := newFedBuff(s, buffer, 1)
			if opts.Stop {
				f.stopOld()
			}
			return measured(f, &f.versionedModel, &opts.gradientOptions), nil
		},
	})
}
