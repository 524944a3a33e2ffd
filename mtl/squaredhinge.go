package mtl

import "math"

// LossSquaredHinge names SquaredHinge in scenarios.
const LossSquaredHinge = "squared-hinge"

func init() {
	RegisterLoss(LossFactory{
		Name: LossSquaredHinge, Formula: "max(0, 1 - yz)^2", Conjugate: "-ya + (ya)^2/4", Domain: "ya >= 0",
		Reference: "Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method for large-scale " +
			"linear SVM, ICML 2008",
		New: func(*Config) Loss { return SquaredHinge{} },
	})
}

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

// Traits returns those of a loss whose second derivative is at most 2, and whose slope grows
// with the violation of the margin.
func (SquaredHinge) Traits() LossTraits {
	return LossTraits{
		Smoothness: 0.5, Lipschitz: math.Inf(1),
		Clipped: ClippedStep{Shrink: 0.5, Extra: 0.5, High: math.Inf(1)},
	}
}
