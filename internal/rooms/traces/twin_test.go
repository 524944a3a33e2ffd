package traces

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/rng"
)

// naive is a view that searches all steps from the first one.
type naive struct {
	steps []Step
	span  engine.Time
	wrap  bool
}

func (n naive) at(instant engine.Time) float64 {
	if n.wrap {
		instant %= n.span
	}
	value := math.NaN()
	for _, s := range n.steps {
		if s.At <= instant {
			value = s.Value
		}
	}
	return value
}

// next searches every change point of the next two repetitions.
func (n naive) next(instant engine.Time) engine.Time {
	base := engine.Time(0)
	repetitions := 1
	if n.wrap {
		base, repetitions = instant/n.span*n.span, 3
	}
	for range repetitions {
		for _, s := range n.steps {
			if at := base + s.At; at > instant && n.at(at) != n.at(instant) {
				return at
			}
		}
		base += n.span
	}
	return engine.Never
}

// area returns the integral of a value over [from, to] in units of the kind times
// seconds.
func area(s Source, k Kind, device int, from, to engine.Time) float64 {
	sum := 0.0
	for from < to {
		value, until := s.Lookup(k, device, from)
		until = min(until, to)
		sum += float64(value * (until - from).Seconds())
		from = until
	}
	return sum
}

// only returns a set of one trace.
func only(t filetest.T, span engine.Time, k Kind, steps ...Step) *Set {
	r := &Trace{Name: "d", Span: span}
	r.Steps[k] = steps
	return collected(t, func(yield func(*Trace, error) bool) { yield(r, nil) })
}

// A million look-ups at random times in random order agree with the naive view, on a
// week of alternating intervals.
func TestLookupAnyOrder(t *testing.T) {
	const week = 7 * 24 * hour
	draws := rng.New(1, rng.Recorded, 0, 0)
	var steps []Step
	on := 0.0
	for at := engine.Time(0); at < week; at += 1 + engine.Time(draws.IntN(int(12*hour))) {
		steps = append(steps, Step{at, on})
		on = 1 - on
	}
	expect.Must(t, len(steps) >= 20, "%d intervals: too few to be a test", len(steps))
	set := only(t, week, Available, steps...)
	for _, wrap := range []bool{false, true} {
		view := NewView(set, InOrder, 1, wrap)
		twin := naive{steps, week, wrap}
		for range 500_000 {
			at := engine.Time(draws.IntN(int(3 * week)))
			if draws.IntN(4) == 0 { // exactly at a change, and just before
				at = steps[draws.IntN(len(steps))].At + week*engine.Time(draws.IntN(3)) - engine.Time(draws.IntN(2))
				at = max(at, 0)
			}
			value, until := view.Lookup(Available, 0, at)
			if want := twin.at(at); value != want {
				t.Fatalf("wrap %v: value %v at %v, must be %v", wrap, value, at, want)
			}
			if want := twin.next(at); until != want {
				t.Fatalf("wrap %v: the value of %v holds until %v, must be %v", wrap, at, until, want)
			}
		}
	}
}

// recording draws a valid trace of one kind.
func recording(t *rapid.T, k Kind) (steps []Step, span engine.Time) {
	span = engine.Time(rapid.Int64Range(1, 30e9).Draw(t, "span"))
	at := engine.Time(0)
	for at < span {
		value := rapid.SampledFrom([]float64{0, 1, 0.5, 3}).Draw(t, "value")
		if k.refuse(value) != "" {
			value = 0
		}
		steps = append(steps, Step{at, value})
		at += engine.Time(rapid.Int64Range(1, 1+int64(span)/3).Draw(t, "length"))
	}
	return steps, span
}

func TestLookupTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind"))
		steps, span := recording(t, k)
		wrap := rapid.Bool().Draw(t, "wrap")
		view := NewView(only(t, span, k, steps...), InOrder, 0, wrap)
		twin := naive{steps, span, wrap}
		for range 20 {
			at := engine.Time(rapid.Int64Range(0, 4*int64(span)).Draw(t, "t"))
			value, until := view.Lookup(k, 0, at)
			expect.Must(t, value == twin.at(at) && until == twin.next(at),
				"at %d: %v until %v, must be %v until %v", at, value, until, twin.at(at), twin.next(at))
		}
	})
}

func TestConstantTrace(t *testing.T) {
	for _, wrap := range []bool{false, true} {
		view := NewView(only(t, 5e9, UpMbps, Step{0, 2.5}), InOrder, 3, wrap)
		for _, at := range []engine.Time{0, 1, 5e9 - 1, 5e9, 7e9, 1e18, engine.Never - 1} {
			if value, until := view.Lookup(UpMbps, 0, at); value != 2.5 || until != engine.Never {
				t.Errorf("wrap %v: %v until %v at %d, must be 2.5 forever", wrap, value, until, at)
			}
		}
	}
}

