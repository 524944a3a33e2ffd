package main

import (
	"slices"
	"testing"
)

// slowHold is a simple implementation of the hold model: it searches a list for the minimum.
func slowHold(h *hold, events int) []int64 {
	pending := make([]int64, h.pending)
	for k := range pending {
		pending[k] = h.span(k)
	}
	times := make([]int64, events)
	for k := range times {
		next := 0
		for i, at := range pending {
			if at < pending[next] {
				next = i
			}
		}
		times[k] = pending[next]
		pending[next] += h.span(h.pending + k)
	}
	return times
}

// All engines fire at the same times, in one turn or in several.
func TestEngines(t *testing.T) {
	const turn = 3000
	h := newHold(1000)
	want := slowHold(h, 3*turn)
	engines, missing, err := startEngines(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range missing {
		t.Log("skipped:", m)
	}
	for _, e := range engines {
		defer e.close()
		first, err := e.times(turn)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(first, want[:turn]) {
			t.Errorf("%s differs from the slow twin", e.name())
		}
		if ns, err := e.fire(turn); err != nil || ns <= 0 {
			t.Errorf("%s: a turn took %g ns (%v)", e.name(), ns, err)
		}
		last, err := e.times(turn)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(last, want[2*turn:]) {
			t.Errorf("%s differs from the slow twin in the third turn", e.name())
		}
	}
}

func TestSpansAreExponential(t *testing.T) {
	h := newHold(1)
	var sum, squares float64
	for _, s := range h.spans {
		if s < 0 {
			t.Fatalf("span %d", s)
		}
		sum += float64(s)
		squares += float64(s) * float64(s)
	}
	n := float64(len(h.spans))
	// The standard errors of the first two moments, for a mean of 1 s, are 1/sqrt(n) and
	// sqrt(20)/sqrt(n): 0.4 and 1.7 %.
	if mean := sum / n; mean < 0.98e9 || mean > 1.02e9 {
		t.Errorf("mean span %g ns, want 1e9", mean)
	}
	if second := squares / n; second < 1.85e18 || second > 2.15e18 {
		t.Errorf("mean squared span %g, want 2e18", second)
	}
}
