package mtl

import "math"

// LossHinge names Hinge in scenarios.
const LossHinge = "hinge"

func init() {
	RegisterLoss(LossFactory{
		Name: LossHinge, Formula: "max(0, 1 - yz)", Conjugate: "-ya", Domain: "0 <= ya <= 1",
		Reference: "Shalev-Shwartz and Zhang: Stochastic dual coordinate ascent methods for regularized loss " +
			"minimization, JMLR 14, 2013, section 6.2",
		New: func(*Config) Loss { return Hinge{} },
	})
}

// Hinge is the loss of the support vector machine, max(0, 1 - y z), with labels
// -1 and +1. Its conjugate is loss*(-a) = -y a on 0 <= y a <= 1 (Shalev-Shwartz
// and Zhang, JMLR 14, 2013, section 6.2).
type Hinge struct{}

var (
	_ Loss = Hinge{}
	_ sums = Hinge{}
)

// Value returns max(0, 1 - y z).
func (Hinge) Value(z, y float64) float64 { return max(0, 1-float64(y*z)) }

func (h Hinge) addValues(sum float64, z, y []float64) float64 {
	for i, zi := range z {
		sum += h.Value(zi, y[i])
	}
	return sum
}

func (h Hinge) addConjugates(sum float64, a, y []float64) float64 {
	for i, ai := range a {
		sum += h.Conjugate(ai, y[i])
	}
	return sum
}

// Subgradient returns -y where the margin is violated, 0 elsewhere.
func (Hinge) Subgradient(z, y float64) float64 {
	if float64(y*z) < 1 {
		return -y
	}
	return 0
}

// Conjugate returns -y a, or +Inf outside 0 <= y a <= 1.
func (Hinge) Conjugate(a, y float64) float64 {
	ya := y * a
	if ya < 0 || ya > 1 {
		return math.Inf(1)
	}
	return -ya
}

// Step returns y clip(y a + (1 - y z)/q, 0, 1).
func (Hinge) Step(a, y, z, q float64) float64 {
	b := float64(y*a) + (1-float64(y*z))/q
	return y * clip(b, 0, 1)
}

// Traits returns those of a loss with a kink that is 1-Lipschitz.
func (Hinge) Traits() LossTraits {
	return LossTraits{Lipschitz: 1, Clipped: ClippedStep{High: 1}}
}
