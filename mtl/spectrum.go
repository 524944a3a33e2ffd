package mtl

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/linalg"
)

// spectrum is the eigensystem of W^T W (m x m) as the singular value
// decomposition of W gives it: squaring W would lose half the digits of the small
// eigenvalues. Values of the size of rounding errors are omitted with their vectors.
type spectrum struct {
	vectors data.Matrix // m rows, one column for each value, orthonormal
	values  []float64   // singular values of W in descending order
	thin    bool        // m > d
}

// spectrumOf decomposes W, which has a row for each task. For m > d that is
// W = Q R and the decomposition of the d x d matrix R, O(d^2 m) in all. Otherwise it
// is W^T = Q R, and R^T has the left vectors of W, O(m^2 d).
func spectrumOf(pool *Pool, w *data.Matrix) (*spectrum, error) {
	most, err := largest(pool, w)
	if err != nil {
		return nil, err
	}
	s := &spectrum{thin: w.Rows > w.Cols}
	// Scale so that squares neither overflow nor underflow. A power of two is exact.
	_, exponent := math.Frexp(most)
	exponent = min(1000, max(-1000, exponent))
	scaled := data.NewMatrix(w.Rows, w.Cols)
	kernel.Scale(math.Ldexp(1, -exponent), w.Data, scaled.Data)
	if !s.thin {
		across := data.NewMatrix(w.Cols, w.Rows)
		transpose(&across, &scaled, nil)
		scaled = across
	}
	qr := newTallQR(pool, scaled)
	r := qr.triangle()
	n := r.Rows
	left := make([]float64, n*n) // its rows are the columns of R, or of R^T
	for i := range n {
		for j, x := range r.Row(i) {
			if s.thin {
				left[j*n+i] = x
			} else {
				left[i*n+j] = x
			}
		}
	}
	values, ok := linalg.Singular(n, left)
	if !ok {
		return nil, fmt.Errorf("the singular values of a %d x %d matrix were not found", w.Rows, w.Cols)
	}
	s.values = significant(values, w)
	s.vectors = columns(left, n, len(s.values))
	if s.thin {
		s.vectors = qr.times(s.vectors)
	}
	for k := range s.values {
		s.values[k] = math.Ldexp(s.values[k], exponent)
	}
	return s, nil
}

// largest returns the size of the largest entry of W. It fails when one is not
// finite: the decomposition would not terminate.
func largest(pool *Pool, w *data.Matrix) (float64, error) {
	rows := cut(w.Rows, 4096)
	parts := make([]float64, rows.count)
	pool.For(rows.count, func(i, _ int) {
		from, to := rows.at(i)
		for _, x := range w.Data[from*w.Stride : to*w.Stride] {
			parts[i] = max(parts[i], math.Abs(x)) // NaN stays
		}
	})
	most := slices.Max(parts)
	if math.IsNaN(most) || math.IsInf(most, 0) {
		return 0, fmt.Errorf("the singular values of W (%d x %d) do not exist: it holds %g", w.Cols, w.Rows, most)
	}
	return most, nil
}

// significant returns the singular values of W that exceed the rounding error: a few units
// in the last place of the largest value for every column.
func significant(values []float64, w *data.Matrix) []float64 {
	const epsilon = 0x1p-52
	floor := 8 * epsilon * float64(min(w.Rows, w.Cols)) * values[0]
	rank := 0
	for rank < min(len(values), w.Cols) && values[rank] > floor {
		rank++
	}
	return values[:rank]
}

// columns returns the matrix whose columns are the first rows of n numbers in a.
func columns(a []float64, n, count int) data.Matrix {
	out := data.NewMatrix(n, count)
	for i := range n {
		for k := range out.Row(i) {
			out.Row(i)[k] = a[k*n+i]
		}
	}
	return out
}

// spectrumFLOPs returns the cost of spectrumOf and of the coupling. For m > d: 4 m d^2 for Q
// and R, about 20 d^3 for the decomposition of R. Otherwise 2 m^2 d + 10 m^3 for the
// product, the decomposition and M.
func spectrumFLOPs(tasks, features int) float64 {
	m, d := float64(tasks), float64(features)
	if m > d {
		return float64(4*m*d*d) + float64(20*d*d*d)
	}
	return float64(2*m*m*d) + float64(10*m*m*m)
}

// trace returns the sum of the singular values, tr (W^T W)^1/2.
func (s *spectrum) trace() float64 {
	sum := 0.0
	for _, x := range s.values {
		sum += x
	}
	return sum
}

// coupling returns the M that has the spectrum's vectors with the given
// eigenvalues, and the eigenvalue off in all other directions. off is at most the smallest
// of the others. The coupling is low-rank when m > d, and dense otherwise.
func (s *spectrum) coupling(pool *Pool, eigenvalues []float64, off float64) (Coupling, error) {
	if s.thin {
		return newLowRank(pool, s.vectors, eigenvalues, off)
	}
	return NewDense(s.matrix(eigenvalues, off))
}

// matrix returns the symmetric matrix that has the spectrum's vectors with the
// given eigenvalues, and the eigenvalue off in all other directions.
func (s *spectrum) matrix(eigenvalues []float64, off float64) *mat.SymDense {
	m := s.vectors.Rows
	a := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			x := 0.0
			for k, e := range eigenvalues {
				x += float64(float64(s.vectors.Row(i)[k]*s.vectors.Row(j)[k]) * (e - off))
			}
			if i == j {
				x += off
			}
			a.SetSym(i, j, x)
		}
	}
	return a
}

// rescale sets dst to W with the given singular values in place of those of the spectrum;
// dst and w must not overlap.
func (s *spectrum) rescale(dst, w *data.Matrix, values []float64) {
	along := data.NewMatrix(len(values), w.Cols)
	for t := range w.Rows {
		for k, x := range s.vectors.Row(t) {
			kernel.Axpy(x, w.Row(t), along.Row(k))
		}
	}
	clear(dst.Data)
	for t := range w.Rows {
		for k, x := range s.vectors.Row(t) {
			kernel.Axpy(x*(values[k]/s.values[k]), along.Row(k), dst.Row(t))
		}
	}
}
