package mtl

import (
	"math"

	"fedsim/internal/tools/elementary"
)

// LossLogistic names Logistic in scenarios.
const LossLogistic = "logistic"

func init() {
	RegisterLoss(LossFactory{
		Name: LossLogistic, Formula: "log(1 + exp(-yz))", Conjugate: "s log s + (1 - s) log(1 - s), s = ya",
		Domain: "0 <= ya <= 1",
		Reference: "Shalev-Shwartz and Zhang: Stochastic dual coordinate ascent methods for regularized loss " +
			"minimization, JMLR 14, 2013, section 6.2",
		New: func(*Config) Loss { return Logistic{} },
	})
}

// Logistic is log(1 + exp(-y z)), with labels -1 and +1. With s = y a its
// conjugate is loss*(-a) = s log s + (1-s) log(1-s) on 0 <= s <= 1
// (Shalev-Shwartz and Zhang, JMLR 14, 2013, section 6.2).
type Logistic struct{}

var _ Loss = Logistic{}

// Value returns log(1 + exp(-y z)) without overflow.
func (Logistic) Value(z, y float64) float64 {
	margin := float64(y * z)
	if margin < 0 {
		return -margin + elementary.Log1p(elementary.Exp(margin))
	}
	return elementary.Log1p(elementary.Exp(-margin))
}

// Subgradient returns the derivative, -y sigma(-y z).
func (Logistic) Subgradient(z, y float64) float64 { return -y * sigmoid(-y*z) }

// Conjugate returns s log s + (1-s) log(1-s) with s = y a, which is 0 at both
// ends, or +Inf outside 0 <= s <= 1.
func (Logistic) Conjugate(a, y float64) float64 {
	s := float64(y * a)
	switch {
	case s < 0 || s > 1:
		return math.Inf(1)
	case s == 0 || s == 1:
		return 0
	default:
		return float64(s*elementary.Log(s)) + float64((1-s)*elementary.Log1p(-s))
	}
}

// The range of dual variables that a step returns. It excludes the ends, where the conjugate
// has no derivative.
const (
	logisticLeast = 0x1p-1022
	logisticMost  = 1 - 0x1p-53
)

// Step returns the root of the derivative, which has no closed form. With
// s = sigma(t) it is that of the increasing function
//
//	g(t) = t + m + q (sigma(t) - y a),   m = y z,
//
// between -m - q (1 - y a) and -m + q y a. Newton's method finds it to rounding,
// typically in two to five iterations. A bisection replaces a Newton step that leaves the
// bracket or is more than half as long as the one before, which bounds the number of
// iterations.
func (Logistic) Step(a, y, z, q float64) float64 {
	s0, m := float64(y*a), float64(y*z)
	low, high := -m-float64(q*(1-s0)), -m+float64(q*s0)
	t := -m
	if s0 > 0 && s0 < 1 {
		t = min(high, max(low, elementary.Log(s0)-elementary.Log1p(-s0)))
	}
	last := high - low
	// Each iteration halves the bracket or the step. The bracket is narrower than
	// q <= 2^100, and the resolution is 2^-52.
	const most = 2 * (100 + 52)
	for range most {
		s := sigmoid(t)
		g := t + m + float64(q*(s-s0))
		const rounding = 0x1p-52
		if math.Abs(g) <= rounding*(math.Abs(t)+math.Abs(m)+float64(q*max(s, s0))) {
			break
		}
		if g > 0 {
			high = t
		} else {
			low = t
		}
		next := t - g/(1+float64(q*s*(1-s)))
		if !(next > low && next < high) || math.Abs(next-t) > last/2 {
			next = low + float64((high-low)/2)
		}
		if next == t {
			break
		}
		last = math.Abs(next - t)
		t = next
	}
	return y * min(logisticMost, max(logisticLeast, sigmoid(t)))
}

// sigmoid returns 1/(1 + exp(-t)) without overflow, with full relative precision
// for small values.
func sigmoid(t float64) float64 {
	if t < 0 {
		e := elementary.Exp(t)
		return e / (1 + e)
	}
	return 1 / (1 + elementary.Exp(-t))
}

// Traits returns those of a 1-Lipschitz loss whose second derivative, s (1 - s) with s = y a,
// is at most 1/4.
func (Logistic) Traits() LossTraits {
	return LossTraits{Smoothness: 4, Lipschitz: 1, Curvature: func(a, y float64) float64 {
		s := float64(y * a)
		return s * (1 - s)
	}}
}
