// Package lasso solves the lasso of a positive definite matrix, exact up to rounding.
package lasso

import "math"

// Solver solves min over w of 1/2 w A w^T - v w + l1 |w|_1 for a positive
// definite m x m matrix A, exact up to rounding. Passes of coordinate descent
// find the nonzero entries and their signs. For these the solution is that of a linear
// system. Solve does not allocate.
type Solver struct {
	A       []float64 // A, row by row
	l1      float64
	W, AW   []float64 // the solution w, and A w
	v       []float64
	support []int     // where w is not zero
	sign    []float64 // of w on the support
	root    []float64 // Cholesky factor of A on the support, row by row
	full    []float64 // the solution of the linear system
	pattern []int8    // signs of w after the last polish
}

// New returns the solver for A, given row by row, of m variables.
func New(a []float64, m int, l1 float64) *Solver {
	arena := make([]float64, m*m+5*m)
	s := &Solver{A: a, l1: l1, support: make([]int, 0, m), pattern: make([]int8, m)}
	for _, part := range []*[]float64{&s.v, &s.W, &s.AW, &s.full, &s.sign} {
		*part, arena = arena[:m:m], arena[m:]
	}
	s.root = arena
	return s
}

// softThreshold returns the minimizer b of 1/2 (b-x)^2 + t |b|.
func softThreshold(x, t float64) float64 {
	switch {
	case x > t:
		return x - t
	case x < -t:
		return x + t
	}
	return 0
}

// solve computes s.W, the solution for the v whose entries are every stride-th of the
// column.
//
// A pass of coordinate descent lowers the objective unless all optimality conditions hold.
// polish then moves w to the minimizer for the signs of the pass, or toward it until an
// entry becomes zero. The signs of such a minimizer repeat only when it is optimal, so the
// loop ends, in practice after a few passes.
func (s *Solver) Solve(column []float64, stride int) {
	most := 0.0
	for t := range s.v {
		s.v[t] = column[t*stride]
		most = math.Max(most, math.Abs(s.v[t]))
	}
	clear(s.W)
	s.support = s.support[:0]
	if most <= s.l1 {
		return
	}
	clear(s.AW)
	clear(s.pattern)
	tolerance := 1e-15 * (most + s.l1)
	const limit = 1000 // ends the loop for values that are not finite
	for range limit {
		if !s.pass(tolerance) {
			return
		}
		for s.polish() {
		}
		if s.settled() {
			return
		}
		s.Multiply()
	}
}

// settled reports whether w has the same signs as in the last call.
func (s *Solver) settled() bool {
	same := true
	for i, x := range s.W {
		var sign int8
		switch {
		case x > 0:
			sign = 1
		case x < 0:
			sign = -1
		}
		same = same && sign == s.pattern[i]
		s.pattern[i] = sign
	}
	return same
}

// pass makes one pass of coordinate descent over the entries whose optimality
// condition is violated by more than the tolerance, and reports whether there
// was any.
func (s *Solver) pass(tolerance float64) (moved bool) {
	m := len(s.W)
	for i, old := range s.W {
		row := s.A[i*m : (i+1)*m]
		next := softThreshold(s.v[i]-s.AW[i]+float64(row[i]*old), s.l1) / row[i]
		change := next - old
		if math.Abs(change)*row[i] <= tolerance {
			continue
		}
		moved = true
		s.W[i] = next
		for k, a := range row {
			s.AW[k] += float64(a * change)
		}
	}
	return moved
}

// Multiply sets aw = A w, given the support.
func (s *Solver) Multiply() {
	m := len(s.W)
	clear(s.AW)
	for _, i := range s.support {
		for k, a := range s.A[i*m : (i+1)*m] {
			s.AW[k] += float64(a * s.W[i])
		}
	}
}

// polish moves w to the minimizer among all w with its signs, or toward it
// until an entry becomes zero, which it reports by true.
func (s *Solver) polish() bool {
	s.support = s.support[:0]
	for i, x := range s.W {
		if x != 0 {
			s.sign[len(s.support)] = math.Copysign(1, x)
			s.support = append(s.support, i)
		}
	}
	s.factorize()
	// A_SS full = v_S - l1 sign, forward and back.
	n := len(s.support)
	for r, i := range s.support {
		x := s.v[i] - float64(s.l1*s.sign[r])
		for c := range r {
			x -= float64(s.root[r*n+c] * s.full[c])
		}
		s.full[r] = x / s.root[r*n+r]
	}
	for r := n - 1; r >= 0; r-- {
		x := s.full[r]
		for c := r + 1; c < n; c++ {
			x -= float64(s.root[c*n+r] * s.full[c])
		}
		s.full[r] = x / s.root[r*n+r]
	}
	length, crossed := 1.0, -1
	for r, i := range s.support {
		if s.full[r]*s.sign[r] > 0 {
			continue
		}
		if to := s.W[i] / (s.W[i] - s.full[r]); to < length || crossed < 0 {
			length, crossed = to, i
		}
	}
	for r, i := range s.support {
		if crossed < 0 {
			s.W[i] = s.full[r]
			continue
		}
		s.W[i] += float64(length * (s.full[r] - s.W[i]))
		if i == crossed || s.W[i]*s.sign[r] < 0 { // others may cross with it by rounding
			s.W[i] = 0
		}
	}
	return crossed >= 0
}

// factorize sets root to the Cholesky factor of A on the support.
func (s *Solver) factorize() {
	m, n := len(s.W), len(s.support)
	for r, i := range s.support {
		for c, j := range s.support[:r+1] {
			x := s.A[i*m+j]
			for k := range c {
				x -= float64(s.root[r*n+k] * s.root[c*n+k])
			}
			if r == c {
				s.root[r*n+r] = math.Sqrt(x)
			} else {
				s.root[r*n+c] = x / s.root[c*n+c]
			}
		}
	}
}
