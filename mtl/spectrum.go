package mtl

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
)

// spectrum is the eigensystem of W^T W (m x m) as the singular value
// decomposition of W gives it: squaring W would cost half the digits of the
// small eigenvalues, and the smaller side of W is decomposed, in O(d^2 m) for
// m > d.
type spectrum struct {
	vectors mat.Dense // m rows, one column for each value
	values  []float64 // singular values of W in descending order; those that are missing are 0
}

// spectrumOf decomposes W, which holds one task to a row.
func spectrumOf(w *data.Matrix) (*spectrum, error) {
	for _, x := range w.Data {
		if math.IsNaN(x) || math.IsInf(x, 0) { // the decomposition would not end
			return nil, fmt.Errorf("the singular values of W (%d x %d) do not exist: it holds %g", w.Cols, w.Rows, x)
		}
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(w.Rows, w.Stride, w.Data), mat.SVDThin) {
		return nil, fmt.Errorf("the singular values of W (%d x %d) were not found", w.Cols, w.Rows)
	}
	s := &spectrum{values: svd.Values(nil)}
	svd.UTo(&s.vectors)
	return s, nil
}

// trace returns the sum of the singular values, tr (W^T W)^1/2.
func (s *spectrum) trace() float64 {
	sum := 0.0
	for _, x := range s.values {
		sum += x
	}
	return sum
}

// rank returns how many singular values are more than rounding.
func (s *spectrum) rank() int {
	m, n := s.vectors.Dims()
	const epsilon = 0x1p-52
	floor := epsilon * float64(max(m, n)) * s.values[0]
	r := 0
	for r < n && s.values[r] > floor {
		r++
	}
	return r
}

// matrix returns the symmetric matrix that has the spectrum's vectors with the
// given eigenvalues, and the eigenvalue off in all other directions.
func (s *spectrum) matrix(eigenvalues []float64, off float64) *mat.SymDense {
	m, _ := s.vectors.Dims()
	a := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			x := 0.0
			for k, e := range eigenvalues {
				x += float64(s.vectors.At(i, k)*s.vectors.At(j, k)) * (e - off)
			}
			if i == j {
				x += off
			}
			a.SetSym(i, j, x)
		}
	}
	return a
}
