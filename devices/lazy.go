package devices

import (
	"math"

	"fedsim/engine"
	"fedsim/internal/tools/roster"
)

// LazyProcessors is NewProcessors of a lazy population: speeds are drawn whenever they are asked for.
func LazyProcessors(cfg Config, n int, seed uint64) *Processors {
	f := newFleet(&cfg, []Profile{cfg.Device()}, n, seed)
	f.kinds[0].overheads, f.kinds[0].heat = cfg.Overheads, newHeat(&cfg.HeatConfig, f.kinds[0].profile)
	if cfg.SpreadWidth > 0 {
		f.drawn = &cfg
	}
	return f
}

// LazyBatteries returns the meters of the devices of a lazy population, which all run on mains.
func LazyBatteries(cfg Config, r *roster.Roster, seed uint64) *Batteries {
	return newBatteries(&cfg, []Profile{cfg.Device()}, nil, r, seed, nil)
}

// SetRest sets the power of the devices of a lazy population that have no state, in watts.
func (b *Batteries) SetRest(now engine.Time, watts float64) {
	b.accountRest(now)
	b.rest.watts = watts
}

// accountRest updates the energy of the devices without state to now, with the arithmetic of account.
func (b *Batteries) accountRest(now engine.Time) {
	b.rest.drained += float64(b.rest.watts * (now - b.rest.since).Seconds())
	b.rest.since = now
}

// drained returns the joules that all devices of a lazy population have consumed, with the
// roundings of a sum in the order of devices.
func (b *Batteries) drained() (joules float64) {
	next := 0
	for _, device := range b.roster.Sorted() {
		joules = plusTimes(joules, b.rest.drained, int(device)-next) + b.meters.At(int(device)).drained
		next = int(device) + 1
	}
	return plusTimes(joules, b.rest.drained, b.roster.Len()-next)
}

// plusTimes returns s + x + ... + x, n times, with the rounding of every addition. Both are not
// negative. Between two powers of two all additions but the first add the same number: after it a tie
// is rounded from an even last place to an even one.
func plusTimes(s, x float64, n int) float64 {
	for ; n > 0; n-- {
		_, before := math.Frexp(s)
		s += x
		each := (s + x) - s
		_, exponent := math.Frexp(s)
		if before != exponent || n < 4 {
			continue
		}
		if each == 0 {
			return s
		}
		// Steps that end below the next power of two. All terms are multiples of one place, and exact.
		steps := min(math.Floor((math.Ldexp(1, exponent)-s)/each)-1, float64(n-1))
		if steps > 0 {
			s += float64(steps * each)
			n -= int(steps)
		}
	}
	return s
}
