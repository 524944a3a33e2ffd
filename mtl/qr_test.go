package mtl

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/parallel"
)

// tall returns matrices with more rows than columns. Their rows make one block or several.
// The triangles of the largest make several blocks again; -short leaves these out, except
// one with few columns.
func tall() map[string]data.Matrix {
	cases := map[string]data.Matrix{}
	sizes := [][2]int{{2, 1}, {9, 8}, {40, 3}, {401, 1}, {799, 7}, {800, 7}, {803, 50}, {6000, 40}, {12_000, 20}}
	if testing.Short() {
		sizes = append(sizes[:6], [2]int{6000, 5})
	}
	for _, size := range sizes {
		cases[fmt.Sprintf("%d x %d", size[0], size[1])] = randomMatrix(uint64(size[0]), size[0], size[1])
	}
	zero := data.NewMatrix(900, 4)
	cases["zero"] = zero
	gaps := randomMatrix(3, 900, 5) // zero columns first, last and between, and a block of zero rows
	for t := range gaps.Rows {
		gaps.Row(t)[0], gaps.Row(t)[2], gaps.Row(t)[4] = 0, 0, 0
		if t < 450 {
			clear(gaps.Row(t))
		}
	}
	cases["gaps"] = gaps
	equal := randomMatrix(4, 900, 6)
	for t := range equal.Rows {
		equal.Row(t)[5] = equal.Row(t)[1]
		copy(equal.Row(t), equal.Row(t%7))
	}
	cases["equal rows and columns"] = equal
	graded := randomMatrix(5, 900, 6)
	for t := range graded.Rows {
		for j := range graded.Row(t) {
			graded.Row(t)[j] *= math.Pow(10, -4*float64(j)) * math.Pow(10, -float64(t%9))
		}
	}
	cases["graded"] = graded
	one := data.NewMatrix(900, 3)
	one.Row(899)[1] = -2
	cases["one entry"] = one
	return cases
}

func eye(n int) data.Matrix {
	z := data.NewMatrix(n, n)
	for i := range n {
		z.Row(i)[i] = 1
	}
	return z
}

func frobenius(a *data.Matrix) float64 { return math.Sqrt(dot(a, a)) }

// Q has orthonormal columns, R is an upper triangle, and Q R is A, all to a few
// roundings of the size of A.
func TestTallQR(t *testing.T) {
	for name, a := range tall() {
		n := a.Cols
		q := newTallQR(testPool, clone(&a))
		r := q.triangle()
		product := q.times(r)
		if e := distance(&product, &a); e > 1e-14*math.Sqrt(float64(n))*frobenius(&a) {
			t.Errorf("%s: |Q R - A| = %g, |A| = %g", name, e, frobenius(&a))
		}
		for i := range n {
			for j := range i {
				expect.That(t, r.Row(i)[j] == 0, "%s: R[%d][%d] = %g below the diagonal", name, i, j, r.Row(i)[j])
			}
		}
		orthonormal := newTallQR(testPool, clone(&a)).times(eye(n))
		gram := data.NewMatrix(n, n)
		newCrossed(n, n).add(&gram, &orthonormal, &orthonormal, nil)
		identity := eye(n)
		if e := distance(&gram, &identity); e > 1e-14*float64(n) {
			t.Errorf("%s: |Q^T Q - I| = %g", name, e)
		}
	}
}

func clone(a *data.Matrix) data.Matrix {
	b := *a
	b.Data = slices.Clone(a.Data)
	return b
}

func distance(a, b *data.Matrix) float64 {
	d := clone(a)
	for i, x := range b.Data {
		d.Data[i] -= x
	}
	return frobenius(&d)
}

// A product with fewer columns leaves zeros behind its rows, as every matrix has.
func TestTallQRTimesFewColumns(t *testing.T) {
	a := randomMatrix(6, 900, 7)
	z := randomMatrix(7, 7, 3)
	all, few := newTallQR(testPool, clone(&a)).times(eye(7)), newTallQR(testPool, clone(&a)).times(z)
	want := data.NewMatrix(900, 3)
	product(&want, &all, &z)
	for i := range few.Rows {
		for j, x := range few.Row(i) {
			expect.Must(t, near(x, want.Row(i)[j], 1e-14), "(Q Z)[%d][%d] = %g, want %g", i, j, x, want.Row(i)[j])
		}
		for _, x := range few.Data[i*few.Stride+3 : (i+1)*few.Stride] {
			expect.Must(t, x == 0, "%g behind row %d", x, i)
		}
	}
}

