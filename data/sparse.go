package data

import (
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/internal/tools/state"
)

// sparseBelow is the share of nonzero values below which a set is stored sparse. In the first
// cache, a step takes 0.28, 0.47, 0.98 and 1.97 times that on dense rows at shares of 0.03,
// 0.05, 0.1 and 0.2 (BenchmarkSparse, 1000 features, AVX2), and less with more features.
const sparseBelow = 0.1

// NewSparse returns a sparse matrix without rows.
func NewSparse(cols int) Matrix { return Matrix{Cols: cols, Starts: []int{0}} }

// Dense reports whether the matrix holds all values, in Data or Single, and not only
// those that are not zero.
func (m *Matrix) Dense() bool { return m.Starts == nil }

// Bytes returns the size of the values in memory, in bytes.
func (m *Matrix) Bytes() int {
	return 8*len(m.Data) + 4*len(m.Single) + 12*len(m.Nonzeros) + 8*len(m.Starts)
}

// nonzeros returns the columns and values of a row of a sparse matrix.
func (m *Matrix) nonzeros(i int) ([]int32, []float64) {
	from, to := m.Starts[i], m.Starts[i+1]
	return m.Indices[from:to], m.Nonzeros[from:to]
}

// dotSparse is Dot of a sparse matrix: the products are added in the order of columns.
func (m *Matrix) dotSparse(i int, u []float64) float64 {
	columns, values := m.nonzeros(i)
	u = u[:m.Cols]
	sum := 0.0
	for k, j := range columns {
		sum += float64(values[k] * u[j])
	}
	return sum
}

func (m *Matrix) axpySparse(a float64, i int, u []float64) {
	columns, values := m.nonzeros(i)
	u = u[:m.Cols]
	for k, j := range columns {
		u[j] += float64(a * values[k])
	}
}

// scatter writes a row of a sparse matrix to a dense one.
func (m *Matrix) scatter(i int, dense []float64) []float64 {
	dense = dense[:m.Cols]
	clear(dense)
	columns, values := m.nonzeros(i)
	for k, j := range columns {
		dense[j] = values[k]
	}
	return dense
}

// AppendRow adds a row to a sparse matrix, of columns in ascending order.
func (m *Matrix) AppendRow(columns []int32, values []float64) {
	m.Indices = append(m.Indices, columns...)
	m.Nonzeros = append(m.Nonzeros, values...)
	m.Starts = append(m.Starts, len(m.Nonzeros))
	m.Rows++
}

func (m *Matrix) pick(rows []int32) Matrix {
	values := 0
	for _, i := range rows {
		values += m.Starts[i+1] - m.Starts[i]
	}
	p := Matrix{Cols: m.Cols, Starts: make([]int, 1, len(rows)+1), Indices: make([]int32, 0, values),
		Nonzeros: make([]float64, 0, values)}
	for _, i := range rows {
		p.AppendRow(m.nonzeros(int(i)))
	}
	return p
}

// withOnes returns a sparse matrix with a further column of ones.
func (m *Matrix) withOnes() Matrix {
	wide := NewSparse(m.Cols + 1)
	wide.Starts = slices.Grow(wide.Starts, m.Rows)
	wide.Indices, wide.Nonzeros = make([]int32, 0, len(m.Indices)+m.Rows), make([]float64, 0, len(m.Nonzeros)+m.Rows)
	for i := range m.Rows {
		columns, values := m.nonzeros(i)
		wide.Indices, wide.Nonzeros = append(wide.Indices, columns...), append(wide.Nonzeros, values...)
		wide.AppendRow([]int32{int32(m.Cols)}, []float64{1})
	}
	return wide
}

// digest encodes a sparse matrix.
func (m *Matrix) digest(c *state.Coder) {
	for i := range m.Starts {
		c.Int(&m.Starts[i])
	}
	for i := range m.Indices {
		column := int(m.Indices[i])
		c.Int(&column)
	}
	c.Float64s(m.Nonzeros)
}

// sparse reports whether the rows of the set are sparse.
func (s *Set) sparse() bool { return len(s.Clients) > 0 && !s.Clients[0].X.Dense() }

// Settle ends the reading of sparse rows: it gives the set its number of features, makes the rows
// dense if they have few zeros, and sorts clients by number if all their names are whole numbers.
func (s *Set) Settle(features int) {
	s.orderTasks()
	values := 0
	for t := range s.Clients {
		s.Clients[t].X.Cols = features
		values += len(s.Clients[t].X.Nonzeros)
	}
	s.Features = features
	if float64(values) < sparseBelow*float64(s.Rows())*float64(features) {
		return
	}
	for t := range s.Clients {
		x := &s.Clients[t].X
		dense := NewMatrix(x.Rows, features)
		for i := range x.Rows {
			x.scatter(i, dense.Row(i))
		}
		s.Clients[t].X = dense
	}
}

// requireDense returns a config.Problem for keys of the configuration that cannot be used
// with sparse rows.
func (c *Config) requireDense(set *Set) error {
	if !set.sparse() {
		return nil
	}
	if c.Standardize {
		return config.Problem{Key: "data.standardize", Value: true, Want: fmt.Sprintf(
			"must be false: the rows of %s are sparse, and subtracting means would fill their zeros; "+
				"scale the features in the file instead", set.Name)}
	}
	if c.single() {
		return config.Problem{Key: "data.precision", Value: c.Precision, Want: fmt.Sprintf(
			"must be %q: the rows of %s are sparse, and sparse values are in that precision", PrecisionDouble,
			set.Name)}
	}
	return nil
}
