package traces

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/engine"
	"fedsim/internal/rng"
)

// naive is a view that goes through the steps from the first one on, and knows
// of nothing else.
type naive struct {
	steps []Step
	span  engine.Time
	wrap  bool
}

func (n naive) at(t engine.Time) float64 {
	if n.wrap {
		t %= n.span
	}
	value := math.NaN()
	for _, s := range n.steps {
		if s.At <= t {
			value = s.Value
		}
	}
	return value
}

// next looks at every change point of the next two repetitions.
func (n naive) next(t engine.Time) engine.Time {
	base := engine.Time(0)
	repetitions := 1
	if n.wrap {
		base, repetitions = t/n.span*n.span, 3
	}
	for range repetitions {
		for _, s := range n.steps {
			if at := base + s.At; at > t && n.at(at) != n.at(t) {
				return at
			}
		}
		base += n.span
	}
	return engine.Never
}

// only returns a set of one trace.
func only(t interface{ Fatal(...any) }, span engine.Time, k Kind, steps ...Step) *Set {
	r := &Trace{Name: "d", Span: span}
	r.Steps[k] = steps
	s, err := Collect(func(yield func(*Trace, error) bool) { yield(r, nil) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLookupAnyOrder asks for a week of alternating intervals at a million
// random times in random order (issue 5).
func TestLookupAnyOrder(t *testing.T) {
	const week = 7 * 24 * hour
	draws := rng.New(1, rng.Recorded, 0, 0)
	var steps []Step
	on := 0.0
	for at := engine.Time(0); at < week; at += 1 + engine.Time(draws.IntN(int(12*hour))) {
		steps = append(steps, Step{at, on})
		on = 1 - on
	}
	if len(steps) < 20 {
		t.Fatalf("%d intervals: too few to be a test", len(steps))
	}
	set := only(t, week, Available, steps...)
	for _, wrap := range []bool{false, true} {
		view := NewView(set, InOrder, 1, wrap)
		twin := naive{steps, week, wrap}
		for range 500_000 {
			at := engine.Time(draws.IntN(int(3 * week)))
			if draws.IntN(4) == 0 { // exactly on a change, and just before
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
			if value != twin.at(at) || until != twin.next(at) {
				t.Fatalf("at %d: %v until %v, must be %v until %v", at, value, until, twin.at(at), twin.next(at))
			}
		}
	})
}

// TestAreaAndReachTwin compares with sums over single steps of a short trace.
func TestAreaAndReachTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps, span := recording(t, DownMbps)
		wrap := rapid.Bool().Draw(t, "wrap")
		view := NewView(only(t, span, DownMbps, steps...), InOrder, 0, wrap)
		twin := naive{steps, span, wrap}
		from := engine.Time(rapid.Int64Range(0, 3*int64(span)).Draw(t, "from"))
		to := from + engine.Time(rapid.Int64Range(0, 9*int64(span)).Draw(t, "length"))
		want := 0.0
		for at := from; at < to; {
			until := min(twin.next(at), to)
			want += twin.at(at) * (until - at).Seconds()
			at = until
		}
		got := Area(view, DownMbps, 0, from, to)
		if math.Abs(got-want) > 1e-9*(1+want) {
			t.Fatalf("area %v, must be %v", got, want)
		}
		// All but a billionth of it, so that the rounding of the sum does not
		// decide whether a pause comes before the end or after.
		amount := want * (1 - 1e-9)
		end := Reach(view, DownMbps, 0, from, amount)
		if end > to || want == 0 && end != from {
			t.Fatalf("%v is reached at %d, must be by %d", amount, end, to)
		}
		// A nanosecond of the fastest rate, 3 Mbps, is what rounding up may add.
		if got := Area(view, DownMbps, 0, from, end); got < amount*(1-1e-12) || got > amount+3.1e-9 {
			t.Fatalf("%v has come by %d, must be %v", got, end, amount)
		}
	})
}

