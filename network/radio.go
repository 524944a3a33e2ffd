package network

import "fedsim/engine"

// Which states of its radio a device pays for.
const (
	// RadioActive: the radio draws power while it sends or receives, at the rate of
	// its link, in a transfer's latency that of rate 0, and none otherwise; it is ready
	// at once.
	RadioActive = "active"
	// RadioStates: besides, a radio that sleeps has to be promoted before a
	// transfer, and lingers in tail states behind it (Huang et al., MobiSys 2012).
	RadioStates = "states"
)

// State is a state in which a radio neither sends nor receives: how long it
// lasts and what the radio draws in it.
type State struct {
	Length engine.Time
	Watts  float64
}

// Tails is how many tail states a radio has at most: 3G has two.
const Tails = 2

// Radio is the states that a device's radio goes through:
//
//	asleep -> promotion -> active -> tail, tail -> asleep
//
// A transfer that begins within the tail needs no promotion. Asleep a radio
// draws nothing: what it takes to listen is part of the device's idle power.
type Radio struct {
	Promotion State        // Length 0: a sleeping radio is ready at once
	Tail      [Tails]State // after the last activity, one after another; Length 0: there is none
	up, down  float64      // mW per Mbps
	base      float64      // mW
}

// Active returns the power in watts of a radio that receives and sends at these
// rates in 10^6 bit/s: a_u r_u + a_d r_d + b (Huang et al., MobiSys 2012).
func (r *Radio) Active(downMbps, upMbps float64) float64 {
	return (float64(r.down*downMbps) + float64(r.up*upMbps) + r.base) / 1e3
}

// TransferEnergy returns the energy in joules of moving so many bytes down and up, at any
// rate: what Active adds to that of an idle link.
func (r *Radio) TransferEnergy(down, up float64) float64 {
	const megabits = 8 / 1e6
	return (float64(r.down*down) + float64(r.up*up)) * megabits / 1e3
}

// TailDuration returns how long a radio is awake after its last activity.
func (r *Radio) TailDuration() engine.Time {
	length := engine.Time(0)
	for _, s := range r.Tail {
		length = length.Add(s.Length)
	}
	return length
}

// Asleep reports whether a radio sleeps when its last activity ended so long
// ago: from the end of its tail on.
func (r *Radio) Asleep(quiet engine.Time) bool { return quiet >= r.TailDuration() }

// RemainingTail returns what is left of the tail when the last activity ended so long ago.
// States that are over have length 0.
func (r *Radio) RemainingTail(quiet engine.Time) [Tails]State {
	rest := r.Tail
	for i := range rest {
		over := min(quiet, rest[i].Length)
		rest[i].Length -= over
		quiet -= over
	}
	return rest
}

// radio returns the radio of a profile, all its states or the active one alone.
func (p *Profile) radio(states bool) Radio {
	r := Radio{up: p.RadioUp, down: p.RadioDown, base: p.RadioBase}
	if !states {
		return r
	}
	state := func(s RadioState) State { return State{Length: engine.FromSeconds(s.Seconds), Watts: s.Watts} }
	r.Promotion = state(p.Promotion)
	for i, s := range p.Tail {
		r.Tail[i] = state(s)
	}
	return r
}
