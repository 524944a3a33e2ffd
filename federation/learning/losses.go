package learning

import (
	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// Losses evaluates the present global model on the training rows of clients, or replays it.
func (d driver) Losses(clients []int32, into []float64) {
	d.log.Answer(func() {
		switch {
		case len(clients) == 0:
		case d.method.About.Losses == algorithms.Yes:
			d.fail(d.method.Batched.Losses(clients, into))
		default:
			d.onRows(clients, func(i, client int, weights []float64) {
				into[i] = d.setup.Problem.LocalLoss(client, weights)
			})
		}
	}, func(c *state.Coder) { c.Float64s(into) })
}

// RowLosses is Losses with the root mean squares of the losses of rows.
func (d driver) RowLosses(clients []int32, into, rms []float64) {
	d.log.Answer(func() {
		d.onRows(clients, func(i, client int, weights []float64) {
			into[i], rms[i] = d.setup.Problem.LocalRMS(client, weights)
		})
	}, func(c *state.Coder) {
		c.Float64s(into)
		c.Float64s(rms)
	})
}

// SampledLosses is Losses on so many rows of each client.
func (d driver) SampledLosses(clients []int32, rows int, stream func(client int32) federation.Stream, into []float64) {
	d.log.Answer(func() {
		d.onRows(clients, func(i, client int, weights []float64) {
			into[i] = d.setup.Problem.SampledLoss(client, weights, rows, stream(clients[i]))
		})
	}, func(c *state.Coder) { c.Float64s(into) })
}

// onRows calls evaluate for each of the clients, with its index and the weights of its task, on
// all cores.
func (f *Federation) onRows(clients []int32, evaluate func(i, client int, weights []float64)) {
	w, spaces := f.method.Model().W, make([][]float64, f.setup.Pool.Size())
	f.setup.Pool.For(len(clients), func(i, worker int) {
		client := int(clients[i])
		evaluate(i, client, mtl.ReadRow(w, f.setup.Problem.TaskOf(client), worker, &spaces[worker]))
	})
}