func TestWrapAndHold(t *testing.T) {
	// On in [2, 5) of 10 s: off meets off at the seam.
	off := only(t, 10, Available, Step{0, 0}, Step{2, 1}, Step{5, 0})
	// On in [0, 2) and [5, 10): on meets on at the seam.
	on := only(t, 10, Available, Step{0, 1}, Step{2, 0}, Step{5, 1})
	// Rises over the span: the seam is a change.
	rising := only(t, 10, DownMbps, Step{0, 1}, Step{4, 2})
	for _, c := range []struct {
		name  string
		set   *Set
		wrap  bool
		at    engine.Time
		value float64
		until engine.Time
	}{
		{"off, wrap", off, true, 7, 0, 12},
		{"off, wrap, at the end", off, true, 10, 0, 12},
		{"off, wrap, far", off, true, 1e15 + 3, 1, 1e15 + 5},
		{"off, hold", off, false, 7, 0, engine.Never},
		{"on, wrap", on, true, 7, 1, 12},
		{"on, wrap, before the end", on, true, 9, 1, 12},
		{"on, hold", on, false, 1e15, 1, engine.Never},
		{"rising, wrap", rising, true, 5, 2, 10},
		{"rising, wrap, again", rising, true, 10, 1, 14},
		{"rising, hold", rising, false, 12, 2, engine.Never},
		{"last change before the end of time", off, true, engine.Never - 3, 1, engine.Never - 2},
		{"no change before the end of time", off, true, engine.Never - 1, 0, engine.Never},
	} {
		k := Available
		if c.set == rising {
			k = DownMbps
		}
		if value, until := NewView(c.set, InOrder, 0, c.wrap).Lookup(k, 0, c.at); value != c.value || until != c.until {
			t.Errorf("%s: %v until %d at %d, must be %v until %d", c.name, value, until, c.at, c.value, c.until)
		}
	}
}

func TestMoreDevicesThanTraces(t *testing.T) {
	d := SynthesisDefaults()
	d.Devices = 5
	set := collected(t, Synthesize(d))
	inOrder := NewView(set, InOrder, 1, true)
	for device := range 20 {
		got := inOrder.traceOf(device)
		expect.That(t, got == device%5, "in order: device %d follows trace %d, must be %d", device, got, device%5)
	}
	// Drawn: each trace is equally frequent, depends on the seed, and is the same for
	// sets of one size only. 10000 devices have 2000 each, with a standard deviation of
	// 40.
	const devices = 10000
	drawn, other, twin := NewView(set, Drawn, 1, true), NewView(set, Drawn, 2, true), NewView(set, Drawn, 1, false)
	var counts [5]int
	same := 0
	for device := range devices {
		trace := drawn.traceOf(device)
		counts[trace]++
		if other.traceOf(device) == trace {
			same++
		}
		expect.Must(t, twin.traceOf(device) == trace,
			"device %d follows traces %d and %d of sets of one size", device, trace, twin.traceOf(device))
	}
	for trace, n := range append(counts[:], same) {
		expect.That(t, n >= 1800 && n <= 2200,
			"%d devices of %d follow trace %d (5: the same as under another seed), must be 2000", n, devices, trace)
	}
}

func TestLookupsAllocateNothing(t *testing.T) {
	set := collected(t, Synthesize(SynthesisDefaults()))
	view := NewView(set, InOrder, 1, true)
	at := engine.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		at += 7919 * hour
		view.Lookup(Available, int(at%977), at%engine.Time(1e17))
	}); n != 0 {
		t.Errorf("%v allocations per look-up, must be none", n)
	}
}

func BenchmarkLookup(b *testing.B) {
	d := SynthesisDefaults()
	d.Devices, d.Days = 1000, 7
	set := collected(b, Synthesize(d))
	view := NewView(set, InOrder, 1, true)
	draws := rng.New(1, rng.Recorded, 0, 0)
	for b.Loop() {
		view.Lookup(Available, draws.IntN(1e6), engine.Time(draws.IntN(1e18)))
	}
}

// Intervals overlap, touch, are empty, out of order and beyond the end.
func TestUnion(t *testing.T) {
	r := &Trace{Name: "d", Span: 100}
	r.union(Available,
		[]interval{{70, 80}, {0, 5}, {5, 9}, {20, 40}, {30, 35}, {38, 50}, {60, 60}, {90, 100}, {95, 100}, {120, 100}})
	want := []Step{{0, 1}, {9, 0}, {20, 1}, {50, 0}, {70, 1}, {80, 0}, {90, 1}}
	diff := cmp.Diff(want, r.Steps[Available])
	expect.That(t, diff == "", "-want +got:\n%s", diff)
}
