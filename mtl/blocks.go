package mtl

import (
	"fedsim/data"
	"fedsim/internal/kernel"
)

// blocks cuts the rows of a matrix into consecutive ranges, which depend on its
// size alone: sums that are taken range by range, then over the ranges in order,
// have the same bits for any number of workers.
type blocks struct{ rows, count int }

// cut returns ranges of at least so many rows, or one of all.
func cut(rows, least int) blocks { return blocks{rows, max(1, rows/least)} }

// at returns the rows of range i, from <= t < to.
func (b blocks) at(i int) (from, to int) { return i * b.rows / b.count, (i + 1) * b.rows / b.count }

// rowsOf returns rows from <= t < to of m, which share its arena.
func rowsOf(m *data.Matrix, from, to int) data.Matrix {
	return data.Matrix{Rows: to - from, Cols: m.Cols, Stride: m.Stride, Data: m.Data[from*m.Stride : to*m.Stride]}
}

// addProduct adds A B to C.
func addProduct(c, a, b *data.Matrix) {
	for i := range a.Rows {
		row := c.Row(i)
		for k, x := range a.Row(i) {
			kernel.Axpy(x, b.Row(k), row)
		}
	}
}

// addTransposed adds A^T B to C.
func addTransposed(c, a, b *data.Matrix) {
	for i := range a.Rows {
		row := b.Row(i)
		for k, x := range a.Row(i) {
			kernel.Axpy(x, row, c.Row(k))
		}
	}
}
