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
	return algorithms.Description{Model: algorithms.OneModel, Messages: algorithms.Messages{Coded: true, Single: true}, Work: algorithms.Workload{Kept: 1}}
}

func newRemembered(s algorithms.Setup, o kit.AverageOptions) remembered {
	p := s.Problem
	m := remembered{GlobalModel: kit.NewGlobalModel(s, o, 0), last: algorithms.NewSlots(p, p.Values()), mean: make([]float64, p.Values())}
	m.total = m.WeightOfAll()
	return m
}

// replace makes the device's change its last one, and adds p_k (a_k d_k - a_k' d_k') to the sum of the round,
// where d_k' was the last one before.
func (m *remembered) replace(device int, before, now float64) {
	p := m.WeightOf(device)
	if m.last.Has(device) {
		m.last.AddTo(device, -p*before, m.Round.Sum)
		m.Round.FLOPs += 2 * float64(m.last.Size())
	}
	m.last.Store(device, m.Changes.At(device, m.Space))
	m.Round.Add(m.last, device, p, now)
	m.Accept(device)
}

// renew brings the mean up to date with the round, and returns the FLOPs.
func (m *remembered) renew() float64 {
	kernel.Axpy(1/m.total, m.Round.Sum, m.mean)
	return m.Round.FLOPs + float64(2*float64(len(m.mean)))
}

// State codes w, the changes of it under way and the last ones.
func (m *remembered) State(c *state.Coder) {
	m.GlobalModel.State(c)
	m.last.State(c)
	c.Float64s(m.mean)
}
