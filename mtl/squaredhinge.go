package mtl

import (
	"math"

	"fedsim/internal/kernel"
)

// SquaredHinge is max(0, 1 - y z)^2, the loss of the L2 support vector machine,
// with labels -1 and +1. Its conjugate is loss*(-a) = -y a + (y a)^2/4 on
// y a >= 0 (Hsieh et al., A Dual Coordinate Descent Method for Large-scale Linear
// SVM, ICML 2008; in the form of Shalev-Shwartz and Zhang, JMLR 14, 2013).
type SquaredHinge struct{}

var _ Loss = SquaredHinge{}

// Value returns max(0, 1 - y z)^2.
func (SquaredHinge) Value(z, y float64) float64 {
	short := max(0, 1-float64(y*z))
	return float64(short * short)
}

// Subgradient returns the derivative, -2 y max(0, 1 - y z).
func (SquaredHinge) Subgradient(z, y float64) float64 {
	return -2 * y * max(0, 1-float64(y*z))
}

// Conjugate returns -y a + (y a)^2/4, or +Inf for y a < 0.
func (SquaredHinge) Conjugate(a, y float64) float64 {
	ya := float64(y * a)
	if ya < 0 {
		return math.Inf(1)
	}
	return -ya + float64(ya*ya/4)
}

// Step returns y max(y a + (1 - y z - y a/2)/(q + 1/2), 0).
func (SquaredHinge) Step(a, y, z, q float64) float64 {
	ya := float64(y * a)
	return y * clip(ya+(1-float64(y*z)-float64(ya/2))/(q+0.5), 0, math.Inf(1))
}

func (l SquaredHinge) clippedStep() kernel.ClippedStep {
	return kernel.ClippedStep{Shrink: 0.5, Extra: 0.5, High: math.Inf(1)}
}

// Smoothness returns 1/2: the second derivative is at most 2.
func (SquaredHinge) Smoothness() float64 { return 0.5 }

// Lipschitz returns +Inf: the slope grows with the violation of the margin.
func (SquaredHinge) Lipschitz() float64 { return math.Inf(1) }

// Regression returns false.
func (SquaredHinge) Regression() bool { return false }
