// Package linalg decomposes dense matrices with the same bits on every platform. It uses
// the canonical sums of internal/tools/kernel and rounds every product before adding it.
// gonum's loops are in assembly on one architecture and fused on others.
//
// Matrices are row-major slices without gaps between rows. The package must not know
// their meaning.
package linalg

import (
	"math"

	"fedsim/internal/tools/kernel"
)

// epsilon is the distance from 1 to the next number.
const epsilon = 0x1p-52

// finite reports whether no entry is NaN or infinite, and returns the exponent of a
// power of two near the largest.
func finite(a []float64) (exponent int, ok bool) {
	most := 0.0
	for _, x := range a {
		most = max(most, math.Abs(x)) // preserves NaN
	}
	_, exponent = math.Frexp(most)
	return exponent, most <= math.MaxFloat64
}

// scale multiplies all entries by 2^exponent.
func scale(a []float64, exponent int) {
	if exponent == 0 {
		return
	}
	for i, x := range a {
		a[i] = math.Ldexp(x, exponent)
	}
}

// rows returns the rows of a matrix.
func rows(n, cols int, a []float64) [][]float64 {
	r := make([][]float64, n)
	for i := range r {
		r[i] = a[i*cols : (i+1)*cols]
	}
	return r
}

// hypot returns sqrt(x^2 + y^2) without overflow.
func hypot(x, y float64) float64 {
	x, y = math.Abs(x), math.Abs(y)
	if x < y {
		x, y = y, x
	}
	if y == 0 {
		return x
	}
	r := y / x
	return float64(x * math.Sqrt(1+float64(r*r)))
}

// norm2 returns the squared length of x.
func norm2(x []float64) float64 { return kernel.Dot(x, x) }
