package mtl

import (
	"math"

	"fedsim/internal/kernel"
)

// Squared is 1/2 (z - y)^2, the loss of ridge regression. Its conjugate is
// loss*(-a) = a^2/2 - a y (Shalev-Shwartz and Zhang, JMLR 14, 2013, section 6.2,
// there for (z - y)^2).
type Squared struct{}

var _ Loss = Squared{}

// Value returns 1/2 (z - y)^2.
func (Squared) Value(z, y float64) float64 { return float64(0.5 * (z - y) * (z - y)) }

// Subgradient returns the derivative, z - y.
func (Squared) Subgradient(z, y float64) float64 { return z - y }

// Conjugate returns a^2/2 - a y.
func (Squared) Conjugate(a, y float64) float64 { return a * (float64(a/2) - y) }

// Step returns a + (y - z - a)/(1 + q).
func (Squared) Step(a, y, z, q float64) float64 { return a + (y-z-a)/(1+q) }

func (l Squared) clippedStep() kernel.ClippedStep {
	return kernel.ClippedStep{Shrink: 1, Extra: 1, Low: math.Inf(-1), High: math.Inf(1)}
}

// Smoothness returns 1.
func (Squared) Smoothness() float64 { return 1 }

// Lipschitz returns +Inf: the slope grows with the residual.
func (Squared) Lipschitz() float64 { return math.Inf(1) }

// Regression returns true.
func (Squared) Regression() bool { return true }
