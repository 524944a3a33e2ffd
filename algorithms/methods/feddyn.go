package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

type fedDynOptions struct {
	kit.AverageOptions
	// alpha of the term alpha/2 |u - w_sent|^2 in every client's objective, and of the updates of
	// its linear term
	Alpha float64 `toml:"alpha"`
}

func (o *fedDynOptions) Validate(c *config.Checker) {
	o.Check(c, o.Alpha)
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
	kit.GlobalModel
	alpha  float64
	total  float64           // weight of all devices
	drift  []float64         // -h/alpha
	sum    []float64         // weighted changes in the open round
	slopes *algorithms.Slots // -g_k, of the devices that have taken part
}

var _ algorithms.Stateful = (*fedDyn)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name:    "feddyn",
		Summary: "averaging with a linear term in local objectives; it follows the past changes of the client",
		Reference: "Acar, Zhao, Navarro, Mattina, Whatmough, Saligrama: Federated Learning Based on Dynamic " +
			"Regularization, ICLR 2021",
		Options: func() algorithms.Options {
			return &fedDynOptions{AverageOptions: kit.DefaultAverage(kit.Equally), Alpha: 0.1}
		},
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			load := o.(*fedDynOptions).Workload(shape, true)
			load.Kept, load.Stored = 1, 3
			return algorithms.Description{Model: algorithms.OneModel, Weights: algorithms.Yes,
				Messages: algorithms.Messages{Coded: true}, Work: load}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts, p := o.(*fedDynOptions), s.Problem
			f := &fedDyn{
				GlobalModel: kit.NewGlobalModel(s, opts.AverageOptions, 0), alpha: opts.Alpha,
				drift: make([]float64, p.Values()), sum: make([]float64, p.Values()),
				slopes: algorithms.NewSlots(p, p.Values()),
			}
			f.total = f.WeightOfAll()
			return f, nil
		},
	})
}

// Solve makes the device's local steps from w.
func (f *fedDyn) Solve(r algorithms.Request) algorithms.Response {
	w := f.Shown()
	return f.SolveUnder(r, w, kit.Pull{Mu: f.alpha, Center: w, Slope: f.slopes.At(r.Device, f.Scratch[r.Worker].Space)})
}

// Commit takes the device's change into the round, in the mean multiplied by a weight.
func (f *fedDyn) Commit(device int, weight float64) {
	f.Changes.AddTo(device, f.WeightOf(device), f.sum)
	f.slopes.Add(device, f.alpha, f.Changes.At(device, f.Space))
	f.GlobalModel.Commit(device, weight)
}

// End moves w to the mean of the responders' models, and by -h/alpha.
func (f *fedDyn) End() (float64, error) {
	if f.Round.Weight == 0 {
		return f.Link.Take(), nil
	}
	responses := f.Round.FLOPs
	kernel.Axpy(1/f.total, f.sum, f.drift)
	clear(f.sum)
	flops := f.Round.Apply(f.Weights(), 1) + responses
	kernel.Axpy(1, f.drift, f.Weights())
	return flops + float64(4*float64(f.W.Cols)) + f.Link.Take(), nil
}

// State codes w, h, the linear terms of devices and the changes under way.
func (f *fedDyn) State(c *state.Coder) {
	f.GlobalModel.State(c)
	c.Float64s(f.drift)
	f.slopes.State(c)
}
