// Package kernel holds the inner loops of the numerics: the dot product and the
// scaled sum that a coordinate step is made of. It must not know what the
// vectors mean.
package kernel

import "gonum.org/v1/gonum/blas/blas64"

// Dot returns the sum over i of x[i]*y[i]; the lengths must agree.
func Dot(x, y []float64) float64 {
	return blas64.Implementation().Ddot(len(x), x, 1, y, 1)
}

// Axpy adds a*x to y; the lengths must agree.
func Axpy(a float64, x, y []float64) {
	blas64.Implementation().Daxpy(len(x), a, x, 1, y, 1)
}
