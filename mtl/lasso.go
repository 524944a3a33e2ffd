package mtl

import "math"

// lasso solves min over w of 1/2 w A w^T - v w + l1 |w|_1 for a positive
// definite m x m matrix A, exact up to rounding. Passes of coordinate descent
// find the nonzero entries and their signs. For these the solution is that of a linear
// system. solve does not allocate.
type lasso struct {
	a        []float64 // A, row by row
	l1       float64
	v, w, aw []float64 // aw = A w
	support  []int     // where w is not zero
	sign     []float64 // of w on the support
	root     []float64 // Cholesky factor of A on the support, row by row
	full     []float64 // the solution of the linear system
	pattern  []int8    // signs of w after the last polish
}

// newLasso returns the solver for A, given row by row, of m variables.
func newLasso(a []float64, m int, l1 float64) *lasso {
	arena := make([]float64, m*m+5*m)
	l := &lasso{a: a, l1: l1, support: make([]int, 0, m), pattern: make([]int8, m)}
	for _, part := range []*[]float64{&l.v, &l.w, &l.aw, &l.full, &l.sign} {
		*part, arena = arena[:m:m], arena[m:]
	}
	l.root = arena
	return l
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

// solve computes l.w, the solution for the v whose entries are every stride-th of the
// column.
//
// A pass of coordinate descent lowers the objective unless all optimality conditions hold.
// polish then moves w to the minimizer for the signs of the pass, or toward it until an
// entry becomes zero. The signs of such a minimizer repeat only when it is optimal, so the
// loop ends, in practice after a few passes.
func (l *lasso) solve(column []float64, stride int) {
	most := 0.0
	for t := range l.v {
		l.v[t] = column[t*stride]
		most = math.Max(most, math.Abs(l.v[t]))
	}
	clear(l.w)
	l.support = l.support[:0]
	if most <= l.l1 {
		return
	}
	clear(l.aw)
	clear(l.pattern)
	tolerance := 1e-15 * (most + l.l1)
	const limit = 1000 // ends the loop for values that are not finite
	for range limit {
		if !l.pass(tolerance) {
			return
		}
		for l.polish() {
		}
		if l.settled() {
			return
		}
		l.multiply()
	}
}

// settled reports whether w has the same signs as in the last call.
func (l *lasso) settled() bool {
	same := true
	for i, x := range l.w {
		var sign int8
		switch {
		case x > 0:
			sign = 1
		case x < 0:
			sign = -1
		}
		same = same && sign == l.pattern[i]
		l.pattern[i] = sign
	}
	return same
}

// pass makes one pass of coordinate descent over the entries whose optimality
// condition is violated by more than the tolerance, and reports whether there
// was any.
func (l *lasso) pass(tolerance float64) (moved bool) {
	m := len(l.w)
	for i, old := range l.w {
		row := l.a[i*m : (i+1)*m]
		next := softThreshold(l.v[i]-l.aw[i]+float64(row[i]*old), l.l1) / row[i]
		change := next - old
		if math.Abs(change)*row[i] <= tolerance {
			continue
		}
		moved = true
		l.w[i] = next
		for k, a := range row {
			l.aw[k] += float64(a * change)
		}
	}
	return moved
}

// multiply sets aw = A w, given the support.
func (l *lasso) multiply() {
	m := len(l.w)
	clear(l.aw)
	for _, i := range l.support {
		for k, a := range l.a[i*m : (i+1)*m] {
			l.aw[k] += float64(a * l.w[i])
		}
	}
}

// polish moves w to the minimizer among all w with its signs, or toward it
// until an entry becomes zero, which it reports by true.
func (l *lasso) polish() bool {
	l.support = l.support[:0]
	for i, x := range l.w {
		if x != 0 {
			l.sign[len(l.support)] = math.Copysign(1, x)
			l.support = append(l.support, i)
		}
	}
	l.factorize()
	// A_SS full = v_S - l1 sign, forward and back.
	n := len(l.support)
	for r, i := range l.support {
		x := l.v[i] - float64(l.l1*l.sign[r])
		for c := range r {
			x -= float64(l.root[r*n+c] * l.full[c])
		}
		l.full[r] = x / l.root[r*n+r]
	}
	for r := n - 1; r >= 0; r-- {
		x := l.full[r]
		for c := r + 1; c < n; c++ {
			x -= float64(l.root[c*n+r] * l.full[c])
		}
		l.full[r] = x / l.root[r*n+r]
	}
	length, crossed := 1.0, -1
	for r, i := range l.support {
		if l.full[r]*l.sign[r] > 0 {
			continue
		}
		if to := l.w[i] / (l.w[i] - l.full[r]); to < length || crossed < 0 {
			length, crossed = to, i
		}
	}
	for r, i := range l.support {
		if crossed < 0 {
			l.w[i] = l.full[r]
			continue
		}
		l.w[i] += float64(length * (l.full[r] - l.w[i]))
		if i == crossed || l.w[i]*l.sign[r] < 0 { // others may cross with it by rounding
			l.w[i] = 0
		}
	}
	return crossed >= 0
}

// factorize sets root to the Cholesky factor of A on the support.
func (l *lasso) factorize() {
	m, n := len(l.w), len(l.support)
	for r, i := range l.support {
		for c, j := range l.support[:r+1] {
			x := l.a[i*m+j]
			for k := range c {
				x -= float64(l.root[r*n+k] * l.root[c*n+k])
			}
			if r == c {
				l.root[r*n+r] = math.Sqrt(x)
			} else {
				l.root[r*n+c] = x / l.root[c*n+c]
			}
		}
	}
}
