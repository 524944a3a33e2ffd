package mtl

import "math"

// LossSmoothedHinge names SmoothedHinge in scenarios.
const LossSmoothedHinge = "smoothed-hinge"

func init() {
	RegisterLoss(LossFactory{
		Name:    LossSmoothedHinge,
		Formula: "0 if yz >= 1; 1 - yz - g/2 if yz <= 1 - g; else (1 - yz)^2/(2g)", Conjugate: "-ya + g/2 (ya)^2",
		Domain: "0 <= ya <= 1",
		Mu:     "g",
		Reference: "Shalev-Shwartz and Zhang: Stochastic dual coordinate ascent methods for regularized loss " +
			"minimization, JMLR 14, 2013, section 6.2",
		New: func(cfg *Config) Loss { return SmoothedHinge{Smoothing: cfg.Smoothing} },
	})
}

// SmoothedHinge is the hinge with its kink smoothed over a width of gamma =
// Smoothing > 0: with the margin m = y z it is 0 for m >= 1, 1 - m - gamma/2 for
// m <= 1 - gamma and (1-m)^2/(2 gamma) in between. Its conjugate is
// loss*(-a) = -y a + gamma/2 (y a)^2 on 0 <= y a <= 1 (Shalev-Shwartz and Zhang,
// JMLR 14, 2013, section 6.2). It is at most gamma/2 below the hinge.
type SmoothedHinge struct{ Smoothing float64 }

var _ Loss = SmoothedHinge{}

// Value returns the loss of the margin y z.
func (s SmoothedHinge) Value(z, y float64) float64 {
	short := 1 - float64(y*z)
	switch {
	case short <= 0:
		return 0
	case short >= s.Smoothing:
		return short - float64(s.Smoothing/2)
	default:
		return short * short / (2 * s.Smoothing)
	}
}

// Subgradient returns the derivative, -y clip((1 - y z)/gamma, 0, 1).
func (s SmoothedHinge) Subgradient(z, y float64) float64 {
	return -y * min(1, max(0, (1-float64(y*z))/s.Smoothing))
}

// Conjugate returns -y a + gamma/2 (y a)^2, or +Inf outside 0 <= y a <= 1.
func (s SmoothedHinge) Conjugate(a, y float64) float64 {
	ya := float64(y * a)
	if ya < 0 || ya > 1 {
		return math.Inf(1)
	}
	return -ya + float64(s.Smoothing/2*ya*ya)
}

// Step returns y clip(y a + (1 - y z - gamma y a)/(q + gamma), 0, 1).
func (s SmoothedHinge) Step(a, y, z, q float64) float64 {
	ya := float64(y * a)
	b := ya + (1-float64(y*z)-float64(s.Smoothing*ya))/(q+s.Smoothing)
	return y * clip(b, 0, 1)
}

// Traits returns those of a (1/gamma)-smooth loss that is 1-Lipschitz.
func (s SmoothedHinge) Traits() LossTraits {
	return LossTraits{
		Smoothness: s.Smoothing, Lipschitz: 1,
		Clipped: ClippedStep{Shrink: s.Smoothing, Extra: s.Smoothing, High: 1},
	}
}
