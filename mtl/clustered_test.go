package mtl

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
)

// The conditions of optimality of min sum_i s_i^2/(eta + o_i), sum o = k,
// 0 <= o <= 1: one water level l = s_i^2/(eta + o_i)^2 for all o_i inside, at
// least l where o_i = 1, at most l where o_i = 0.
func TestWaterFillIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(2, 12).Draw(t, "m")
		s := rapid.SliceOfN(rapid.Float64Range(-6, 6), 1, m).Draw(t, "log s")
		for i := range s {
			s[i] = math.Exp(s[i])
		}
		if rapid.Bool().Draw(t, "ties") {
			fill(s[:(len(s)+1)/2], s[0])
		}
		eta := math.Exp(rapid.Float64Range(-12, 5).Draw(t, "log eta"))
		k := rapid.Float64Range(1e-3, 1-1e-3).Draw(t, "k/m") * float64(m)
		if rapid.Bool().Draw(t, "whole") {
			k = math.Min(float64(m-1), math.Max(1, math.Round(k)))
		}
		o, off := waterFill(s, m, eta, k)
		sum := off * float64(m-len(s))
		for _, x := range o {
			sum += x
			expect.Must(t, x >= 0 && x <= 1, "an eigenvalue %g of Omega outside [0, 1]", x)
		}
		expect.Must(t, math.Abs(sum-k) <= 1e-12*float64(m), "tr Omega = %.15g, want %.15g", sum, k)
		expect.Must(t, off >= 0 && off <= 1, "the eigenvalue off the range is %g", off)
		level := func(i int) float64 { return math.Pow(s[i]/(eta+o[i]), 2) }
		low, high := math.Inf(1), 0.0 // of what may still grow, and of what may still shrink
		for i, x := range o {
			if x > 0 {
				low = math.Min(low, level(i))
			}
			if x < 1 {
				high = math.Max(high, level(i))
			}
		}
		if off > 0 && len(s) < m {
			low = 0 // eigenvalues outside the range have a share but do not matter
		}
		expect.Must(t, high <= low*(1+1e-9),
			"s = %v, eta = %g, k = %g: o = %v: the level %g exceeds the level %g", s, eta, k, o, high, low)
	})
}

// Tasks in two tight clusters: Omega of trace 2 becomes the projection onto them.
func TestClusteredFindsTheClusters(t *testing.T) {
	w := data.NewMatrix(5, 8)
	for s := range w.Rows {
		w.Row(s)[s%2] = 1
	}
	c := expect.Value(Clustered{Lambda: 0.5, Eta: 0.1, Count: 2}.Update(testPool, &w, 0))(t)
	M := matrixOf(c)
	for s := range w.Rows {
		for u := range w.Rows {
			want := 0.1 * delta(s, u)
			if s%2 == u%2 {
				want += 1 / float64(3-s%2) // a third for the cluster of three
			}
			expect.That(t, near(M.At(s, u), want, 1e-12), "M[%d][%d] = %g, want %g", s, u, M.At(s, u), want)
		}
	}
}

func TestClusteredRejectsInvalidTraces(t *testing.T) {
	w := randomMatrix(1, 3, 4)
	for _, k := range []float64{0, -1, 3, 7, math.NaN()} {
		r := Clustered{Lambda: 1, Eta: 1, Count: k}
		_, err := r.Start(testPool, 3)
		expect.That(t, err != nil, "Start accepted k = %g for 3 tasks", k)
		_, err = r.Update(testPool, &w, 0)
		expect.That(t, err != nil, "Update accepted k = %g for 3 tasks", k)
	}
}

func TestWaterFillByHand(t *testing.T) {
	for _, test := range []struct {
		s      []float64
		m      int
		eta, k float64
		o      []float64
		off    float64
	}{
		{[]float64{2, 1}, 2, 0, 0.9, []float64{0.6, 0.3}, 0},           // in proportion to s
		{[]float64{2, 1}, 2, 0.3, 0.9, []float64{0.7, 0.2}, 0},         // o + eta in proportion
		{[]float64{9, 1}, 2, 0.1, 1.2, []float64{1, 0.2}, 0},           // the first is full
		{[]float64{9, 1}, 2, 1, 0.8, []float64{0.8, 0}, 0},             // the second is not worth it
		{[]float64{5, 3}, 5, 0.1, 2.6, []float64{1, 1}, 0.2},           // two full, 0.6 for three others
		{[]float64{5, 3}, 5, 0.1, 2, []float64{1, 1}, 0},               // just full
		{[]float64{4, 4, 4}, 3, 0.5, 1.5, []float64{0.5, 0.5, 0.5}, 0}, // no preference
		{[]float64{4, 4, 1e-9}, 3, 0.5, 1, []float64{0.5, 0.5, 0}, 0},  // nothing for almost nothing
		{[]float64{100, 1, 1}, 3, 1e-6, 2, []float64{1, 0.5, 0.5}, 0},  // plateau of the first
		{[]float64{1e8, 1e-8}, 3, 0.1, 1, []float64{1, 0}, 0},          // far apart
		{[]float64{1e8, 1e-8}, 3, 0.1, 1.25, []float64{1, 0.25}, 0},    // far apart, and both needed
	} {
		o, off := waterFill(test.s, test.m, test.eta, test.k)
		for i := range o {
			if !near(o[i], test.o[i], 1e-13) {
				t.Errorf("s = %v, eta = %g, k = %g: o = %v, want %v", test.s, test.eta, test.k, o, test.o)
				break
			}
		}
		expect.That(t, near(off, test.off, 1e-14),
			"s = %v, k = %g: the others have %g, want %g", test.s, test.k, off, test.off)
	}
}