// Singular values have an absolute error of a few roundings of the largest, down
// to the smallest: the square of W would lose all below 1e-8. And at any scale.
func TestSmallSingularValuesKeepTheirDigits(t *testing.T) {
	want := []float64{1, 0.5, 1e-3, 1e-6, 1e-9, 1e-12}
	for _, m := range []int{7, 50, 3000} {
		left := newTallQR(testPool, randomMatrix(8, m, 6)).times(eye(6))
		right := newTallQR(testPool, randomMatrix(9, 6, 6)).times(eye(6))
		for t := range left.Rows {
			for k := range want {
				left.Row(t)[k] *= want[k]
			}
		}
		w := data.NewMatrix(m, 6)
		product(&w, &left, &right)
		for _, scale := range []float64{1, 1e-300, 1e-160, 1e160, 1e300} {
			scaled := clone(&w)
			kernel.Scale(scale, w.Data, scaled.Data)
			s := expect.Value(spectrumOf(testPool, &scaled))(t)
			expect.Must(t, len(s.values) == 6, "m = %d, scale %g: singular values %g, want 6", m, scale, s.values)
			for k, x := range s.values {
				e := math.Abs(x/scale - want[k])
				expect.That(t, e <= 3e-15, "m = %d, scale %g: s_%d = %.17g is off by %g", m, scale, k, x/scale, e)
			}
		}
	}
}

// The singular values of gonum's decomposition of W in one piece, and W itself
// from those and the vectors.
func TestSpectrumAgainstGonum(t *testing.T) {
	for name, w := range tall() {
		s := expect.Value(spectrumOf(testPool, &w))(t)
		expect.That(t, s.thin, "%s: thin is false", name)
		var svd mat.SVD
		expect.Must(t, svd.Factorize(mat.NewDense(w.Rows, w.Stride, w.Data), mat.SVDNone), "no singular values")
		want := svd.Values(nil)
		for k := range min(w.Cols, len(want)) {
			got := 0.0
			if k < len(s.values) {
				got = s.values[k]
			}
			expect.That(t, math.Abs(got-want[k]) <= 1e-14*float64(w.Cols)*want[0],
				"%s: s_%d = %.17g, gonum has %.17g", name, k, got, want[k])
		}
		// F F^T W = W: no direction of W is missing.
		image, back := data.NewMatrix(len(s.values), w.Cols), data.NewMatrix(w.Rows, w.Cols)
		newCrossed(len(s.values), w.Cols).add(&image, &s.vectors, &w, nil)
		product(&back, &s.vectors, &image)
		e := distance(&back, &w)
		expect.That(t, e <= 1e-13*frobenius(&w), "%s: |F F^T W - W| = %g, |W| = %g", name, e, frobenius(&w))
	}
}

// Directions that W has by rounding alone do not count, whatever its size.
func TestRankIsFound(t *testing.T) {
	sizes := [][3]int{{2, 1, 1}, {30, 8, 3}, {8, 30, 3}, {8, 8, 5}, {2000, 20, 7}, {1200, 60, 24}, {1200, 60, 59},
		{9000, 30, 1}, {9000, 30, 29}}
	if testing.Short() {
		sizes = sizes[:5]
	}
	for _, size := range sizes {
		m, d, rank := size[0], size[1], size[2]
		left, right := randomMatrix(10, m, rank), randomMatrix(11, rank, d)
		w := data.NewMatrix(m, d)
		product(&w, &left, &right)
		s := expect.Value(spectrumOf(testPool, &w))(t)
		expect.That(t, len(s.values) == rank && s.vectors.Cols == rank,
			"%d x %d: rank %d, want %d", m, d, len(s.values), rank)
	}
}

// The same bits for any number of workers.
func TestSpectrumDoesNotDependOnTheWorkers(t *testing.T) {
	w := randomMatrix(12, 7000, 20)
	var first *spectrum
	for _, pool := range []*parallel.Pool{nil, parallel.NewPool(2), parallel.NewPool(8)} {
		s := expect.Value(spectrumOf(pool, &w))(t)
		if first == nil {
			first = s
		}
		expect.That(t, slices.Equal(s.values, first.values) && slices.Equal(s.vectors.Data, first.vectors.Data),
			"the spectrum with %d workers differs from that with one", pool.Size())
	}
}
