package traces

import (
	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// Fading generates changes of link rates from a [FadingConfig] on demand. It stores a
// cursor of 24 bytes per device: the interval of the last look-up. Time is divided into
// blocks of about 131,000 intervals. The length of each interval and the next level are
// drawn from (seed, device, block, number of the interval in the block), as for
// [Availability].
//
// Look-ups may run concurrently for different devices.
type Fading struct {
	blocks
	config FadingConfig
	shares []float64
	at     []fade
}

// fade is an interval of a device, or its part in a block.
type fade struct {
	from, until engine.Time
	place       uint64 // number of the interval in its block << 8 | its level; until = 0: no interval
}

func (f fade) number() int { return int(f.place >> 8) }
func (f fade) level() int  { return int(f.place & 0xff) }

// newFading returns the fading of a number of devices for a seed. The configuration must
// be valid and have levels.
func newFading(c FadingConfig, seed uint64, devices int) *Fading {
	return &Fading{blocks: newBlocks(seed, rng.Fading, c.mean()), config: c, shares: c.shares(),
		at: make([]fade, devices)}
}

// Level returns the factor of the usual rates of a device's link at an instant, and the next
// instant at which it may change, or engine.Never. It does not depend on earlier calls
// and does not allocate.
func (f *Fading) Level(device int, at engine.Time) (factor float64, until engine.Time) {
	i := &f.at[device]
	if i.until == 0 || at < i.from || at >= i.until && i.from < f.start(at) {
		*i = f.first(device, f.start(at))
	}
	for at >= i.until && i.until != engine.Never {
		*i = f.next(device, *i)
	}
	return f.config.Levels[i.level()], i.until
}

// first returns the interval at the start of a block.
func (f *Fading) first(device int, start engine.Time) fade {
	draws := f.draws(device, start, -1)
	u, level := draws.Float64(), 0
	for level < len(f.shares)-1 && u >= f.shares[level] {
		u -= f.shares[level]
		level++
	}
	return f.interval(device, 0, start, level)
}

// interval returns the interval with a number, start and level.
func (f *Fading) interval(device, number int, from engine.Time, level int) fade {
	i := fade{from: from, until: engine.Never, place: uint64(number)<<8 | uint64(level)}
	if len(f.shares) > 1 {
		draws := f.draws(device, from, number)
		i.until = min(f.end(from), from.Add(atLeast1ns(exponential(&draws)*f.config.MeanS[level])))
	}
	return i
}

func (f *Fading) next(device int, i fade) fade {
	if i.until == f.end(i.from) {
		return f.first(device, i.until)
	}
	level := i.level()
	switch last := len(f.shares) - 1; level {
	case 0:
		level++
	case last:
		level--
	default:
		draws := f.draws(device, i.from, i.number())
		draws.Uint64() // skip the number used for the interval's length
		level += 1 - 2*int(draws.Uint64()>>63)
	}
	return f.interval(device, i.number()+1, i.until, level)
}
