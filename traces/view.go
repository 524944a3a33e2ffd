package traces

import (
	"fmt"

	"fedsim/engine"
	"fedsim/internal/rng"
)

// View is a set of traces as the devices of a simulation follow them. There
// may be more devices than traces, or fewer: device k follows trace
// (k + shift) mod n, where the seed draws shift in [0, n).
//
// With wrap a trace of span P repeats: its value at t is that at t mod P.
// Without, the last value holds from P on. Times must not be negative; kinds
// must be those of the set. No method allocates, and each costs O(log c) for c
// changes of the trace, except where it says so.
type View struct {
	set   *Set
	shift int
	wrap  bool
}

// NewView returns the view of a set under a seed.
func NewView(set *Set, seed uint64, wrap bool) *View {
	stream := rng.New(seed, rng.Trace, -1, 0)
	return &View{set: set, shift: stream.IntN(set.Len()), wrap: wrap}
}

// Set returns the traces.
func (v *View) Set() *Set { return v.set }

// Trace returns the number of the trace that a device follows.
func (v *View) Trace(device int) int { return int((uint(device) + uint(v.shift)) % uint(v.set.Len())) }

// On reports whether a switch is on at t.
func (v *View) On(k Kind, device int, t engine.Time) bool {
	if !k.Switch() {
		panic(fmt.Sprintf("traces: On of %v, which is a number", k))
	}
	value, _ := v.Lookup(k, device, t)
	return value == 1
}

// At returns the value at t, 1 or 0 for a switch.
func (v *View) At(k Kind, device int, t engine.Time) float64 {
	value, _ := v.Lookup(k, device, t)
	return value
}

// Next returns the first instant after t at which the value is another one,
// [engine.Never] when it stays.
func (v *View) Next(k Kind, device int, t engine.Time) engine.Time {
	_, until := v.Lookup(k, device, t)
	return until
}

// Lookup returns the value at t and the first instant after t at which it is
// another one, [engine.Never] when it stays.
func (v *View) Lookup(k Kind, device int, t engine.Time) (value float64, until engine.Time) {
	if !v.set.kinds.Has(k) {
		panic(fmt.Sprintf("traces: %v of traces that have %v", k, v.set.kinds))
	}
	trace := v.Trace(device)
	times, values := v.set.series[k].of(trace)
	base, within := engine.Time(0), t
	if v.wrap {
		within = t % v.set.spans[trace]
		base = t - within
	}
	n := len(times)
	i := reached(times, within)
	value = valueAfter(values, i)
	if i < n {
		return value, base.Add(times[i])
	}
	if !v.wrap {
		return value, engine.Never
	}
	// The last value holds to the end of the span, where the first one follows.
	// When they are equal, the change is the first one after the start.
	again := base.Add(v.set.spans[trace])
	start := reached(times, 0)
	switch {
	case valueAfter(values, start) != value:
		return value, again
	case start < n:
		return value, again.Add(times[start])
	default:
		return value, engine.Never
	}
}

// reached returns how many of the rising times lie at or before t.
func reached(times []engine.Time, t engine.Time) int {
	low, high := 0, len(times)
	for low < high {
		middle := int(uint(low+high) / 2)
		if times[middle] <= t {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// valueAfter returns the value after the first i changes.
func valueAfter(values []float64, i int) float64 {
	if values == nil {
		return float64(i & 1)
	}
	return values[i-1]
}
