package experiment

import (
	"fmt"
	"math"
	"testing"

	"fedsim/internal/tools/expect"
)

// A list grows as its last two values do, and whole numbers stay whole and positive.
func TestScalesResume(t *testing.T) {
	for _, test := range []struct {
		list    []float64
		side    int
		integer bool
		want    []float64 // what follows; x itself at an end
	}{
		{[]float64{1, 2, 5, 10}, 1, false, []float64{20, 40, 80}},
		{[]float64{1, 2, 5, 10}, 0, false, []float64{0.5, 0.25, 0.125, 0.0625, 0.0312}},
		{[]float64{0.1, 0.7}, 1, false, []float64{4.9, 34.3, 240}}, // 34.3 * 7 = 240.1
		{[]float64{16, 64}, 1, true, []float64{256, 1024, 4096, 16384}},
		{[]float64{16, 64}, 0, true, []float64{4, 1, 1}},
		{[]float64{3, 4}, 0, true, []float64{2, 1, 1}},
		{[]float64{3, 4}, 1, true, []float64{5, 6, 7}},
		{[]float64{-1, 1}, 0, false, []float64{-3, -5}},
		{[]float64{0.5}, 1, false, []float64{1, 2}}, // [0, 0.5]
		{[]float64{0.5}, 0, false, []float64{0.25, 0.125}},
		{[]float64{100, 100.01}, 1, false, []float64{100.02000100000001}},
	} {
		list := test.list
		for _, want := range test.want {
			at := test.side * (len(list) - 1)
			s := newScale(list, at, test.side, test.integer)
			expect.That(t, s.next == want && s.beyond,
				"%v, side %d: %v follows, want %v", list, test.side, s.next, want)
			if s.next == list[at] {
				break
			}
			if list = append(list, s.next); test.side == 0 {
				copy(list[1:], list)
				list[0] = s.next
			}
		}
	}
	if s := newScale([]float64{1, 2, 5}, 1, 1, false); s.next != 5 || s.beyond {
		t.Errorf("beside 2 is %+v", s)
	}
}

// A bound that is never taken is come close to: below 1 the odds keep their ratio, and
// one step of the usual ratio never leads past those.
func TestScalesComeCloseToABound(t *testing.T) {
	for _, test := range []struct {
		behind, x, bound float64
		want             []float64
	}{
		// Odds 4, 19, 90.25, 428.7, 2036: 1/91.25 = 0.01096, and so on from the rounded ones.
		{0.8, 0.95, 1, []float64{0.989, 0.9977, 0.99952, 0.9999}},
		{0.5, 0.8, 1, []float64{0.941, 0.985}},
		{4, 2, 1, []float64{1.33, 1.11}}, // 1 + 1/3, 1 + 0.11
	} {
		behind, x := test.behind, test.x
		for _, want := range test.want {
			s := scale{x: x, behind: behind, up: x > behind}
			got := s.toward(test.bound)
			expect.That(t, got == want, "%v, %v: %v follows, want %v", behind, x, got, want)
			behind, x = x, got
		}
	}
}

// The bound of accepted values is exact to the last bit.
func TestBounds(t *testing.T) {
	for _, test := range []struct {
		good, bad   float64
		integer     bool
		accepted    func(float64) bool
		last, first float64
	}{
		{0.95, 4, false, func(x float64) bool { return x < 1 }, math.Nextafter(1, 0), 1},
		{48, 96, false, func(x float64) bool { return x <= 64 }, 64, math.Nextafter(64, 65)},
		{2, 0.5, false, func(x float64) bool { return x >= 1 }, 1, math.Nextafter(1, 0)},
		{48, 96, true, func(x float64) bool { return x <= 64 }, 64, 65},
		{48, 6, true, func(x float64) bool { return x >= 7 }, 7, 6},
		{1, math.Inf(1), false, func(x float64) bool { return x <= 5 }, 1, math.Inf(1)},
	} {
		last, first := bound(test.good, test.bad, test.integer, test.accepted)
		expect.That(t, last == test.last && first == test.first,
			"from %v to %v: %v and %v, want %v and %v", test.good, test.bad, last, first, test.last, test.first)
		if !test.integer && !math.IsInf(first, 0) {
			// The bound that is written down is the shorter of both.
			if open := shorter(first, last); open != (test.last != math.Round(test.last)) {
				t.Errorf("%s: open is %v", fmt.Sprint(first, last), open)
			}
		}
	}
}
