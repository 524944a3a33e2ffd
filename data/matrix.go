package data

import (
	"fedsim/internal/tools/hugepage"
	"fedsim/internal/tools/kernel"
)

// Lane is the padding unit of a row of float64, and half of that of float32. Strides are
// multiples of it, so every row starts on a 64-byte boundary of its arena, and kernels
// may read whole vectors past the last feature (the padding is zero).
const Lane = 8

// Matrix is a matrix of Rows rows of Cols features. A dense one is stored row by row in
// one arena: Data, or Single for single precision. Row i starts at element i*Stride. The
// Stride-Cols values after a row are zero. Models are dense in Data.
//
// A sparse matrix has Starts instead, one more than rows: the values of row i that are
// not zero are Nonzeros[Starts[i]:Starts[i+1]], and Indices has their columns, in
// ascending order.
//
// Dot, Axpy, Step, Values and SquaredNorm accept all three. They compute with single
// values as with the equal float64 values, with the same bits, and with the values of a
// sparse row in the order of columns, so that sums are rounded otherwise than those of the
// equal dense row.
//
// A matrix with none of these has no values: its set is not resident. That of a model may have Make
// instead, which writes a row to into whenever it is read: then models of many tasks need not be in
// memory at once. Workers are numbered, and each makes one row at a time.
type Matrix struct {
	Rows, Cols, Stride int
	Data               []float64
	Single             []float32

	Starts   []int
	Indices  []int32
	Nonzeros []float64

	Make func(row, worker int, into []float64)
}

// NewMatrix returns a zero matrix with a padded stride.
func NewMatrix(rows, cols int) Matrix {
	stride := padded(cols, Lane)
	arena := make([]float64, rows*stride)
	hugepage.Prefer(arena)
	return Matrix{Rows: rows, Cols: cols, Stride: stride, Data: arena}
}

// NewSingle is NewMatrix in single precision.
func NewSingle(rows, cols int) Matrix {
	stride := padded(cols, 2*Lane)
	arena := make([]float32, rows*stride)
	hugepage.Prefer(arena)
	return Matrix{Rows: rows, Cols: cols, Stride: stride, Single: arena}
}

// padded returns the least multiple of lane that is at least cols.
func padded(cols, lane int) int { return (cols + lane - 1) / lane * lane }

func newRows(single bool, rows, cols int) Matrix {
	if single {
		return NewSingle(rows, cols)
	}
	return NewMatrix(rows, cols)
}

// Row returns row i, of length Cols; it shares the arena. It panics in single precision.
func (m *Matrix) Row(i int) []float64 {
	return m.Data[i*m.Stride : i*m.Stride+m.Cols : (i+1)*m.Stride]
}

// row32 is Row in single precision.
func (m *Matrix) row32(i int) []float32 {
	return m.Single[i*m.Stride : i*m.Stride+m.Cols : (i+1)*m.Stride]
}

// Values returns row i for reading: Row, or its single or sparse values written to space,
// which must be large enough.
func (m *Matrix) Values(i int, space []float64) []float64 {
	if !m.Dense() {
		return m.scatter(i, space)
	}
	if m.Single == nil {
		return m.Row(i)
	}
	space = space[:m.Cols]
	for j, x := range m.row32(i) {
		space[j] = float64(x)
	}
	return space
}

// Dot returns the dot product of row i and u.
func (m *Matrix) Dot(i int, u []float64) float64 {
	if m.Single != nil {
		return kernel.Dot32(m.row32(i), u)
	}
	if !m.Dense() {
		return m.dotSparse(i, u)
	}
	return kernel.Dot(m.Row(i), u)
}

// Dots sets z[k] to Dot(from+k, u) for all k.
func (m *Matrix) Dots(from int, u, z []float64) {
	switch at := from * m.Stride; {
	case m.Single != nil:
		kernel.Dots32(m.Single[at:], m.Stride, u, z)
	case m.Dense():
		kernel.Dots(m.Data[at:], m.Stride, u, z)
	default:
		for k := range z {
			z[k] = m.dotSparse(from+k, u)
		}
	}
}

// DotsOf sets z[k] to Dot(rows[k], u) for all k.
func (m *Matrix) DotsOf(rows []int32, u, z []float64) {
	switch {
	case m.Single != nil:
		kernel.DotsOf32(m.Single, m.Stride, rows, u, z)
	case m.Dense():
		kernel.DotsOf(m.Data, m.Stride, rows, u, z)
	default:
		for k, i := range rows {
			z[k] = m.dotSparse(int(i), u)
		}
	}
}

// DotInOrder returns Dot(i, u) in a walk over all rows, more than a cache holds, in their order. It
// prefetches a row that the walk needs soon, as the processor itself does too late.
func (m *Matrix) DotInOrder(i int, u []float64) float64 {
	// elements: 18 KB, less than half of the first cache
	const ahead = 2304
	return m.Step(0, i, u, i, min(i+max(1, ahead/max(m.Stride, 1)), m.Rows-1), -1) // sparse rows have no stride
}

