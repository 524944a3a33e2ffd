package engine

import (
	"fmt"
	"math"
	"time"
)

// Time is an instant, in nanoseconds of virtual time since the start of the simulation,
// or a duration.
type Time int64

// Never is the end of time. An event scheduled there stays pending and does not fire.
const Never Time = math.MaxInt64

const nanosecondsPerSecond = 1e9

// FromSeconds returns s seconds rounded to the nearest nanosecond, or Never beyond the
// range of Time (292 years). It panics if s is NaN or negative.
func FromSeconds(s float64) Time { return fromNanoseconds(math.Round(s * nanosecondsPerSecond)) }

// CeilSeconds is FromSeconds rounded up: the first instant at which a process of s
// seconds is over.
func CeilSeconds(s float64) Time { return fromNanoseconds(math.Ceil(s * nanosecondsPerSecond)) }

func fromNanoseconds(ns float64) Time {
	if !(ns >= 0) {
		panic(fmt.Sprintf("engine: a span of %g ns: must be a number, not negative", ns))
	}
	if ns >= 0x1p63 {
		return Never
	}
	return Time(ns)
}

// Seconds returns t in seconds, +Inf for Never.
func (t Time) Seconds() float64 {
	if t == Never {
		return math.Inf(1)
	}
	return float64(t) / nanosecondsPerSecond
}

// Add returns t + span, or Never beyond the range of Time. Neither may be negative.
func (t Time) Add(span Time) Time {
	if span > Never-t {
		return Never
	}
	return t + span
}

// Times returns n spans of t, or Never beyond the range of Time. Neither may be negative.
func (t Time) Times(n int) Time {
	if n > 0 && t > Never/Time(n) {
		return Never
	}
	return Time(n) * t
}

// String formats t in hours, minutes and seconds, such as "1m2.5s".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return time.Duration(t).String()
}
