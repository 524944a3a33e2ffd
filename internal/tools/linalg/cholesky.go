package linalg

import (
	"math"

	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/kernel"
)

// Cholesky is the factor L of a symmetric positive definite matrix, A = L L^T.
type Cholesky struct{ l [][]float64 } // row i has i+1 entries

// NewCholesky decomposes the n x n matrix with the lower triangle in a, which does not
// change. It reports whether the matrix is positive definite to working precision.
func NewCholesky(n int, a []float64) (Cholesky, bool) {
	l := make([][]float64, n)
	values := make([]float64, n*(n+1)/2)
	for i := range l {
		l[i], values = values[:i+1:i+1], values[i+1:]
		for j := range i {
			l[i][j] = (a[i*n+j] - kernel.Dot(l[i][:j], l[j][:j])) / l[j][j]
		}
		pivot := a[i*n+i] - norm2(l[i][:i])
		if !(pivot > 0) || math.IsInf(pivot, 1) {
			return Cholesky{}, false
		}
		l[i][i] = math.Sqrt(pivot)
	}
	return Cholesky{l}, true
}

// Solve sets X = A^-1 X for an X with a number of columns. Row i starts at x[i*stride].
func (c Cholesky) Solve(x []float64, columns, stride int) {
	row := func(i int) []float64 { return x[i*stride:][:columns] }
	for i, l := range c.l {
		to := row(i)
		for j, factor := range l[:i] {
			kernel.Axpy(-factor, row(j), to)
		}
		divide(to, l[i])
	}
	for i := len(c.l) - 1; i >= 0; i-- {
		from, l := row(i), c.l[i]
		divide(from, l[i])
		for j, factor := range l[:i] {
			kernel.Axpy(-factor, from, row(j))
		}
	}
}

func divide(x []float64, by float64) {
	for i := range x {
		x[i] /= by
	}
}

// Inverse returns A^-1, whose two triangles are equal.
func (c Cholesky) Inverse() []float64 {
	n := len(c.l)
	lower := rows(n, n, make([]float64, n*n)) // L^-1
	for i, l := range c.l {
		for j, factor := range l[:i] {
			kernel.Axpy(-factor, lower[j][:j+1], lower[i][:j+1])
		}
		divide(lower[i][:i], l[i])
		lower[i][i] = 1 / l[i]
	}
	a := make([]float64, n*n)
	for k, l := range lower {
		for i := range k + 1 {
			kernel.Axpy(l[i], l[:i+1], a[i*n:][:i+1])
		}
	}
	for i := range n {
		for j := range i {
			a[j*n+i] = a[i*n+j]
		}
	}
	return a
}

// LogDet returns the logarithm of the determinant.
func (c Cholesky) LogDet() float64 {
	sum := 0.0
	for i, l := range c.l {
		sum += elementary.Log(l[i])
	}
	return 2 * sum
}
