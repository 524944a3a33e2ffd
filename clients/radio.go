package clients

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// transferring, as the end of a radio's last activity, is that of one under way.
const transferring = engine.Never

// radios knows what devices draw while their radios sleep, wake, transfer and wait, and how
// long they take to wake. Radios that have states sleep at the start.
type radios struct {
	links  *network.Links
	fleet  *devices.Processors
	active []engine.Time // by client, when the last activity of its radio ended; nil: radios have no states
	rated  bool          // transfers have their real lengths: a radio with states pays for the rate at which bytes move
	shared bool          // rates change during a transfer: a radio with states pays for bytes at the end
}

func newRadios(s *Setup, h *hardware) radios {
	r := radios{links: h.links, fleet: h.fleet, rated: s.physical(), shared: s.Sharing()}
	if h.links.Stateless() || s.NoMessages {
		return r
	}
	r.active = make([]engine.Time, s.Clients)
	for client := range r.active {
		r.sleep(client)
	}
	return r
}

func (r *radios) stateful() bool { return r.active != nil }

// sleep lets the radio of a client sleep at once.
func (r *radios) sleep(client int) {
	if r.stateful() {
		r.active[client] = -r.links.Radio(client).TailDuration()
	}
}

// promotion returns by how much a transfer of a client is delayed that begins at an
// instant, when there is none until then.
func (r *radios) promotion(client int, at engine.Time) engine.Time {
	if !r.stateful() || r.active[client] == transferring {
		return 0
	}
	return r.promotionAfter(client, at-r.active[client])
}

// promotionAfter returns by how much a transfer of a client is delayed that begins
// so long after the last one.
func (r *radios) promotionAfter(client int, quiet engine.Time) engine.Time {
	if radio := r.links.Radio(client); radio.Asleep(quiet) {
		return radio.Promotion.Length
	}
	return 0
}

// awake returns how many of the seconds between downlink and uplink a client can
// compute: if it computes until its radio sleeps, it must wake the radio for the uplink.
func (r *radios) awake(client int, seconds float64) float64 {
	radio := r.links.Radio(client)
	if !r.stateful() || seconds < radio.TailDuration().Seconds() {
		return seconds
	}
	awake := radio.TailDuration() - 1
	return max(awake.Seconds(), seconds-radio.Promotion.Length.Seconds())
}

// connected returns the load of a client while its radio is awake and moves nothing, in
// watts.
func (r *radios) connected(client int) float64 {
	return r.fleet.IdlePower(client) + r.links.Radio(client).Active(network.Down, 0)
}

// moving returns the load of a client while the bytes of a message move and take that time,
// in watts.
func (r *radios) moving(m message, length engine.Time) float64 {
	mbps := r.rate(r.links.Mbps(m.way, m.client), r.links.OnWire(m.client, m.bytes), length)
	return r.fleet.IdlePower(m.client) + r.links.Radio(m.client).Active(m.way, mbps)
}

// rate returns the rate in 10^6 bit/s that a radio pays for as long as bytes move:
// that at which they do when radios have states and transfers their real lengths,
// that of its link otherwise. Where the rate changes meanwhile it is 0, and energy has what
// the bytes cost.
func (r *radios) rate(link, bytes float64, length engine.Time) float64 {
	switch {
	case !r.stateful() || !r.rated:
		return link
	case r.shared:
		return 0
	case length == 0:
		return link
	default:
		return bytes * 8 / 1e6 / length.Seconds()
	}
}

// energy returns the energy in joules of some bytes of a message that its client pays for at
// the end of the transfer.
func (r *radios) energy(m message, bytes float64) float64 {
	if !r.stateful() || !r.shared {
		return 0
	}
	return r.links.Radio(m.client).TransferEnergy(m.way, r.links.OnWire(m.client, bytes))
}

// transfer begins the transfer of a client at an instant. It returns the power during the
// transfer: the radio's promotion, then a connected radio that moves nothing during the
// latency, then one that moves bytes and draws so many watts.
func (r *radios) transfer(client int, at, latency engine.Time, watts float64) devices.PowerSequence {
	radio, load := r.links.Radio(client), devices.PowerSequence{Watts: watts}
	if wakes := r.promotion(client, at); wakes > 0 {
		load.Stages[0] = devices.Stage{Length: wakes, Watts: r.fleet.IdlePower(client) + radio.Promotion.Watts}
	}
	if connected := r.connected(client); connected != watts {
		load.Stages[1] = devices.Stage{Length: latency, Watts: connected}
	}
	if r.stateful() {
		r.active[client] = transferring
	}
	return load
}

// tail ends the transfer of a client at an instant, if there is one. It returns the power of
// a client that transfers nothing from then on and draws so many watts beside its radio.
func (r *radios) tail(client int, at engine.Time, watts float64) devices.PowerSequence {
	load := devices.PowerSequence{Watts: watts}
	if r.active[client] == transferring {
		r.active[client] = at
	}
	for i, s := range r.links.Radio(client).RemainingTail(at - r.active[client]) {
		load.Stages[i] = devices.Stage{Length: s.Length, Watts: watts + s.Watts}
	}
	return load
}

// between returns the energy in joules that the radio of a client takes in an
// attempt besides sending and receiving, when it sleeps at first and the client
// computes for so long.
func (r *radios) between(client int, work engine.Time) float64 {
	if !r.stateful() {
		return 0
	}
	radio := r.links.Radio(client)
	awake := func(length engine.Time) float64 {
		return float64((r.fleet.IdlePower(client) + radio.Promotion.Watts) * length.Seconds())
	}
	sum := awake(radio.Promotion.Length) + awake(r.promotionAfter(client, work))
	for i, rest := range radio.RemainingTail(work) {
		sum += float64((radio.Tail[i].Length - rest.Length).Seconds() * rest.Watts)
	}
	return sum
}
