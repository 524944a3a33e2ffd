package mtl

import "math"

// LossAbsolute names Absolute in scenarios.
const LossAbsolute = "absolute"

func init() {
	RegisterLoss(LossFactory{
		Name: LossAbsolute, Formula: "abs(z - y)", Conjugate: "-ay", Domain: "abs(a) <= 1",
		Reference: "Shalev-Shwartz and Zhang: Stochastic dual coordinate ascent methods for regularized loss " +
			"minimization, JMLR 14, 2013, section 6.2",
		New: func(*Config) Loss { return Absolute{} },
	})
}

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

// Traits returns those of a loss of real targets with a kink that is 1-Lipschitz.
func (Absolute) Traits() LossTraits {
	return LossTraits{RealTargets: true, Lipschitz: 1, Clipped: ClippedStep{Low: -1, High: 1}}
}
