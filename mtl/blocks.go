package mtl

import (
	"fedsim/data"
	"fedsim/internal/tools/kernel"
)

// blocks divides the rows of a matrix into consecutive ranges that depend only on its size.
// Sums over each range, then over the ranges in order, have the same bits for any number of
// workers.
type blocks struct{ rows, count int }

// cut returns ranges of at least the given number of rows, or one range of all rows.
func cut(rows, least int) blocks { return blocks{rows, max(1, rows/least)} }

// at returns the rows of range i, from <= t < to.
func (b blocks) at(i int) (from, to int) { return i * b.rows / b.count, (i + 1) * b.rows / b.count }

// rowsOf returns rows from <= t < to of m, which share its arena.
func rowsOf(m *data.Matrix, from, to int) data.Matrix {
	return data.Matrix{Rows: to - from, Cols: m.Cols, Stride: m.Stride, Data: m.Data[from*m.Stride : to*m.Stride]}
}

// product sets C = A B, each element summed in the order of the inner index.
func product(c, a, b *data.Matrix) {
	kernel.Gemm(c.Rows, c.Cols, a.Cols, a.Data, a.Stride, b.Data, b.Stride, c.Data, c.Stride)
}

// crossed accumulates A^T diag(weights) B over blocks of crossedRows rows. Each worker has
// its own crossed.
type crossed struct{ transposed, part data.Matrix }

// crossedRows is the number of rows of a block.
const crossedRows = 256

// newCrossed returns scratch for p columns of A and q of B.
func newCrossed(p, q int) *crossed {
	return &crossed{data.NewMatrix(p, crossedRows), data.NewMatrix(p, q)}
}

// add adds A^T diag(weights) B to C; no weights are all 1.
func (cr *crossed) add(c, a, b *data.Matrix, weights []float64) {
	for from := 0; from < a.Rows; from += crossedRows {
		to := min(from+crossedRows, a.Rows)
		left, rows := rowsOf(a, from, to), rowsOf(b, from, to)
		if weights == nil {
			transpose(&cr.transposed, &left, nil)
		} else {
			transpose(&cr.transposed, &left, weights[from:to])
		}
		product(&cr.part, &cr.transposed, &rows)
		for k := range c.Rows {
			kernel.Axpy(1, cr.part.Row(k), c.Row(k))
		}
	}
}

// transpose sets dst, which has room for more columns, to A^T diag(weights); no
// weights are all 1.
func transpose(dst, a *data.Matrix, weights []float64) {
	dst.Cols = a.Rows
	for t := range a.Rows {
		weight := 1.0
		if weights != nil {
			weight = weights[t]
		}
		for k, x := range a.Row(t) {
			dst.Data[k*dst.Stride+t] = weight * x
		}
	}
}
