package methods

import (
	"math"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// FedBuffOptions are the settings of FedBuff.
type FedBuffOptions struct {
	kit.AverageOptions
	// responses K that the server gathers for one step; 1: a step on every response, as in FedAsync
	Buffer int `toml:"buffer"`
	// step size of the server: the factor of the mean of the gathered changes
	ServerStep float64 `toml:"server_step"`
	// server steps between sending a client the model and its response; with more the server
	// refuses it
	MaxStaleness int `toml:"max_staleness" absent:"0: no limit"`
}

// Validate reports everything wrong with the options.
func (o *FedBuffOptions) Validate(c *config.Checker) {
	o.AverageOptions.Validate(c)
	c.Require(o.Buffer >= 1, "buffer", o.Buffer, "must be at least 1")
	c.Require(o.ServerStep > 0 && o.ServerStep <= 1e12, "server_step", o.ServerStep, "must be in (0, 1e12]")
	c.Require(o.MaxStaleness >= 0, "max_staleness", o.MaxStaleness, "must not be negative")
}

// fedBuff is federated averaging without rounds: the server gathers K responses,
// from whatever versions of w they started, and then adds to w the mean of their
// changes, weighted by rows and each damped by 1/sqrt(1+tau), where tau is how many
// steps the server has taken since it sent the device its w. K = 1 takes a step on
// every response, as FedAsync does (Xie, Koyejo, Gupta: Asynchronous Federated
// Optimization, 2019), but adds the change where that mixes the models. Under a
// protocol with rounds the responses enter the buffer in device order; with K equal to
// the number of devices it is FedAvg. As there, W = w 1^T does not reach P*.
type fedBuff struct {
	versionedModel
	opts      FedBuffOptions
	buffer    kit.Average
	responses int // in the buffer
}

var _ algorithms.Asynchronous = (*fedBuff)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name:    "fedbuff",
		Summary: "asynchronous: a step for every K responses; stale ones damped",
		Reference: "Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek, Huba: Federated Learning with Buffered " +
			"Asynchronous Aggregation, AISTATS 2022",
		Options: func() algorithms.Options {
			return &FedBuffOptions{AverageOptions: kit.DefaultAverage(kit.ByRows), Buffer: 10, ServerStep: 1}
		},
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			opts, values := o.(*FedBuffOptions), float64(shape.Values())
			return versioned(2*values, 2*values, opts.Buffer, opts.MaxStaleness)
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts := *o.(*FedBuffOptions)
			return newFedBuff(s, opts, above(opts.MaxStaleness)), nil
		},
	})
}

// newFedBuff returns a server that refuses responses from a staleness on; 0: none.
func newFedBuff(s algorithms.Setup, o FedBuffOptions, refuse int) *fedBuff {
	f := &fedBuff{
		versionedModel: newVersionedModel(s, o.AverageOptions, 0, refuse), opts: o,
		buffer: kit.NewAverage(s.Problem.Values()),
	}
	f.receive = f.gather
	return f
}

// gather puts the device's change into the buffer, and takes a step when the buffer is full.
func (f *fedBuff) gather(device, tau int) (flops float64) {
	f.buffer.Add(f.Changes, device, f.WeightOf(device), 1/math.Sqrt(1+float64(tau)))
	f.responses++
	if f.responses < f.opts.Buffer {
		return 0
	}
	flops = f.buffer.Apply(f.Weights(), f.opts.ServerStep)
	f.buffer.Reset()
	f.responses = 0
	f.steps++
	return flops
}

// State codes the model, the messages to the devices and the buffer.
func (f *fedBuff) State(c *state.Coder) {
	f.versionedModel.State(c)
	c.Int(&f.responses)
	c.Float64s(f.buffer.Sum)
	c.Float64(&f.buffer.Weight)
	c.Float64(&f.buffer.FLOPs)
}
