package theory

import (
	"math"

	"fedsim/internal/tools/elementary"
)

// Bound is the bound of a theorem on a W update from alpha = 0 for a given Theta-bar.
type Bound interface {
	// Rounds returns the smallest H for which the theorem bounds the expected D(alpha) - D* by
	// eps; +Inf when Theta-bar is 1.
	Rounds(eps float64) float64
	// Curve returns a bound of E[D(alpha^h) - D*] for h = 0, ..., rounds.
	Curve(rounds int) []float64
}

// Smooth is the bound of Theorem 1 for (1/mu)-smooth losses.
type Smooth struct {
	Rate  float64 // gamma (1 - Theta-bar) s: least relative decrease in a round
	Start float64 // upper bound of D(0) - D*
}

// Smooth returns Theorem 1's bound; the losses must be smooth.
func (c *Constants) Smooth(thetaBar float64) Smooth {
	return Smooth{Rate: c.Gamma * (1 - thetaBar) * c.S, Start: c.Start}
}

// Rounds returns H = ceil(1/rate log(start/eps)) (Theorem 1).
func (s Smooth) Rounds(eps float64) float64 {
	if s.Start <= eps {
		return 0
	}
	return math.Ceil(elementary.Log(s.Start/eps) / s.Rate)
}

// Curve returns (1 - rate)^h start (the proof's recursion of eq. finaldecrease).
func (s Smooth) Curve(rounds int) []float64 {
	curve := make([]float64, rounds+1)
	curve[0] = s.Start
	for h := range rounds {
		curve[h+1] = (1 - s.Rate) * curve[h]
	}
	return curve
}

// Lipschitz is the bound of Theorem 2 for L-Lipschitz losses. With
// q = gamma (1 - Theta-bar), B = 4 L^2 sum_t sigma'_t sigma_t c_t n_t and
// Delta_h = E[D(a^h) - D*], lemmas basic-k with mu = 0 and sigmabound, by which
// |u_i - a_i| <= 2 L, give for every s in [0, 1]
//
//	Delta_h - Delta_{h+1} >= q (s E[G(a^h)] - s^2 B/2),  and G >= Delta:
//	Delta_{h+1} <= (1 - q s) Delta_h + q s^2 B/2.                                (*)
//
// With s = 1, Delta_h <= B from h0 = [1 + 1/q log(2 Delta_0/B)]_+ on. With
// s = 1/(1 + q/2 (h-h0)) induction keeps Delta_h <= B/(1 + q/2 (h-h0)), which is
// at most eps/2 from H0 = h0 + 4B/(q eps) on. Summing the first line over the
// rounds H0+1..H with s = 1/(q(H-H0)) <= 1 bounds the mean gap there by
// Delta_{H0+1} + B/(2q(H-H0)), at most eps for H - H0 >= max(1/q, B/(q eps)).
// The gap is convex in a, so it bounds that of the averaged a, too. (Theorem 8 of
// Ma et al., ICML 2015; eq. sublinear asks for 2/q where 1/q suffices.)
type Lipschitz struct {
	Q     float64 // gamma (1 - Theta-bar)
	B     float64 // 4 L^2 sigma sigma'
	Start float64 // upper bound of D(0) - D*
}

// Lipschitz returns Theorem 2's bound; the losses must be Lipschitz.
func (c *Constants) Lipschitz(thetaBar float64) Lipschitz {
	return Lipschitz{Q: c.Gamma * (1 - thetaBar), B: 4 * c.L * c.L * c.Spread, Start: c.Start}
}

// Phases returns h0, H0 and H of eq. sublinear with 1 in place of n^2: the mean
// of alpha over the rounds H0+1, ..., H has an expected D - D* of at most eps.
// All are +Inf when Theta-bar is 1.
func (l Lipschitz) Phases(eps float64) (h0, from, to float64) {
	if l.Q <= 0 {
		return math.Inf(1), math.Inf(1), math.Inf(1)
	}
	h0 = math.Max(0, 1+elementary.Log(2*l.Start/l.B)/l.Q)
	from = math.Ceil(h0 + 4*l.B/(l.Q*eps))
	to = from + math.Ceil(2/l.Q*math.Max(1, l.B/(2*eps)))
	return h0, from, to
}

// Rounds returns H of eq. sublinear, for the averaged alpha.
func (l Lipschitz) Rounds(eps float64) float64 {
	_, _, h := l.Phases(eps)
	return h
}

// Curve returns the bound of E[D(a^h) - D*] of each iterate, not of their mean:
// (*) with the best s = min(1, bound/B) in every round. It is never above what
// the theorem's own choices of s give.
func (l Lipschitz) Curve(rounds int) []float64 {
	curve := make([]float64, rounds+1)
	delta := l.Start
	for h := range curve {
		curve[h] = delta
		s := math.Min(1, delta/l.B)
		delta = float64((1-float64(l.Q*s))*delta) + float64(l.Q*s*s*l.B/2)
	}
	return curve
}

// Asymptotic returns the bound of corollary asym: Start times the product of
// 1 - gamma s (1 - Theta-bar^i) over the rounds i < h, for h = 0, ...,
// len(thetaBar), where thetaBar[i] is max_t E[theta_t^i]. It goes to zero just
// when the sum of 1 - Theta-bar^i diverges; the corollary's conditions, both
// limits below 1 or (1 - p)(1 - Theta) = omega(1/h), suffice for that.
func (c *Constants) Asymptotic(thetaBar []float64) []float64 {
	curve := make([]float64, len(thetaBar)+1)
	curve[0] = c.Start
	for h, theta := range thetaBar {
		curve[h+1] = curve[h] * (1 - float64(c.Gamma*c.S*(1-math.Min(1, theta))))
	}
	return curve
}