func TestConstantTrace(t *testing.T) {
	for _, wrap := range []bool{false, true} {
		view := NewView(only(t, 5e9, UpMbps, Step{0, 2.5}), InOrder, 3, wrap)
		for _, at := range []engine.Time{0, 1, 5e9 - 1, 5e9, 7e9, 1e18, engine.Never - 1} {
			if value, until := view.Lookup(UpMbps, 0, at); value != 2.5 || until != engine.Never {
				t.Errorf("wrap %v: %v until %v at %d, must be 2.5 for ever", wrap, value, until, at)
			}
		}
		// Exactly what a link of constant rate takes.
		for _, amount := range []float64{1, 0.3, 1e6, 7.77} {
			want := engine.Time(3e9).Add(engine.CeilSeconds(amount / 2.5))
			if got := Reach(view, UpMbps, 0, 3e9, amount); got != want {
				t.Errorf("wrap %v: %v Mbit end at %v, must be %v", wrap, amount, got, want)
			}
		}
		if got := Area(view, UpMbps, 0, 1e9, 13e9); got != 30 {
			t.Errorf("wrap %v: %v Mbit in 12 s at 2.5 Mbps, must be 30", wrap, got)
		}
	}
}

func TestWrapAndHold(t *testing.T) {
	// On in [2, 5) of 10 s; at the seam off meets off.
	off := only(t, 10, Available, Step{0, 0}, Step{2, 1}, Step{5, 0})
	// On in [0, 2) and [5, 10): at the seam on meets on.
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

func TestReachNever(t *testing.T) {
	dead := only(t, 10e9, DownMbps, Step{0, 0})
	ends := only(t, 10e9, DownMbps, Step{0, 1}, Step{4e9, 0})
	tiny := only(t, 10e9, DownMbps, Step{0, 1e-300}, Step{4e9, 0})
	for _, c := range []struct {
		name   string
		set    *Set
		wrap   bool
		amount float64
		want   engine.Time
	}{
		{"dead link", dead, true, 1, engine.Never},
		{"dead link, nothing to send", dead, true, 0, 0},
		{"ended link", ends, false, 5, engine.Never},
		{"ended link, just", ends, false, 4, 4e9},
		{"wrapped link", ends, true, 5, 11e9},
		{"wrapped link, long", ends, true, 4e6 + 1, 1e16 + 1e9},
		{"beyond the end of time", tiny, true, 1, engine.Never},
	} {
		if got := Reach(NewView(c.set, InOrder, 0, c.wrap), DownMbps, 0, 0, c.amount); got != c.want {
			t.Errorf("%s: %d, must be %d", c.name, got, c.want)
		}
	}
}

func TestMoreDevicesThanTraces(t *testing.T) {
	d := SynthesisDefaults()
	d.Devices = 5
	set, err := Collect(Synthesize(d))
	if err != nil {
		t.Fatal(err)
	}
	inOrder := NewView(set, InOrder, 1, true)
	for device := range 20 {
		if got := inOrder.traceOf(device); got != device%5 {
			t.Errorf("in order: device %d follows trace %d, must be %d", device, got, device%5)
		}
	}
	// Drawn: each trace as often, differently by the seed, alike for sets of one
	// size and otherwise not. 10000 devices have 2000 each, with a standard
	// deviation of 40.
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
		if twin.traceOf(device) != trace {
			t.Fatalf("device %d follows traces %d and %d of sets of one size", device, trace, twin.traceOf(device))
		}
	}
	for trace, n := range append(counts[:], same) {
		if n < 1800 || n > 2200 {
			t.Errorf("%d devices of %d follow trace %d (5: the same as under another seed), must be 2000", n, devices, trace)
		}
	}
}

func TestLookupsAllocateNothing(t *testing.T) {
	set, err := Collect(Synthesize(SynthesisDefaults()))
	if err != nil {
		t.Fatal(err)
	}
	view := NewView(set, InOrder, 1, true)
	at := engine.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		at += 7919 * hour
		view.Lookup(Available, int(at%977), at%engine.Time(1e17))
		Reach(view, Available, 3, at%engine.Time(1e17), 1e4)
	}); n != 0 {
		t.Errorf("%v allocations per look-up, must be none", n)
	}
}

func BenchmarkLookup(b *testing.B) {
	d := SynthesisDefaults()
	d.Devices, d.Days = 1000, 7
	set, err := Collect(Synthesize(d))
	if err != nil {
		b.Fatal(err)
	}
	view := NewView(set, InOrder, 1, true)
	draws := rng.New(1, rng.Recorded, 0, 0)
	for b.Loop() {
		view.Lookup(Available, draws.IntN(1e6), engine.Time(draws.IntN(1e18)))
	}
}
