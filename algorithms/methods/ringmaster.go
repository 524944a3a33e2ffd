package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/mtl"
)

type ringmasterOptions struct {
	gradientOptions
	// R: the server refuses a gradient at a model that is R or more of its steps old; 1: all that
	// are not at the present model
	Delay int `toml:"delay"`
	stopping
}

func (o *ringmasterOptions) Validate(c *config.Checker) {
	o.gradientOptions.Validate(c)
	c.Require(o.Delay >= 1, "delay", o.Delay, "must be at least 1")
}

// descent is asynchronous SGD: on every gradient that the server takes, w = w - gamma g_k. As with
// all methods of one model, W = w 1^T does not reach P*. Where devices' data differ, it tends to
// the minimum of sum_k F_k/T_k, with T_k the time between two responses of a device.
type descent struct{ versionedModel }

var _ algorithms.Asynchronous = (*descent)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name:      "asgd",
		Summary:   "asynchronous SGD: a step along every gradient",
		Reference: "Agarwal, Duchi: Distributed Delayed Stochastic Optimization, NIPS 2011",
		Options:   func() algorithms.Options { o := defaultGradient(); return &o },
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			d := sendsGradients(o, shape)
			d.Work.Server = &algorithms.ServerWork{Response: 2 * float64(shape.Values()), Every: 1}
			return d
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return newDescent(s, o.(*gradientOptions), 0, false), nil
		},
	})
	kit.Register(algorithms.Factory{
		Name:    "ringmaster",
		Summary: "Ringmaster ASGD: refuses gradients that are old; asynchronous SGD",
		Reference: "Maranjyan, Tyurin, Richtarik: Ringmaster ASGD: The First Asynchronous SGD with Optimal Time " +
			"Complexity, ICML 2025",
		Options: func() algorithms.Options {
			return &ringmasterOptions{gradientOptions: defaultGradient(), Delay: 10}
		},
		Describe: mayStop,
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts := o.(*ringmasterOptions)
			return newDescent(s, &opts.gradientOptions, opts.Delay, opts.Stop), nil
		},
	})
}

func newDescent(s algorithms.Setup, o *gradientOptions, refuse int, stop bool) algorithms.Algorithm {
	d := &descent{newVersionedModel(s, o.weighted(kit.Equally), 0, refuse)}
	d.receive = d.step
	if stop {
		d.stopOld()
	}
	return measured(d, &d.versionedModel, o)
}

// step takes a step along the device's gradient.
func (d *descent) step(device, _ int) (flops float64) {
	w := d.Weights()
	d.Changes.AddTo(device, 1, w)
	d.steps++
	return 2 * float64(len(w))
}
