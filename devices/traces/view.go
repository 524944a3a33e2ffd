package traces

import (
	"fedsim/engine"
	"fedsim/internal/rng"
)

// The assignments of traces to devices, by their names in a configuration.
const (
	// InOrder: of n traces, device k follows trace k mod n.
	InOrder = "in-order"
	// Drawn: each device draws its trace, all as likely, so that some are
	// followed by several devices and some by none. Sets of as many traces are
	// drawn alike: when they are of the same devices, they stay together.
	Drawn = "random"
)

// View is a set of traces as the devices of a simulation follow them. There may
// be more devices than traces, or fewer.
//
// With wrap a trace of span P repeats: its value at t is that at t mod P.
// Without, the last value holds from P on. A look-up costs O(log c) for c
// changes of the trace, wherever the one before it was, and several goroutines
// may look up at once.
type View struct {
	set   *Set
	seed  uint64
	drawn bool
	wrap  bool
}

// NewView returns the view of a set; the seed is for traces that are drawn.
func NewView(set *Set, assignment string, seed uint64, wrap bool) *View {
	switch assignment {
	case InOrder, Drawn:
	default:
		panic("traces: unknown assignment " + assignment)
	}
	return &View{set: set, seed: seed, drawn: assignment == Drawn, wrap: wrap}
}

// Kinds returns what the traces tell.
func (v *View) Kinds() Kinds { return v.set.kinds }

// traceOf returns the number in the set of the trace that a device follows.
func (v *View) traceOf(device int) int {
	n := v.set.Len()
	if v.drawn {
		stream := rng.New(v.seed, rng.Trace, device, n)
		return stream.IntN(n)
	}
	return int(uint(device) % uint(n))
}

// Lookup returns the value at t and until when it holds, as [Source] says.
func (v *View) Lookup(k Kind, device int, t engine.Time) (value float64, until engine.Time) {
	if !v.set.kinds.Has(k) {
		panic(untold(k, v.set.kinds))
	}
	trace := v.traceOf(device)
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

func (v *View) period(_ Kind, device int) engine.Time {
	if !v.wrap {
		return engine.Never
	}
	return v.set.spans[v.traceOf(device)]
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
