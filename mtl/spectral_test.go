package mtl

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/kernel"
)

// largestOf returns the largest eigenvalue of P + g g^T by a full matrix.
func largestOf(t reporter, p, g []float64) float64 {
	n := len(p)
	values, err := eigenvalues(symmetric(n, func(i, j int) float64 { return p[i]*delta(i, j) + g[i]*g[j] }))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return values[n-1]
}

// column is f of one column g.
func column(p, g []float64, calls *int) func(lambda float64) secular {
	return func(lambda float64) secular {
		*calls++
		var s secular
		for i := range p {
			s.value += square(g[i]) / (lambda - p[i])
			s.slope -= square(g[i] / (lambda - p[i]))
		}
		s.rounding = float64(len(p)+10) * 0x1p-52 * s.value
		return s
	}
}

// The bound exceeds the largest eigenvalue by at most raiseBy, also when entries of P are
// close to the eigenvalue, or G is zero at the largest entry.
func TestTopEigenvalueIsAboveAndTight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		p, g := make([]float64, n), make([]float64, n)
		least, most := 0.0, 0.0
		for i := range n {
			p[i] = rapid.Float64Range(0, 3).Draw(t, "p")
			if size := rapid.IntRange(-40, 5).Draw(t, "log g"); size > -40 {
				g[i] = math.Exp(float64(size))
			}
			least = max(least, p[i]+square(g[i]))
			most += p[i] + square(g[i])
		}
		if most == 0 {
			return
		}
		calls := 0
		got, want := topEigenvalue(least, most, column(p, g, &calls)), largestOf(t, p, g)
		expect.Must(t, got >= want*(1-1e-14) && got <= want*(1+2.1e-10),
			"P = %g, g = %g: %.16g, the largest eigenvalue is %.16g", p, g, got, want)
		expect.Must(t, calls <= 60, "P = %g, g = %g: %d evaluations", p, g, calls)
	})
}

// A larger rounding error of f raises the bound.
func TestTopEigenvalueLeavesRoomForRounding(t *testing.T) {
	const rounding = 1e-6
	calls := 0
	f := column([]float64{0.5, 0.5}, []float64{1, 1}, &calls)
	got := topEigenvalue(1.5, 3, func(lambda float64) secular {
		s := f(lambda)
		s.rounding = rounding
		return s
	})
	if at := f(got).value; at+rounding > 1 || got > 2.5*(1+4*rounding) {
		t.Errorf("%.10g with f = %.10g, want f below 1 - %g and little more", got, at, rounding)
	}
}

// sigma' of low-rank couplings whose tasks differ by orders of magnitude, with
// and without shared tasks: sigma' diag(M) - M is positive semidefinite (eq.
// sigmaPrimeSafeDefinition), and would not be for a slightly smaller value.
func TestLowRankSigmaPrimeIsSafeAndTight(t *testing.T) {
	for _, test := range []struct {
		name   string
		spread float64 // log10 of the largest over the smallest task
		floor  float64
		shared bool
	}{
		{"alike", 0, 1e-3, false}, {"orders apart", 4, 1e-3, false}, {"far apart", 8, 1e-6, false},
		{"shared", 2, 1e-3, true}, {"floor of 1", 2, 1, false}, {"floor of 1, shared", 2, 1, true},
		{"nearly independent", 1, 1 - 1e-9, false},
	} {
		for seed := range uint64(10) {
			const m, d = 60, 5
			w := randomMatrix(seed, m, d)
			for t := range m {
				kernel.Scale(math.Pow(10, -test.spread*float64(t)/m), w.Row(t), w.Row(t))
			}
			clear(w.Row(7)) // this task learns from none
			c := expect.Value(Probabilistic{Lambda: 1}.Update(testPool, &w, test.floor))(t)
			var devices []int
			if test.shared {
				devices = make([]int, m)
				for t := range devices {
					devices[t] = 1 + int(seed+uint64(t))%4
				}
			}
			sigma := c.SigmaPrime(SigmaSpectral, devices)[0]
			M := matrixOf(c)
			scaled := symmetric(m, func(s, u int) float64 {
				return M.At(s, u) * math.Sqrt(load(devices, s)*load(devices, u)/M.At(s, s)/M.At(u, u))
			})
			values := mustEigenvalues(t, scaled)
			if want := values[m-1]; sigma < want*(1-1e-13) || sigma > want*(1+1.1e-10) {
				t.Errorf("%s: sigma' = %.15g, the largest eigenvalue is %.15g", test.name, sigma, want)
			}
		}
	}
}
