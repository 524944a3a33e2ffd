package learning

import (
	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// Losses evaluates the present global model on the training rows of clients, or replays it.
func (f driver) Losses(clients []int32, into []float64) {
	f.recorder.Answer(func() {
		switch {
		case len(clients) == 0:
		case f.method.About.Losses == algorithms.Yes:
			f.fail(f.method.Batched.Losses(clients, into))
		default:
			f.onRows(clients, func(i, t int, weights []float64) { into[i] = f.setup.Problem.LocalLoss(t, weights) })
		}
	}, func(c *state.Coder) { c.Float64s(into) })
}

// RowLosses is Losses with the root mean squares of the losses of rows.
func (f driver) RowLosses(clients []int32, into, rms []float64) {
	f.recorder.Answer(func() {
		f.onRows(clients, func(i, t int, weights []float64) { into[i], rms[i] = f.setup.Problem.LocalRMS(t, weights) })
	}, func(c *state.Coder) {
		c.Float64s(into)
		c.Float64s(rms)
	})
}

// SampledLosses is Losses on so many rows of each client.
func (f driver) SampledLosses(clients []int32, rows int, stream func(client int32) federation.Stream, into []float64) {
	f.recorder.Answer(func() {
		f.onRows(clients, func(i, t int, weights []float64) {
			into[i] = f.setup.Problem.SampledLoss(t, weights, rows, stream(clients[i]))
		})
	}, func(c *state.Coder) { c.Float64s(into) })
}

// onRows calls evaluate for each of the clients, with its index and the weights of its task, on
// all cores.
func (f *Federation) onRows(clients []int32, evaluate func(i, t int, weights []float64)) {
	w := f.method.Model().W
	f.setup.Pool.For(len(clients), func(i, _ int) {
		t := int(clients[i])
		evaluate(i, t, mtl.ModelRow(w, f.setup.Problem.TaskOf(t)))
	})
}
