package clients

import (
	"math"

	"fedsim/engine"
)

// speed returns the factor of the usual speed of device t at an instant, and until when
// it holds.
func (c *Clients) speed(t int, at engine.Time) (factor float64, until engine.Time) {
	if c.setup.Speed == nil {
		return 1, engine.Never
	}
	return c.setup.Speed.Speed(t, at)
}

// slowdown returns how many times as long device t computes now as at its fastest
// step and its usual speed.
func (c *Clients) slowdown(t int) float64 {
	factor, _ := c.speed(t, c.clock.Now())
	return c.fleet.Slowdown(t, int(c.devices[t].step)) / factor
}

// computing returns how long device t takes for its work at its frequency step when
// it begins now and nothing interrupts it.
func (c *Clients) computing(t int) engine.Time { return c.stretch(t, 1) }

// stretch returns how long device t takes from now on for a share of its work.
func (c *Clients) stretch(t int, share float64) engine.Time {
	now := c.clock.Now()
	factor, until := c.speed(t, now)
	length := c.whole(t, factor)
	if share != 1 {
		length = engine.Time(math.Round(share * float64(length)))
	}
	if now.Add(length) <= until {
		return length
	}
	return c.workEnds(t, now, share) - now
}

// whole returns how long all the work of device t takes at its frequency step and one
// factor.
func (c *Clients) whole(t int, factor float64) engine.Time {
	flops := c.devices[t].flops
	if c.slower != nil {
		flops *= c.slower[t]
	}
	fastest := c.cost.compute(t, max(flops, c.setup.LeastFLOPs))
	slower := c.fleet.Slowdown(t, int(c.devices[t].step)) / factor
	if slower == 1 || fastest == 0 || fastest == engine.Never {
		return fastest
	}
	return engine.FromSeconds(math.Ceil(float64(fastest)*slower) / 1e9)
}

// workEnds returns when device t has done a share of its work that it begins at an
// instant, while its speed changes.
func (c *Clients) workEnds(t int, at engine.Time, share float64) engine.Time {
	left := share * float64(c.whole(t, 1)) // at its usual speed, ns
	rounded := math.Round
	if share == 1 {
		rounded = math.Ceil
	}
	for steps := 1; ; steps++ {
		factor, until := c.speed(t, at)
		if left <= 0 {
			return at
		}
		if c.interrupted(steps) {
			return engine.Never
		}
		if span := rounded(left / factor); span <= float64(until-at) && span < 1<<63 {
			return at.Add(engine.Time(span))
		}
		if until == engine.Never {
			return engine.Never
		}
		left -= float64(float64(until-at) * factor)
		at = until
	}
}

// workDone returns which share of its work device t does between two instants.
func (c *Clients) workDone(t int, from, to engine.Time) float64 {
	if factor, until := c.speed(t, from); to <= until {
		return float64(to-from) / float64(c.whole(t, factor))
	}
	done := 0.0
	for at, steps := from, 1; at < to && !c.interrupted(steps); steps++ {
		factor, until := c.speed(t, at)
		until = min(until, to)
		done += float64(float64(until-at) * factor)
		at = until
	}
	return done / float64(c.whole(t, 1))
}
