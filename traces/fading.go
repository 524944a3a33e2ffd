package traces

import (
	"fedsim/engine"
	"fedsim/internal/rng"
)

// Fading is links whose rates change by chance as a [FadingConfig] describes, made
// as it is asked for. Nothing of it is stored but a cursor for each device, 24
// bytes, which stands in the interval that was asked for last. The intervals of a
// device are numbered from 0; the length of each, and where the chain goes from it,
// are drawn from (seed, device, number), so that they are the same whatever is asked
// and when: a look-up ahead goes through the intervals between, and one back begins
// at time 0 again.
//
// Several goroutines may look up at once when they do so for different devices.
type Fading struct {
	config FadingConfig
	seed   uint64
	shares []float64
	at     []fade
}

// fade is an interval of a device.
type fade struct {
	from, until engine.Time
	place       uint64 // number of the interval << 8 | its level; until = 0: no interval
}

func (i fade) number() int { return int(i.place >> 8) }
func (i fade) level() int  { return int(i.place & 0xff) }

// NewFading returns the links of so many devices under a seed. The configuration
// must be valid and have levels.
func NewFading(c FadingConfig, seed uint64, devices int) *Fading {
	return &Fading{config: c, seed: seed, shares: c.shares(), at: make([]fade, devices)}
}

// Level returns what the usual rates of a device's link are multiplied by at t, and
// the first instant after it from which that may be otherwise, engine.Never when it
// stays. The answer does not depend on what was asked before. It allocates nothing.
func (f *Fading) Level(device int, t engine.Time) (factor float64, until engine.Time) {
	i := &f.at[device]
	if i.until == 0 || t < i.from {
		*i = f.first(device)
	}
	for t >= i.until && i.until != engine.Never {
		*i = f.next(device, *i)
	}
	return f.config.Levels[i.level()], i.until
}

// draws returns the stream of an interval; -1 is that of where a device begins.
func (f *Fading) draws(device, number int) rng.Stream {
	return rng.New(f.seed, rng.Fading, device, number)
}

func (f *Fading) first(device int) fade {
	draws := f.draws(device, -1)
	u, level := draws.Float64(), 0
	for level < len(f.shares)-1 && u >= f.shares[level] {
		u -= f.shares[level]
		level++
	}
	return f.interval(device, 0, 0, level)
}

// interval returns the one of a number that begins at an instant.
func (f *Fading) interval(device, number int, from engine.Time, level int) fade {
	i := fade{from: from, until: engine.Never, place: uint64(number)<<8 | uint64(level)}
	if len(f.shares) > 1 {
		draws := f.draws(device, number)
		i.until = from.Add(atLeast1ns(exponential(&draws) * f.config.MeanS[level]))
	}
	return i
}

func (f *Fading) next(device int, i fade) fade {
	level := i.level()
	switch last := len(f.shares) - 1; level {
	case 0:
		level++
	case last:
		level--
	default:
		draws := f.draws(device, i.number())
		draws.Uint64() // that of the interval's length
		level += 1 - 2*int(draws.Uint64()>>63)
	}
	return f.interval(device, i.number()+1, i.until, level)
}
