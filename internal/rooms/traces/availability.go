package traces

import (
	"math"

	"fedsim/engine"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/rng"
)

// Availability generates the availability of devices from an [AvailabilityConfig] on
// demand. It stores a cursor of 24 bytes per device: the interval of the last look-up.
// Time is divided into blocks of about 131,000 intervals. The length of each interval is
// drawn from (seed, device, block, number of the interval in the block). So intervals do
// not depend on the look-ups. A look-up ahead passes through the intervals between, at
// most those of a block. A look-up back starts at the beginning of its block.
//
// [Synthesize] writes the same intervals to a file. Look-ups may run concurrently for
// different devices.
type Availability struct {
	chain
	at []cursor // nil: none is stored
}

// cursor is an interval of a device, or its part in a block.
type cursor struct {
	from, until engine.Time
	// turn is one more than the interval's number in its block, negated if the device is
	// unavailable. 0 means no interval.
	turn int64
}

// NewAvailability returns the availability of a number of devices for a seed. The
// configuration must be valid and its MeanUpS positive.
func NewAvailability(c AvailabilityConfig, seed uint64, devices int) *Availability {
	return &Availability{chain: newChain(c, seed), at: make([]cursor, devices)}
}

// LazyAvailability is NewAvailability of any number of devices. It stores nothing: each look-up passes
// through the intervals of its block before it.
func LazyAvailability(c AvailabilityConfig, seed uint64) *Availability {
	return &Availability{chain: newChain(c, seed)}
}

// Kinds returns [Available].
func (a *Availability) Kinds() Kinds { return Kinds(0).with(Available) }

// Lookup implements [Source].
func (a *Availability) Lookup(k Kind, device int, at engine.Time) (value float64, until engine.Time) {
	if k != Available {
		panic(missingKind(k, a.Kinds()))
	}
	c := &cursor{}
	if a.at != nil {
		c = &a.at[device]
	}
	if c.turn == 0 || at < c.from || at >= c.until && c.from < a.start(at) {
		*c = a.first(device, a.start(at))
	}
	for at >= c.until && c.until != engine.Never {
		*c = a.next(device, *c)
	}
	if c.turn > 0 {
		value = 1
	}
	// The state may be the same on both sides of a block's end.
	last := *c
	for last.until != engine.Never && last.until == a.end(last.from) {
		next := a.first(device, last.until)
		if (next.turn > 0) != (c.turn > 0) {
			break
		}
		last = next
	}
	return value, last.until
}

// chain draws the intervals of devices.
type chain struct {
	blocks
	config AvailabilityConfig
	shares []float64 // by zone: share of devices that are available at time 0
}

func newChain(c AvailabilityConfig, seed uint64) chain {
	c = c.AtLevel()
	x := chain{blocks: newBlocks(seed, rng.Availability, (c.MeanUpS+c.MeanDownS)/2), config: c}
	for _, zone := range c.ZonesH {
		x.shares = append(x.shares, c.share(zone))
	}
	return x
}

// zone returns the zone of a device, and whether the device is available at time 0.
func (ch *chain) zone(device int) (zone int, up bool) {
	draws := ch.draws(device, 0, -1)
	zone = draws.IntN(len(ch.shares))
	return zone, draws.Float64() < ch.shares[zone]
}

// first returns the interval at the start of a block.
func (ch *chain) first(device int, start engine.Time) cursor {
	zone, up := ch.zone(device)
	if start > 0 {
		draws := ch.draws(device, start, -1)
		up = draws.Float64() < ch.config.share(ch.config.ZonesH[zone]+hourOf(start))
	}
	c := cursor{from: start, turn: -1}
	if up {
		c.turn = 1
	}
	c.until = ch.ends(device, c)
	return c
}

func (ch *chain) next(device int, c cursor) cursor {
	if c.until == ch.end(c.from) {
		return ch.first(device, c.until)
	}
	c.from = c.until
	if c.turn > 0 {
		c.turn = -c.turn - 1
	} else {
		c.turn = -c.turn + 1
	}
	c.until = ch.ends(device, c)
	return c
}

// ends draws the end of an interval, at most the end of its block, by thinning (Lewis
// and Shedler, Naval Research Logistics Quarterly 26, 1979). Candidates come at the
// highest rate, and each is accepted with the ratio of the rate at that time to the
// highest rate.
func (ch *chain) ends(device int, c cursor) engine.Time {
	mean, sign := ch.config.MeanUpS, -1.0
	number := c.turn - 1
	if c.turn < 0 {
		mean, sign = ch.config.MeanDownS, 1
		number = -c.turn - 1
	}
	draws, last := ch.draws(device, c.from, int(number)), ch.end(c.from)
	highest := 1 + ch.config.Daily
	if ch.config.Daily == 0 {
		return min(last, c.from.Add(atLeast1ns(exponential(&draws)*mean)))
	}
	zone, _ := ch.zone(device)
	offset := ch.config.ZonesH[zone]
	for s := 0.0; ; {
		s += exponential(&draws) * mean / highest
		at := c.from.Add(atLeast1ns(s))
		if at >= last {
			return last
		}
		if draws.Float64()*highest < 1+float64(sign*ch.config.wave(hourOf(at)+offset)) {
			return at
		}
	}
}

// hourOf returns the hour of the day in zone 0.
func hourOf(at engine.Time) float64 { return float64(at%(dayHours*hour)) / float64(hour) }

// wave returns the relative change of the return rate at a local hour.
func (c *AvailabilityConfig) wave(local float64) float64 {
	return float64(c.Daily * elementary.Cos(2*math.Pi*(local-c.PeakHour)/dayHours))
}

// share returns the share of the devices in a zone that are available at midnight, or in
// zone + h at hour h. It is the periodic solution of
//
//	p' = (1 - p) come(t) - p leave(t)
//
// by exact steps of one minute with constant rates. The solution is linear in p(0), so
// one day from p(0) = 0 determines the periodic p(0).
func (c *AvailabilityConfig) share(zone float64) float64 {
	if c.Daily == 0 {
		return c.MeanUpS / (c.MeanUpS + c.MeanDownS)
	}
	const steps = 24 * 60
	p, exponent := 0.0, 0.0
	for i := range steps {
		wave := c.wave((float64(i)+0.5)*dayHours/steps + zone)
		come, leave := (1+wave)/c.MeanDownS, (1-wave)/c.MeanUpS
		x := (come + leave) * 86400 / steps
		p -= float64((come/(come+leave) - p) * elementary.Expm1(-x))
		exponent += x
	}
	return p / -elementary.Expm1(-exponent)
}

// exponential draws an exponential number of mean 1.
func exponential(s *rng.Stream) float64 { return -elementary.Log1p(-s.Float64()) }

// atLeast1ns returns s seconds, at least 1 ns, so that every interval ends after it
// begins.
func atLeast1ns(s float64) engine.Time { return max(1, engine.FromSeconds(s)) }
