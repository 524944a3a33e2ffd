package linalg

import (
	"cmp"
	"math"
	"slices"

	"fedsim/internal/tools/kernel"
)

// Singular returns the singular values of the n x n matrix whose columns are the rows of
// a, in descending order. Row k of a becomes its left vector of value k, of length 1, or
// 0 for a value of 0. Entries must be at most 1e100 in size, and columns shorter than
// 1e-130 count as orthogonal to the others. ok reports convergence, which only fails if
// an entry is not finite.
//
// Rotations make the rows orthogonal (one-sided Jacobi, Hestenes 1958). This computes
// small values to as many digits as the scaling of the columns allows (Demmel and
// Veselic, SIAM J. Matrix Anal. Appl. 13, 1992).
func Singular(n int, a []float64) (values []float64, ok bool) {
	if _, ok := finite(a); !ok {
		return nil, false
	}
	columns := make([]column, n)
	for i, row := range rows(n, n, a) {
		columns[i].row = row
	}
	const sweeps = 60 // about eight are usual
	for range sweeps {
		sortColumns(columns)
		if rotateColumns(columns) {
			continue
		}
		values = make([]float64, n)
		left := make([]float64, 0, n*n)
		for k, c := range columns {
			values[k] = math.Sqrt(c.size)
			if values[k] > 0 {
				divide(c.row, values[k])
			}
			left = append(left, c.row...)
		}
		copy(a, left)
		return values, true
	}
	return nil, false
}

// column is a column of a matrix, in a row of memory.
type column struct {
	row  []float64
	size float64 // squared
}

// sortColumns measures and sorts the columns, the largest first: this takes fewer sweeps (de Rijk,
// SIAM J. Sci. Stat. Comput. 10, 1989).
func sortColumns(columns []column) {
	for i := range columns {
		columns[i].size = norm2(columns[i].row)
	}
	slices.SortStableFunc(columns, func(x, y column) int { return cmp.Compare(y.size, x.size) })
}

// rotateColumns makes a sweep over all pairs of columns, and reports whether it rotated any.
func rotateColumns(columns []column) (rotated bool) {
	orthogonal := float64(epsilon * math.Sqrt(float64(len(columns))))
	const tiny = 1e-260 // squares of smaller numbers lose digits
	for i := range columns {
		x := &columns[i]
		for j := i + 1; j < len(columns); j++ {
			y := &columns[j]
			product := kernel.Dot(x.row, y.row)
			if y.size < tiny || !(math.Abs(product) > float64(orthogonal*math.Sqrt(x.size))*math.Sqrt(y.size)) {
				continue
			}
			rotated = true
			ratio := (y.size - x.size) / (2 * product)
			tangent := math.Copysign(1, ratio) / (math.Abs(ratio) + math.Sqrt(1+float64(ratio*ratio)))
			cosine := 1 / math.Sqrt(1+float64(tangent*tangent))
			kernel.Rotate(cosine, cosine*tangent, x.row, y.row)
			change := float64(tangent * product)
			x.size = max(0, x.size-change)
			y.size += change
		}
	}
	return rotated
}
