package traces

import (
	"slices"

	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// Values of the key assignment: the trace of each device.
const (
	// InOrder: of n traces, device k has trace k mod n.
	InOrder = "in-order"
	// Drawn: each device draws one of the traces with equal probability. Sets with
	// equally many traces are drawn alike, so files about the same devices stay
	// consistent.
	Drawn = "random"
)

// View assigns the traces of a set to the devices of a simulation. There may be more
// devices than traces, or fewer.
//
// With wrap, a trace of span P repeats: its value at t is that at t mod P. Otherwise the
// last value holds from P on. A look-up costs O(log c) for c changes of the trace.
// Look-ups may run concurrently.
type View struct {
	set   *Set
	seed  uint64
	drawn bool
	wrap  bool
}

// NewView returns a view of a set. The seed is for Drawn.
func NewView(set *Set, assignment string, seed uint64, wrap bool) *View {
	switch assignment {
	case InOrder, Drawn:
	default:
		panic("traces: unknown assignment " + assignment)
	}
	return &View{set: set, seed: seed, drawn: assignment == Drawn, wrap: wrap}
}

// Kinds returns the kinds of the traces.
func (v *View) Kinds() Kinds { return v.set.kinds }

// Span returns the end of the longest trace.
func (v *View) Span() engine.Time { return slices.Max(v.set.spans) }

// traceOf returns the number of a device's trace in the set.
func (v *View) traceOf(device int) int {
	n := v.set.Len()
	if v.drawn {
		stream := rng.New(v.seed, rng.Trace, device, n)
		return stream.IntN(n)
	}
	return int(uint(device) % uint(n))
}

// Lookup implements [Source].
func (v *View) Lookup(k Kind, device int, at engine.Time) (value float64, until engine.Time) {
	if !v.set.kinds.Has(k) {
		panic(missingKind(k, v.set.kinds))
	}
	trace := v.traceOf(device)
	times, values := v.set.series[k].of(trace)
	base, within := engine.Time(0), at
	if v.wrap {
		within = at % v.set.spans[trace]
		base = at - within
	}
	i := reached(times, within)
	value = valueAfter(values, i)
	if i < len(times) {
		return value, base.Add(times[i])
	}
	if !v.wrap {
		return value, engine.Never
	}
	// The last value holds to the end of the span, where the first one follows. If they
	// are equal, the next change is the first one after the start.
	again := base.Add(v.set.spans[trace])
	start := reached(times, 0)
	switch {
	case valueAfter(values, start) != value:
		return value, again
	case start < len(times):
		return value, again.Add(times[start])
	default:
		return value, engine.Never
	}
}

// reached returns how many of the ascending times are not after an instant.
func reached(times []engine.Time, at engine.Time) int {
	i, found := slices.BinarySearch(times, at)
	if found {
		i++
	}
	return i
}

// valueAfter returns the value after the first i changes.
func valueAfter(values []float64, i int) float64 {
	if values == nil {
		return float64(i & 1)
	}
	return values[i-1]
}
