package traces

import (
	"math"

	"fedsim/engine"
)

// Area returns the integral of the value over [from, to] in units of the kind
// times seconds: megabits for a rate, seconds on for a switch. It costs as many
// look-ups as there are changes within, of a trace that repeats at most those of
// two repetitions.
func Area(s Source, k Kind, device int, from, to engine.Time) float64 {
	if span := period(s, k, device); to-from > span {
		whole := (to - from) / span
		rest := from + whole*span
		return float64(float64(whole)*sum(s, k, device, from, from+span)) + sum(s, k, device, rest, to)
	}
	return sum(s, k, device, from, to)
}

func sum(s Source, k Kind, device int, from, to engine.Time) float64 {
	sum := 0.0
	for from < to {
		value, until := s.Lookup(k, device, from)
		until = min(until, to)
		sum += float64(value * (until - from).Seconds())
		from = until
	}
	return sum
}

// Reach returns the first instant at which the integral of the value from an
// instant on has come to amount, rounded up to a nanosecond: when a transfer of
// amount megabits ends on a link that only it uses. It is [engine.Never] when
// that does not happen. With a constant trace it is from + amount/value. It
// costs as many look-ups as there are changes up to then, of a trace that
// repeats at most those of four repetitions.
func Reach(s Source, k Kind, device int, from engine.Time, amount float64) engine.Time {
	if !(amount > 0) {
		return from
	}
	span := period(s, k, device)
	skipped := span == engine.Never
	for t := from; ; {
		value, until := s.Lookup(k, device, t)
		here := float64(value * (until - t).Seconds())
		if value > 0 && amount <= here {
			return min(t.Add(engine.CeilSeconds(amount/value)), until)
		}
		if until == engine.Never {
			return engine.Never
		}
		amount -= here
		t = until
		if skipped || t-from < span {
			continue
		}
		skipped = true
		if t > engine.Never-span {
			return engine.Never
		}
		once := sum(s, k, device, t, t+span)
		if once == 0 {
			return engine.Never
		}
		// One repetition is left to the loop, so that rounding does not count.
		whole := math.Floor(amount/once) - 1
		if whole*float64(span) >= float64(engine.Never-t) {
			return engine.Never
		}
		if whole > 0 {
			t += engine.Time(whole) * span
			amount -= float64(whole * once)
		}
	}
}
