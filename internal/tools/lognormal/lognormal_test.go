package lognormal

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

func TestConstantWithoutVariation(t *testing.T) {
	for _, z := range []float64{-8, -0.3, 0, 2.5, 8} {
		got := Of(0).At(z)
		expect.That(t, got == 1, "At(%g) = %v, want 1", z, got)
	}
}

// Mean and variance of n draws; the tolerance is four standard errors, that of
// the variance by the fourth central moment of a log-normal number:
// with w = 1 + cv^2, (w-1)^2 (w^4 + 2 w^3 + 3 w^2 - 3) (Johnson, Kotz and
// Balakrishnan, Continuous Univariate Distributions, chapter 14).
func TestMomentsOfTheDraws(t *testing.T) {
	const n = 200_000
	for _, cv := range []float64{0.1, 0.45, 1} {
		m := Of(cv)
		s := rng.New(7, rng.Spread, 0, 0)
		var sum, squares float64
		for range n {
			x := m.At(s.Normal())
			sum += x
			squares += (x - 1) * (x - 1)
		}
		mean := sum / n
		expect.That(t, math.Abs(mean-1) <= 4*cv/math.Sqrt(n), "cv %g: mean %v, want 1", cv, mean)
		w := 1 + cv*cv
		fourth := (w - 1) * (w - 1) * (w*w*w*w + 2*w*w*w + 3*w*w - 3)
		if v := squares / n; math.Abs(v-cv*cv) > 4*math.Sqrt((fourth-cv*cv*cv*cv)/n) {
			t.Errorf("cv %g: variance %v, want %v", cv, v, cv*cv)
		}
	}
}

// The share of draws above x is its probability, within four standard errors; without variation it is a step.
func TestAbove(t *testing.T) {
	const n = 40_000
	for _, cv := range []float64{0, 0.2, 1} {
		for _, x := range []float64{0.3, 0.9, 1, 1.7} {
			s, above := rng.New(7, rng.Spread, 0, 0), 0.0
			for range n {
				if Of(cv).At(s.Normal()) > x {
					above += 1. / n
				}
			}
			p := Of(cv).Above(x)
			if math.Abs(above-p) > 4*math.Sqrt(p*(1-p)/n)+1e-9 {
				t.Errorf("cv %g: %g of the factors are above %g, want %g", cv, above, x, p)
			}
		}
	}
}