// DotOf returns Dot(rows[k], u) in a walk over listed rows, of more than a cache holds. It prefetches
// the next row but one.
func (m *Matrix) DotOf(rows []int32, k int, u []float64) float64 {
	i, near := int(rows[k]), int(rows[min(k+2, len(rows)-1)])
	return m.Step(0, i, u, i, near, -1)
}

// SquaredNorm returns the squared length of row i. space must be large enough for a row.
func (m *Matrix) SquaredNorm(i int, space []float64) float64 {
	if m.Dense() {
		return kernel.SquaredNorm(m.Values(i, space))
	}
	sum := 0.0
	for _, v := range m.Nonzeros[m.Starts[i]:m.Starts[i+1]] {
		sum += float64(v * v)
	}
	return sum
}

// Axpy adds a times row i to u.
func (m *Matrix) Axpy(a float64, i int, u []float64) {
	if m.Single != nil {
		kernel.Axpy32(a, m.row32(i), u)
		return
	}
	if !m.Dense() {
		m.axpySparse(a, i, u)
		return
	}
	kernel.Axpy(a, m.Row(i), u)
}

// AddRows adds a[k] times row rows[k] to u, for one k after another. b is scratch space.
func (m *Matrix) AddRows(a []float64, rows []int32, u []float64, b *Batch) {
	if !m.Dense() {
		for k, i := range rows {
			m.axpySparse(a[k], int(i), u)
		}
		return
	}
	m.Batch(b, rows, nil)
	b.Combine(1, a, 1, u, len(u), true)
}

// Batch is a batch of rows, on which the kernels compute.
type Batch = kernel.Batch

// Batch makes some rows of m those of a batch. Sparse rows are copied to space, which grows
// to a row of Cols values and an index for each.
func (m *Matrix) Batch(b *Batch, rows []int32, space *BatchSpace) {
	b.Cols = m.Cols
	if m.Dense() {
		b.X, b.X32, b.Stride, b.Index = m.Data, m.Single, m.Stride, rows
		return
	}
	if size := len(rows) * m.Cols; len(space.x) < size {
		space.x = make([]float64, size)
	}
	space.index = space.index[:0]
	for i, row := range rows {
		m.Values(int(row), space.x[i*m.Cols:])
		space.index = append(space.index, int32(i))
	}
	b.X, b.X32, b.Stride, b.Index = space.x, nil, m.Cols, space.index
}

// BatchSpace is scratch space for the copies of sparse rows.
type BatchSpace struct {
	x     []float64
	index []int32
}

// Step adds a times row i to u, unless a is 0, and returns the dot product of row next
// and u. It prefetches row near, and row far unless that is negative, of dense rows.
func (m *Matrix) Step(a float64, i int, u []float64, next, near, far int) float64 {
	if m.Single != nil {
		return m.step32(a, i, u, next, near, far)
	}
	if !m.Dense() {
		if a != 0 {
			m.axpySparse(a, i, u)
		}
		return m.dotSparse(next, u)
	}
	var distant *float64
	if far >= 0 {
		distant = &m.Data[far*m.Stride]
	}
	if a == 0 {
		return kernel.DotAhead(m.Row(next), u, &m.Data[near*m.Stride], distant)
	}
	return kernel.AxpyDot(a, m.Row(i), u, m.Row(next), &m.Data[near*m.Stride], distant)
}

// step32 is Step in single precision.
func (m *Matrix) step32(a float64, i int, u []float64, next, near, far int) float64 {
	var distant *float32
	if far >= 0 {
		distant = &m.Single[far*m.Stride]
	}
	if a == 0 {
		return kernel.DotAhead32(m.row32(next), u, &m.Single[near*m.Stride], distant)
	}
	return kernel.AxpyDot32(a, m.row32(i), u, m.row32(next), &m.Single[near*m.Stride], distant)
}

// copyRow sets the first features of row i to a row of another matrix, rounded if only m
// is in single precision.
func (m *Matrix) copyRow(i int, from *Matrix, row int) {
	switch {
	case m.Single == nil:
		copy(m.Row(i), from.Row(row))
	case from.Single != nil:
		copy(m.row32(i), from.row32(row))
	default:
		x := m.row32(i)
		for j, v := range from.Row(row) {
			x[j] = float32(v)
		}
	}
}

// fill sets the features of row i from index from on.
func (m *Matrix) fill(i, from int, v float64) {
	for j := from; j < m.Cols; j++ {
		if m.Single != nil {
			m.row32(i)[j] = float32(v)
		} else {
			m.Row(i)[j] = v
		}
	}
}

func (m *Matrix) hasValues() bool { return m.Data != nil || m.Single != nil }

// Part returns the rows in [from, to) as a matrix that shares the arena.
func (m *Matrix) Part(from, to int) Matrix {
	part := Matrix{Rows: to - from, Cols: m.Cols, Stride: m.Stride}
	if m.Single != nil {
		part.Single = m.Single[from*m.Stride : to*m.Stride : to*m.Stride]
	} else {
		part.Data = m.Data[from*m.Stride : to*m.Stride : to*m.Stride]
	}
	return part
}

// clone returns a copy of the rows.
func (m *Matrix) clone() Matrix {
	c := NewMatrix(m.Rows, m.Cols)
	copy(c.Data, m.Data[:len(c.Data)])
	return c
}
