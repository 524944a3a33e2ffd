package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
)

// remembered is the state of methods whose server has the last change d_k of every device that has
// responded, times a factor a_k. Those of other devices count as 0.
type remembered struct {
	kit.GlobalModel
	total float64           // p(N), the weight of all devices
	last  *algorithms.Slots // d_k
	mean  []float64         // sum_k p_k a_k d_k / p(N)
}

// remembers describes such a method. A change is in many steps, so that a weight of one response has no meaning.
func remembers() algorithms.Description {
	return algorithms.Description{Model: algorithms.OneModel, Messages: algorithms.Messages{Coded: true, Single: true},
		Work: algorithms.Workload{Kept: 1, Stored: 3, StoredEach: 1}}
}

func newRemembered(s algorithms.Setup, o kit.AverageOptions) remembered {
	p := s.Problem
	m := remembered{GlobalModel: kit.NewGlobalModel(s, o, 0), last: algorithms.NewSlots(p, p.Values()),
		mean: make([]float64, p.Values())}
	m.total = m.WeightOfAll()
	return m
}

// replace makes the device's change its last one, and adds p_k (a_k d_k - a_k' d_k') to the sum of the round,
// where d_k' was the last one before.
func (r *remembered) replace(device int, before, now float64) {
	p := r.WeightOf(device)
	if r.last.Has(device) {
		r.last.AddTo(device, -p*before, r.Round.Sum)
		r.Round.FLOPs += 2 * float64(r.last.Size())
	}
	r.last.Store(device, r.Changes.At(device, r.Space))
	r.Round.Add(r.last, device, p, now)
	r.Accept(device)
}

// renew brings the mean up to date with the round, and returns the FLOPs.
func (r *remembered) renew() float64 {
	kernel.Axpy(1/r.total, r.Round.Sum, r.mean)
	return r.Round.FLOPs + float64(2*float64(len(r.mean)))
}

// State codes w, the changes of it under way and the last ones.
func (r *remembered) State(c *state.Coder) {
	r.GlobalModel.State(c)
	r.last.State(c)
	c.Float64s(r.mean)
}
