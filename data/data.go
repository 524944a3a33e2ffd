// Package data holds federated data sets: one task per device, each with its
// own rows. It owns the formats, the importers, the generators, the split into
// training and test rows and the preparation of features.
//
// It must not know of losses, models, devices, links or time.
package data

import "fedsim/internal/kernel"

// Lane is the padding unit of a row: strides are multiples of it, so that every
// row starts on a 64-byte boundary of its arena and kernels may read whole
// vectors past the last feature (the padding is zero).
const Lane = 8

// Matrix is a dense matrix of Rows rows of Cols features, stored row by row in
// one arena. Row i starts at Data[i*Stride]; the Stride-Cols values behind a
// row are zero.
type Matrix struct {
	Rows, Cols, Stride int
	Data               []float64
}

// NewMatrix returns a zero matrix with a padded stride.
func NewMatrix(rows, cols int) Matrix {
	stride := (cols + Lane - 1) / Lane * Lane
	return Matrix{Rows: rows, Cols: cols, Stride: stride, Data: make([]float64, rows*stride)}
}

// Row returns row i, of length Cols; it shares the arena.
func (m *Matrix) Row(i int) []float64 {
	return m.Data[i*m.Stride : i*m.Stride+m.Cols : (i+1)*m.Stride]
}

// Step adds a times row i to u, unless a is 0, and returns the dot product of
// row next and u. Meanwhile it fetches row near, and row far unless that is
// negative.
func (m *Matrix) Step(a float64, i int, u []float64, next, near, far int) float64 {
	var distant *float64
	if far >= 0 {
		distant = &m.Data[far*m.Stride]
	}
	if a == 0 {
		return kernel.DotAhead(m.Row(next), u, &m.Data[near*m.Stride], distant)
	}
	return kernel.AxpyDot(a, m.Row(i), u, m.Row(next), &m.Data[near*m.Stride], distant)
}

// rows returns the rows in [from, to) as a matrix that shares the arena.
func (m *Matrix) rows(from, to int) Matrix {
	return Matrix{Rows: to - from, Cols: m.Cols, Stride: m.Stride, Data: m.Data[from*m.Stride : to*m.Stride : to*m.Stride]}
}

// clone returns a copy of the rows.
func (m *Matrix) clone() Matrix {
	c := NewMatrix(m.Rows, m.Cols)
	copy(c.Data, m.Data[:len(c.Data)])
	return c
}

// Task is the data of one device: X has one row per example, Y its label (-1 or
// +1) or its real target.
type Task struct {
	Name string
	X    Matrix
	Y    []float64
}

// Set is a federated data set. Every task has the same number of features.
type Set struct {
	Name         string
	Features     int
	FeatureNames []string // empty when the source names none
	Tasks        []Task   // one for each device, see Open; several may belong to one task, see Owner
	// Owner is the task that each element of Tasks belongs to when several
	// devices share tasks (paper, remark 4): numbers from 0 up without a gap. It
	// is nil when every device has a task of its own.
	Owner     []int
	Real      bool // targets are real numbers, not classes
	Generated bool // made by a generator, not measured
	// remake makes rows that are not kept: the Matrices of Tasks then have no Data.
	remake *remaker
}

// TaskOf returns the task of a device.
func (s *Set) TaskOf(device int) int {
	if s.Owner == nil {
		return device
	}
	return s.Owner[device]
}

// Rows returns the number of examples over all tasks.
func (s *Set) Rows() int {
	n := 0
	for t := range s.Tasks {
		n += s.Tasks[t].X.Rows
	}
	return n
}
