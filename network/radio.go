package network

import "fedsim/engine"

// Values of the key radio: which states of its radio cost a device energy.
const (
	// RadioActive: the radio draws power while it sends or receives, at the rate of its
	// link. During latency it draws the power of rate 0. It is ready at once.
	RadioActive = "active"
	// RadioStates: in addition, a sleeping radio is promoted before a transfer, and
	// stays in tail states after it (Huang et al., MobiSys 2012).
	RadioStates = "states"
)

// State is a state in which a radio neither sends nor receives.
type State struct {
	Length engine.Time
	Watts  float64
}

// Tails is the largest number of tail states: 3G has two.
const Tails = 2

// Radio has the states of a device's radio:
//
//	asleep -> promotion -> active -> tail, tail -> asleep
//
// A transfer that begins during the tail needs no promotion. A sleeping radio draws
// nothing: listening is part of the device's idle power.
type Radio struct {
	Promotion State        // Length 0: a sleeping radio is ready at once
	Tail      [Tails]State // after the last activity, one after another; Length 0: none
	slope     [2]float64   // by Direction, mW per Mbps
	base      float64      // mW
}

// Active returns the power in watts of a radio that receives or sends at a rate r in 10^6
// bit/s: a r + b, with a of the direction (Huang et al., MobiSys 2012).
func (r *Radio) Active(d Direction, mbps float64) float64 {
	return (float64(r.slope[d]*mbps) + r.base) / 1e3
}

// TransferEnergy returns the energy in joules of moving bytes, at any rate, beyond that of
// an idle link.
func (r *Radio) TransferEnergy(d Direction, bytes float64) float64 {
	const megabits = 8 / 1e6
	return float64(r.slope[d]*bytes) * megabits / 1e3
}

// TailDuration returns how long a radio stays awake after its last activity.
func (r *Radio) TailDuration() engine.Time {
	length := engine.Time(0)
	for _, s := range r.Tail {
		length = length.Add(s.Length)
	}
	return length
}

// Asleep reports whether a radio sleeps at a time after its last activity: from the end
// of its tail on.
func (r *Radio) Asleep(quiet engine.Time) bool { return quiet >= r.TailDuration() }

// RemainingTail returns the rest of the tail at a time after the last activity. States
// that are over have length 0.
func (r *Radio) RemainingTail(quiet engine.Time) [Tails]State {
	rest := r.Tail
	for i := range rest {
		over := min(quiet, rest[i].Length)
		rest[i].Length -= over
		quiet -= over
	}
	return rest
}

// radio returns the radio of a profile, with all its states or only the active one.
func (p *Profile) radio(states bool) Radio {
	r := Radio{slope: [2]float64{Down: p.RadioDown, Up: p.RadioUp}, base: p.RadioBase}
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
