package algorithms

import (
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

type fedDynOptions struct {
	AverageOptions
	Alpha float64 `toml:"alpha" doc:"alpha of the term alpha/2 |u - w_sent|^2 in every client's objective, and of the updates of its linear term"`
}

func (o *fedDynOptions) Validate(c *config.Checker) {
	o.check(c, o.Alpha)
	c.Require(o.Alpha > 0 && o.Alpha <= 1e12, "alpha", o.Alpha, "must be in (0, 1e12]")
}

// fedDyn is federated learning with dynamic regularization. Device k has a linear term g_k,
// which starts at 0. In a round it makes local steps from w on
//
//	F_k(u) - <g_k, u> + alpha/2 |u - w|^2,
//
// which approach the minimizer w_k of the paper, and sets g_k -= alpha (w_k - w). The server
// has h, starting at 0, and sets
//
//	h -= alpha/m sum_k (w_k - w),    w = mean w_k - h/alpha,
//
// the sum and the mean over the devices that responded, m the number of all devices. With
// weights by rows n_k/n stands for 1/m. So h is the mean of all g_k. A lost response
// changes neither side. The change of a late response counts from the w it was sent; a weight
// of it applies to the mean alone.
type fedDyn struct {
	globalModel
	alpha  float64
	total  float64   // weight of all devices
	drift  []float64 // -h/alpha
	sum    []float64 // weighted changes in the open round
	slopes *slots    // -g_k, of the devices that have taken part
}

var _ Stateful = (*fedDyn)(nil)

func init() {
	registerLocal(Factory{
		Name:      "feddyn",
		Summary:   "federated averaging with a linear term in every client's objective that follows its past changes",
		Reference: "Acar, Zhao, Navarro, Mattina, Whatmough, Saligrama: Federated Learning Based on Dynamic Regularization, ICLR 2021",
		Options: func() Options {
			return &fedDynOptions{AverageOptions: defaultAverage(equally), Alpha: 0.1}
		},
		Describe: func(o Options, shape mtl.Shape) Description {
			load := o.(*fedDynOptions).workload(shape, true)
			load.Kept = 1
			return Description{Model: OneModel, Weights: Yes, Messages: Messages{Coded: true}, Work: load}
		},
		New: func(s Setup, o Options) (Algorithm, error) {
			opts, p := o.(*fedDynOptions), s.Problem
			f := &fedDyn{
				globalModel: newGlobalModel(s, opts.AverageOptions, 0), alpha: opts.Alpha,
				drift: make([]float64, p.Values()), sum: make([]float64, p.Values()),
				slopes: newSlots(p, p.Values()),
			}
			f.total = f.weightOfAll()
			return f, nil
		},
	})
}

// Solve makes the device's local steps from w.
func (f *fedDyn) Solve(r Request) Work {
	w := f.shown()
	return f.solveUnder(r, w, pull{mu: f.alpha, center: w, slope: f.slopes.at(r.Device, f.scratch[r.Worker].space)})
}

// Commit takes the device's change into the round, in the mean multiplied by a weight.
func (f *fedDyn) Commit(device int, weight float64) {
	f.changes.addTo(device, f.weight(device), f.sum)
	f.slopes.add(device, f.alpha, f.changes.at(device, f.space))
	f.globalModel.Commit(device, weight)
}

// End moves w to the mean of the responders' models, and by -h/alpha.
func (f *fedDyn) End() (float64, error) {
	if f.round.weight == 0 {
		return f.link.take(), nil
	}
	responses := f.round.flops
	kernel.Axpy(1/f.total, f.sum, f.drift)
	clear(f.sum)
	flops := f.round.apply(f.weights(), 1) + responses
	kernel.Axpy(1, f.drift, f.weights())
	return flops + float64(4*float64(f.w.Cols)) + f.link.take(), nil
}

// State codes w, h, the linear terms of devices and the changes under way.
func (f *fedDyn) State(c *state.Coder) {
	f.globalModel.State(c)
	c.Float64s(f.drift)
	f.slopes.state(c)
}
