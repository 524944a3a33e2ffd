package mtl

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The conjugate is checked against its definition, sup over z of -a z - loss(z),
// on a grid that holds the kink, and Fenchel and Young's inequality.
func TestHingeConjugateIsTheSupremum(t *testing.T) {
	for _, y := range []float64{-1, 1} {
		for k := 0; k <= 20; k++ {
			a := y * float64(k) / 20
			sup := math.Inf(-1)
			for z := -50.0; z <= 50; z += 0.125 {
				sup = math.Max(sup, -a*z-Hinge{}.Value(z, y))
			}
			if got := (Hinge{}).Conjugate(a, y); !near(got, sup, 1e-12) {
				t.Errorf("conjugate(%g, %g) = %g, want %g", a, y, got, sup)
			}
		}
		for _, a := range []float64{-0.01 * y, 1.01 * y} {
			if got := (Hinge{}).Conjugate(a, y); !math.IsInf(got, 1) {
				t.Errorf("conjugate(%g, %g) = %g outside the domain, want +Inf", a, y, got)
			}
		}
	}
}

// No other point of the domain may give the coordinate problem a lower value.
func TestHingeStepIsTheMinimiser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := rapid.SampledFrom([]float64{-1, 1}).Draw(t, "y")
		a := y * rapid.Float64Range(0, 1).Draw(t, "ya")
		z := rapid.Float64Range(-3, 3).Draw(t, "z")
		q := rapid.Float64Range(1e-3, 1e3).Draw(t, "q")
		value := func(b float64) float64 {
			return Hinge{}.Conjugate(b, y) + (b-a)*z + q/2*(b-a)*(b-a)
		}
		best := Hinge{}.Step(a, y, z, q)
		for k := 0; k <= 1000; k++ {
			if b := y * float64(k) / 1000; value(b) < value(best)-1e-12*(1+q) {
				t.Fatalf("value(%g) = %g is below value(%g) = %g", b, value(b), best, value(best))
			}
		}
	})
}

func TestHingeSubgradientSupportsTheLoss(t *testing.T) {
	for _, y := range []float64{-1, 1} {
		for z := -2.0; z <= 2; z += 0.25 {
			g := Hinge{}.Subgradient(z, y)
			for v := -3.0; v <= 3; v += 0.25 {
				if (Hinge{}).Value(v, y) < (Hinge{}).Value(z, y)+g*(v-z) {
					t.Errorf("the line at z = %g, y = %g cuts the loss at %g", z, y, v)
				}
			}
		}
	}
}
