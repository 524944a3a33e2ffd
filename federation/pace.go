package federation

import (
	"math"

	"fedsim/engine"
)

// pace returns what the usual speed of device t is multiplied by at an instant, and
// until when.
func (f *Federation) pace(t int, at engine.Time) (factor float64, until engine.Time) {
	if f.setup.Pace == nil {
		return 1, engine.Never
	}
	return f.setup.Pace.Speed(t, at)
}

// slowdown returns how many times as long device t computes now as at its fastest
// step and its usual speed.
func (f *Federation) slowdown(t int) float64 {
	pace, _ := f.pace(t, f.clock.Now())
	return f.fleet.Slowdown(t, int(f.devices[t].step)) / pace
}

// computing returns how long device t takes for its work at its frequency step when
// it begins now and nothing interrupts it.
func (f *Federation) computing(t int) engine.Time { return f.stretch(t, 1) }

// stretch returns how long device t takes from now on for a share of its work.
func (f *Federation) stretch(t int, share float64) engine.Time {
	now := f.clock.Now()
	pace, until := f.pace(t, now)
	length := f.whole(t, pace)
	if share != 1 {
		length = engine.Time(math.Round(share * float64(length)))
	}
	if now.Add(length) <= until {
		return length
	}
	return f.workEnds(t, now, share) - now
}

// whole returns how long all the work of device t takes at its frequency step and one
// pace.
func (f *Federation) whole(t int, pace float64) engine.Time {
	fastest := f.cost.compute(t, f.flops(t))
	slower := f.fleet.Slowdown(t, int(f.devices[t].step)) / pace
	if slower == 1 || fastest == 0 || fastest == engine.Never {
		return fastest
	}
	return engine.FromSeconds(math.Ceil(float64(fastest)*slower) / 1e9)
}

// workEnds returns when device t is over with a share of its work that it begins at an
// instant, its pace changing meanwhile.
func (f *Federation) workEnds(t int, at engine.Time, share float64) engine.Time {
	left := share * float64(f.whole(t, 1)) // at its usual speed, ns
	rounded := math.Round
	if share == 1 {
		rounded = math.Ceil
	}
	for steps := 1; ; steps++ {
		pace, until := f.pace(t, at)
		if left <= 0 {
			return at
		}
		if f.interrupted(steps) {
			return engine.Never
		}
		if span := rounded(left / pace); span <= float64(until-at) && span < 1<<63 {
			return at.Add(engine.Time(span))
		}
		if until == engine.Never {
			return engine.Never
		}
		left -= float64(float64(until-at) * pace)
		at = until
	}
}

// workDone returns which share of its work device t does between two instants.
func (f *Federation) workDone(t int, from, to engine.Time) float64 {
	if pace, until := f.pace(t, from); to <= until {
		return float64(to-from) / float64(f.whole(t, pace))
	}
	done := 0.0
	for at, steps := from, 1; at < to && !f.interrupted(steps); steps++ {
		pace, until := f.pace(t, at)
		until = min(until, to)
		done += float64(float64(until-at) * pace)
		at = until
	}
	return done / float64(f.whole(t, 1))
}
