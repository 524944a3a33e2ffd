package linalg

import (
	"cmp"
	"math"
	"slices"

	"fedsim/internal/tools/kernel"
)

// Eigen returns the eigenvalues of the symmetric n x n matrix with the lower triangle in
// a, in ascending order, each to within a few units in the last place of the largest.
// With vectors, row k of a becomes the eigenvector of value k, of length 1; otherwise a
// is overwritten. ok is false if an entry is not finite. No other failure is known.
//
// The matrix is made tridiagonal by Householder reflections, then diagonal by QL
// iterations with implicit shifts (Golub and Van Loan, Matrix Computations, sections
// 8.3.1 and 8.3.3).
func Eigen(n int, a []float64, vectors bool) (values []float64, ok bool) {
	exponent, ok := finite(a)
	if !ok {
		return nil, false
	}
	if exponent < -900 || exponent > 900 { // squares must neither overflow nor underflow to zero
		scale(a, -exponent)
	} else {
		exponent = 0
	}
	t := tridiagonalize(rows(n, n, a))
	var z [][]float64
	if vectors {
		z = t.vectors()
	}
	if !t.diagonalize(z) {
		return nil, false
	}
	scale(t.d, exponent)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(t.d[i], t.d[j]) })
	values = make([]float64, n)
	for k, i := range order {
		values[k] = t.d[i]
		if vectors {
			copy(a[k*n:(k+1)*n], z[i])
		}
	}
	return values, true
}

// tridiagonal is Q^T A Q with the diagonal d and the off-diagonal e, e[i] between i and
// i+1. Q is the product of reflections I - tau_i v_i v_i^T for i from n-1 down to 1,
// where v_i has i entries.
type tridiagonal struct {
	d, e, tau []float64
	v         [][]float64
}

// tridiagonalize overwrites the lower triangle.
func tridiagonalize(a [][]float64) *tridiagonal {
	n := len(a)
	t := &tridiagonal{d: make([]float64, n), e: make([]float64, n), tau: make([]float64, n), v: a}
	w := make([]float64, n)
	for i := n - 1; i >= 1; i-- {
		v := a[i][:i]
		alpha := v[i-1]
		t.e[i-1] = alpha
		rest := norm2(v[:i-1])
		if rest == 0 {
			continue
		}
		beta := -math.Copysign(math.Sqrt(float64(alpha*alpha)+rest), alpha)
		t.e[i-1], t.tau[i] = beta, (beta-alpha)/beta
		divide(v[:i-1], alpha-beta)
		v[i-1] = 1
		// w = tau A v minus the term that makes A - v w^T - w v^T the product from both
		// sides.
		w := w[:i]
		clear(w)
		for j, vj := range v {
			w[j] += kernel.Dot(a[j][:j], v[:j]) + float64(a[j][j]*vj)
			kernel.Axpy(vj, a[j][:j], w[:j])
		}
		for j := range w {
			w[j] *= t.tau[i]
		}
		kernel.Axpy(-0.5*t.tau[i]*kernel.Dot(w, v), v, w)
		for j := range v {
			kernel.Axpy(-v[j], w[:j+1], a[j][:j+1])
			kernel.Axpy(-w[j], v[:j+1], a[j][:j+1])
		}
	}
	for i := range n {
		t.d[i] = a[i][i]
	}
	return t
}

// vectors returns Q^T.
func (t *tridiagonal) vectors() [][]float64 {
	n := len(t.d)
	z := rows(n, n, make([]float64, n*n))
	for k := range z {
		z[k][k] = 1
		for i := k + 1; i < n; i++ {
			if v := t.v[i][:i]; t.tau[i] != 0 {
				kernel.Axpy(-t.tau[i]*kernel.Dot(v, z[k][:i]), v, z[k][:i])
			}
		}
	}
	return z
}

// diagonalize reduces e to 0 and d to the eigenvalues. It applies the rotations to the
// rows of z, unless z is nil. It reports whether the iterations converged.
func (t *tridiagonal) diagonalize(z [][]float64) bool {
	d, e := t.d, t.e
	for l := range d {
		for iterations := 0; ; iterations++ {
			m := l
			for m < len(d)-1 && math.Abs(e[m]) > epsilon*(math.Abs(d[m])+math.Abs(d[m+1])) {
				m++
			}
			if m == l {
				break
			}
			if iterations == 60 { // fewer than two are usual
				return false
			}
			t.step(l, m, z)
		}
	}
	return true
}

// step is one QL iteration on rows l to m.
func (t *tridiagonal) step(l, m int, z [][]float64) {
	d, e := t.d, t.e
	g := (d[l+1] - d[l]) / (2 * e[l])
	g = d[m] - d[l] + e[l]/(g+math.Copysign(hypot(g, 1), g))
	s, c, p := 1.0, 1.0, 0.0
	for i := m - 1; i >= l; i-- {
		f, b := float64(s*e[i]), float64(c*e[i])
		r := hypot(f, g)
		e[i+1] = r
		if r == 0 {
			d[i+1] -= p
			e[m] = 0
			return
		}
		s, c = f/r, g/r
		g = d[i+1] - p
		r = float64((d[i]-g)*s) + float64(2*c*b)
		p = float64(s * r)
		d[i+1] = g + p
		g = float64(c*r) - b
		if z != nil {
			kernel.Rotate(c, s, z[i], z[i+1])
		}
	}
	d[l] -= p
	e[l] = g
	e[m] = 0
}
