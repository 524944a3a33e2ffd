package mtl

import (
	"math"

	"fedsim/internal/kernel"
	"fedsim/internal/rng"
)

// Theta returns theta_t^h of a device's local solve (eq. localSolutionQuality2a),
//
//	theta = (G(da) - G(da*)) / (G(0) - G(da*)),  da = after - before,
//
// where G is the subproblem that SDCA solves: before and after hold the device's
// dual variables at the start of the round and as its solver left them (before
// gamma scales the update), w is its task's w_t, curvature sigma'_t M_tt. 0 is
// an exact solution, 1 no progress, more than 1 a solver that made it worse.
//
// The minimiser da* comes from SDCA to a duality gap of a 1e-10th of
// G(0) - G(da*), or as near as rounding lets it, from the better of before and
// after. A subproblem that before solves, G(0) - G(da*) being at most a 1e-12th
// of its terms and so beyond measure, leaves nothing to do: theta is 0 then.
func (p *Problem) Theta(k int, before, after, w []float64, curvature float64) float64 {
	s := &subproblem{p: p, k: k, before: before, w: w, curvature: curvature}
	s.scores(w)
	noise := 1e-12 * s.size(before)
	if s.gap(before) <= noise {
		return 0
	}
	start := before
	if s.value(after) < s.value(before) {
		start = after
	}
	best := s.minimize(start, noise/10)
	none, left := s.excess(before, best), s.excess(after, best)
	switch {
	case none <= noise:
		return 0
	case left > none && left-none <= noise/10:
		return 1
	default:
		return max(0, left/none)
	}
}

// subproblem is the subproblem of a device around its dual variables before.
type subproblem struct {
	p         *Problem
	k         int
	before, w []float64
	curvature float64
	z         []float64 // x_i . u of the rows for the u that scores was last called with
}

// scores sets z to x_i . u.
func (s *subproblem) scores(u []float64) {
	task := s.p.Train.Open(s.k)
	defer task.Close()
	if s.z == nil {
		s.z = make([]float64, task.X.Rows)
	}
	for i := range s.z {
		s.z[i] = task.X.Dot(i, u)
	}
}

// size sums the magnitudes of what the gap of b adds up, which rounding is
// relative to.
func (s *subproblem) size(b []float64) float64 {
	y, loss, sum := s.p.Train.Tasks[s.k].Y, s.p.Loss, 0.0
	for i, bi := range b {
		sum += math.Abs(loss.Value(s.z[i], y[i])) + math.Abs(loss.Conjugate(bi, y[i])) + math.Abs(bi*s.z[i])
	}
	return sum * s.p.Scale[s.k]
}

// gap returns the duality gap of b, z being the scores at its u.
func (s *subproblem) gap(b []float64) float64 {
	y, loss, sum := s.p.Train.Tasks[s.k].Y, s.p.Loss, 0.0
	for i, bi := range b {
		sum += loss.Value(s.z[i], y[i]) + loss.Conjugate(bi, y[i]) + float64(bi*s.z[i])
	}
	return sum * s.p.Scale[s.k]
}

// change returns c X^T (b - a).
func (s *subproblem) change(b, a []float64) []float64 {
	dv := make([]float64, len(s.w))
	task := s.p.Train.Open(s.k)
	defer task.Close()
	for i, bi := range b {
		if bi != a[i] {
			task.X.Axpy(s.p.Scale[s.k]*(bi-a[i]), i, dv)
		}
	}
	return dv
}

// value returns G at b, without its constant and G(0).
func (s *subproblem) value(b []float64) float64 {
	y, loss, sum := s.p.Train.Tasks[s.k].Y, s.p.Loss, 0.0
	for i, bi := range b {
		sum += loss.Conjugate(bi, y[i]) - loss.Conjugate(s.before[i], y[i])
	}
	dv := s.change(b, s.before)
	return float64(sum*s.p.Scale[s.k]) + kernel.Dot(s.w, dv) + float64(0.5*s.curvature*kernel.Dot(dv, dv))
}

// excess returns G(b) - G(best), z being the scores at best's u. Expanded around
// best it is a sum of terms none of which is negative at a minimiser,
//
//	c sum_i loss*(-b_i) - loss*(-best_i) + (b_i - best_i) z_i  +  curvature/2 |c X^T (b - best)|^2,
//
// and so keeps the digits that the difference of two values would lose.
func (s *subproblem) excess(b, best []float64) float64 {
	y, loss, sum := s.p.Train.Tasks[s.k].Y, s.p.Loss, 0.0
	for i, bi := range b {
		if bi != best[i] {
			sum += loss.Conjugate(bi, y[i]) - loss.Conjugate(best[i], y[i]) + float64((bi-best[i])*s.z[i])
		}
	}
	dv := s.change(b, best)
	return float64(sum*s.p.Scale[s.k]) + float64(0.5*s.curvature*kernel.Dot(dv, dv))
}

// minimize returns the minimiser that SDCA approaches from start, and leaves z
// at its scores. It ends when the gap is a 1e-10th of what it gains over before
// or at most least, when a pass moves no row, or when it has not halved during
// half of all passes: what is left of it is rounding then.
func (s *subproblem) minimize(start []float64, least float64) []float64 {
	const patience = 4096 // passes that are too few to tell
	b := append([]float64(nil), start...)
	u := make([]float64, len(s.w))
	var order Order
	passes, mark, lowest, settled := 0, 0, math.Inf(1), false
	for check := 0; ; check++ {
		// From scratch: many small steps would leave their rounding in u.
		copy(u, s.w)
		kernel.Axpy(s.curvature, s.change(b, s.before), u)
		s.scores(u)
		gap := s.gap(b)
		if gap <= lowest/2 {
			lowest, mark = gap, passes
		}
		if gap <= least || gap <= 1e-10*s.excess(s.before, b) || settled || passes-mark > max(patience, passes/2) {
			return b
		}
		order.Reset(len(b), rng.New(0, rng.Reference, s.k, check))
		for range 1 << min(check, 6) {
			passes++
			if settled = s.p.SDCA(s.k, b, u, s.curvature, &order, len(b)) == 0; settled {
				break
			}
		}
	}
}
