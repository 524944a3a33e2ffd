package data

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// twins returns the same random values in both precisions.
func twins(seed uint64, rows, cols int) (single, double Matrix) {
	single, double = NewSingle(rows, cols), NewMatrix(rows, cols)
	s := rng.New(seed, rng.Synthetic, 0, 0)
	for i := range rows {
		for j := range double.Row(i) {
			single.row32(i)[j] = float32(s.Normal())
			double.Row(i)[j] = float64(single.row32(i)[j])
		}
	}
	return single, double
}

// Computing with rows in single precision gives the bits of computing with equal rows in
// double precision.
func TestSinglePrecisionHasTheBitsOfItsValues(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rows, cols := rapid.IntRange(1, 9).Draw(r, "rows"), rapid.IntRange(1, 80).Draw(r, "cols")
		single, double := twins(rapid.Uint64().Draw(r, "seed"), rows, cols)
		row := rapid.IntRange(0, rows-1)
		s := rng.New(1, rng.Solve, rows, cols)
		u, v, space := make([]float64, cols), make([]float64, cols), make([]float64, cols+3)
		for j := range u {
			u[j] = s.Normal()
		}
		copy(v, u)
		for range 20 {
			i, next, near, far := row.Draw(r, "i"), row.Draw(r, "next"), row.Draw(r, "near"), row.Draw(r, "far")-1
			a := s.Normal() * float64(s.IntN(2)) // 0 every other time
			requireBits(r, "step", single.Step(a, i, u, next, near, far), double.Step(a, i, v, next, near, far))
			single.Axpy(a, next, u)
			double.Axpy(a, next, v)
			requireBits(r, "dot", single.Dot(i, u), double.Dot(i, v))
			for j := range u {
				requireBits(r, "u", u[j], v[j])
				requireBits(r, "value", single.Values(i, space)[j], double.Values(i, nil)[j])
			}
		}
	})
}

func requireBits(t *rapid.T, what string, got, want float64) {
	expect.Must(t, math.Float64bits(got) == math.Float64bits(want),
		"%s: %g in single precision, %g in double", what, got, want)
}

// Walks that prefetch have the bits of a dot product, at every row, for each kind of matrix.
func TestWalksHaveTheBitsOfDot(t *testing.T) {
	const rows = 23
	draws := rng.New(4, rng.Synthetic, 0, 0)
	for _, cols := range []int{1, 9, 40, 700, 3000} {
		dense, single := NewMatrix(rows, cols), NewSingle(rows, cols)
		sparse := Matrix{Rows: rows, Cols: cols, Starts: []int{0}}
		u, listed := make([]float64, dense.Stride)[:cols], make([]int32, rows)
		for j := range u {
			u[j] = draws.Normal()
		}
		for i := range rows {
			listed[i] = int32(draws.IntN(rows))
			for j := range cols {
				x := draws.Normal()
				dense.Row(i)[j], single.row32(i)[j] = x, float32(x)
				sparse.Indices, sparse.Nonzeros = append(sparse.Indices, int32(j)), append(sparse.Nonzeros, x)
			}
			sparse.Starts = append(sparse.Starts, len(sparse.Nonzeros))
		}
		for kind, m := range []*Matrix{&dense, &single, &sparse} {
			for i := range rows {
				if got, want := m.DotInOrder(i, u), m.Dot(i, u); got != want {
					t.Errorf("kind %d, row %d of %d columns in order: %v, want %v", kind, i, cols, got, want)
				}
				if got, want := m.DotOf(listed, i, u), m.Dot(int(listed[i]), u); got != want {
					t.Errorf("kind %d, listed row %d of %d columns: %v, want %v", kind, i, cols, got, want)
				}
			}
		}
	}
}
