package mtl

import (
	"math"

	"fedsim/internal/kernel"
)

// Absolute is |z - y|, the loss of least absolute deviations. Its conjugate is
// loss*(-a) = -a y on |a| <= 1 (Shalev-Shwartz and Zhang, JMLR 14, 2013, section
// 6.2).
type Absolute struct{}

var _ Loss = Absolute{}

// Value returns |z - y|.
func (Absolute) Value(z, y float64) float64 { return math.Abs(z - y) }

// Subgradient returns the sign of z - y, 0 where both are equal.
func (Absolute) Subgradient(z, y float64) float64 {
	switch {
	case z > y:
		return 1
	case z < y:
		return -1
	default:
		return 0
	}
}

// Conjugate returns -a y, or +Inf for |a| > 1.
func (Absolute) Conjugate(a, y float64) float64 {
	if math.Abs(a) > 1 {
		return math.Inf(1)
	}
	return -a * y
}

// Step returns clip(a + (y - z)/q, -1, 1).
func (Absolute) Step(a, y, z, q float64) float64 {
	return clip(a+(y-z)/q, -1, 1)
}

func (l Absolute) clippedStep() kernel.ClippedStep {
	return kernel.ClippedStep{Low: -1, High: 1}
}

// Smoothness returns 0: the loss has a kink.
func (Absolute) Smoothness() float64 { return 0 }

// Lipschitz returns 1.
func (Absolute) Lipschitz() float64 { return 1 }

// Regression returns true.
func (Absolute) Regression() bool { return true }
