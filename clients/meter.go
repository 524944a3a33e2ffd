package clients

import (
	"fedsim/engine"
	"fedsim/network"
)

// meter counts what clients compute and move, and lets them pay for bytes.
type meter struct {
	population *population
	hardware   *hardware
	energy     *energy
	traffic    Traffic // work and bytes since Take

	computedS, respondedS float64 // seconds of computing, and of all phases, of attempts that led to a response
}

// Traffic is the work and the bytes of clients.
type Traffic struct {
	FLOPs, BytesDown, BytesUp float64
}

// Take returns what clients have moved and computed since the last Take.
func (m *meter) Take() Traffic {
	sum := m.traffic
	m.traffic = Traffic{}
	return sum
}

// ComputeShare returns the share of computing in the time of attempts that led to a response, as if each client
// had its links to itself and its usual speed; NaN before the first.
func (m *meter) ComputeShare() float64 { return m.computedS / m.respondedS }

// count counts the FLOPs or the bytes of a share of a client's phase, which was between two
// shares of it, and the energy of bytes that are paid for at the end.
func (m *meter) count(client int, share, from, to float64) (amount float64) {
	d := m.population.at(client)
	if d.phase == compute {
		amount = float64(d.flops * share)
		m.traffic.FLOPs += amount
		return amount
	}
	of, behindHub := m.population.message(client, d.phase.way()), m.hardware.behind.size > 0
	amount = m.hardware.movedBetween(of, from, to)
	switch {
	case behindHub: // the bytes come from the hub, or go to it
	case of.way == network.Down:
		m.traffic.BytesDown += amount
	default:
		m.traffic.BytesUp += amount
	}
	if !behindHub && m.energy.observers != nil {
		m.energy.observers.moved(client, d.began, m.energy.clock.Now(), m.hardware.links.OnWire(client, amount))
	}
	m.energy.pay(of, amount)
	return amount
}

// Exchange charges a client that is not depleted a short message and its answer besides its
// attempts: their bytes, and the energy of its radio beyond that of an idle device, without
// promotion and tail. It returns how long they usually take. Nothing is lost.
func (m *meter) Exchange(client int, bytesDown, bytesUp float64) (length engine.Time) {
	m.traffic.BytesDown += bytesDown
	m.traffic.BytesUp += bytesUp
	m.energy.exchange(client, bytesDown, bytesUp)
	return m.hardware.UsualTransfers(client, bytesDown, bytesUp)
}

// responded counts the time of the attempt of a client, which has led to a response.
func (m *meter) responded(d *client) {
	m.computedS += d.compute.Seconds()
	m.respondedS += (d.down + d.compute + d.up).Seconds()
}
