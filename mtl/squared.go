package mtl

import "math"

// LossSquared names Squared in scenarios.
const LossSquared = "squared"

func init() {
	RegisterLoss(LossFactory{
		Name: LossSquared, Formula: "(z - y)^2/2", Conjugate: "a^2/2 - ay", Domain: "everywhere",
		Reference: "Shalev-Shwartz and Zhang: Stochastic dual coordinate ascent methods for regularized loss " +
			"minimization, JMLR 14, 2013, section 6.2",
		New: func(*Config) Loss { return Squared{} },
	})
}

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

// Traits returns those of a 1-smooth loss of real targets, whose slope grows with the residual.
func (Squared) Traits() LossTraits {
	return LossTraits{
		RealTargets: true, Smoothness: 1, Lipschitz: math.Inf(1),
		Clipped:   ClippedStep{Shrink: 1, Extra: 1, Low: math.Inf(-1), High: math.Inf(1)},
		Curvature: func(_, _ float64) float64 { return 1 }, Quadratic: true,
	}
}
