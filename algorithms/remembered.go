package algorithms

import (
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
)

// remembered is the state of methods whose server has the last change d_k of every device that has
// responded, times a factor a_k. Those of other devices count as 0.
type remembered struct {
	globalModel
	total float64   // p(N), the weight of all devices
	last  *slots    // d_k
	mean  []float64 // sum_k p_k a_k d_k / p(N)
}

// remembers describes such a method. A change is in many steps, so that a weight of one response has no meaning.
func remembers() Description {
	return Description{Model: OneModel, Messages: Messages{Coded: true, Single: true}, Work: Workload{Kept: 1}}
}

func newRemembered(s Setup, o AverageOptions) remembered {
	p := s.Problem
	m := remembered{globalModel: newGlobalModel(s, o, 0), last: newSlots(p, p.Values()), mean: make([]float64, p.Values())}
	m.total = m.weightOfAll()
	return m
}

// replace makes the device's change its last one, and adds p_k (a_k d_k - a_k' d_k') to the sum of the round,
// where d_k' was the last one before.
func (m *remembered) replace(device int, before, now float64) {
	p := m.weight(device)
	if m.last.has(device) {
		m.last.addTo(device, -p*before, m.round.sum)
		m.round.flops += 2 * float64(m.last.Size())
	}
	m.last.store(device, m.changes.at(device, m.space))
	m.round.add(m.last, device, p, now)
	m.accept(device)
}

// renew brings the mean up to date with the round, and returns the FLOPs.
func (m *remembered) renew() float64 {
	kernel.Axpy(1/m.total, m.round.sum, m.mean)
	return m.round.flops + float64(2*float64(len(m.mean)))
}

// State codes w, the changes of it under way and the last ones.
func (m *remembered) State(c *state.Coder) {
	m.globalModel.State(c)
	m.last.state(c)
	c.Float64s(m.mean)
}
