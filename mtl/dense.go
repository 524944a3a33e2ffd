package mtl

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/linalg"
)

// Dense is a coupling held as a full m x m matrix with its Cholesky factor.
type Dense struct {
	m    data.Matrix
	chol linalg.Cholesky
	high float64 // largest eigenvalue of M
}

var _ Coupling = (*Dense)(nil)

// NewDense returns the coupling M. It fails when M is not positive definite.
func NewDense(m *mat.SymDense) (*Dense, error) {
	n, all := m.SymmetricDim(), entries(m)
	c := &Dense{m: data.NewMatrix(n, n)}
	for i := range n {
		copy(c.m.Row(i), all[i*n:])
	}
	var ok bool
	if c.chol, ok = linalg.NewCholesky(n, all); !ok {
		return nil,
			fmt.Errorf("the %d x %d coupling is not positive definite: raise problem.regularizer_options.omega_floor",
				n, n)
	}
	values, err := eigenvalues(m)
	if err != nil {
		return nil, err
	}
	c.high = values[n-1]
	return c, nil
}

// eigenvalues returns the eigenvalues of a symmetric matrix in ascending order.
func eigenvalues(m *mat.SymDense) ([]float64, error) {
	n := m.SymmetricDim()
	values, ok := linalg.Eigen(n, entries(m), false)
	if !ok {
		return nil, fmt.Errorf("the eigenvalues of a %d x %d matrix were not found", n, n)
	}
	return values, nil
}

// entries returns a copy of a symmetric matrix, row by row.
func entries(m *mat.SymDense) []float64 {
	n := m.SymmetricDim()
	a := make([]float64, n*n)
	for i := range n {
		for j := range n {
			a[i*n+j] = m.At(i, j)
		}
	}
	return a
}

// Tasks returns m.
func (de *Dense) Tasks() int { return de.m.Rows }

// Diag returns M_tt.
func (de *Dense) Diag(t int) float64 { return de.At(t, t) }

// At returns M_st.
func (de *Dense) At(s, t int) float64 { return de.m.Data[s*de.m.Stride+t] }

// Primal sets W = V M.
func (de *Dense) Primal(w, v *data.Matrix) { product(w, &de.m, v) }

// Incremental sums over all tasks for every row of W.
func (de *Dense) Incremental(v *data.Matrix) IncrementalPrimal {
	return &denseFollower{de, follower{v}}
}

type denseFollower struct {
	*Dense
	follower
}

// Task sets dst = sum_s M_ts v_s, summed in task order.
func (f *denseFollower) Task(dst []float64, t int) {
	clear(dst)
	for s := range f.m.Rows {
		kernel.Axpy(f.At(t, s), f.v.Row(s), dst)
	}
}

// FLOPs returns 2 m d and d.
func (f *denseFollower) FLOPs() (task, add float64) {
	d := float64(f.v.Cols)
	return 2 * float64(f.m.Rows) * d, d
}

// Gradient sets Z = W M^-1 through the Cholesky factor.
func (de *Dense) Gradient(z, w *data.Matrix) {
	for t := range w.Rows {
		copy(z.Row(t), w.Row(t))
	}
	de.chol.Solve(z.Data, z.Cols, z.Stride)
}

// Value returns 1/2 tr(W M^-1 W^T).
func (de *Dense) Value(w, v *data.Matrix) float64 { return half(de, w, v) }

// SigmaPrime applies the rules to M with the row and column of a task repeated
// for each of its devices: Lemma 9's max_t sum_s |M_ts|/M_tt, its terms task by
// task (Remark 5), or the largest eigenvalue of D^-1/2 M D^-1/2 with
// D = diag(M), which is the smallest safe value for all tasks, raised by 1e-10
// against rounding.
func (de *Dense) SigmaPrime(rule string, devices []int) []float64 {
	n := de.m.Rows
	sigma := make([]float64, n)
	if rule == SigmaSpectral {
		scaled := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				pairs := load(devices, i) * load(devices, j)
				scaled.SetSym(i, j, de.At(i, j)*math.Sqrt(pairs/float64(de.Diag(i)*de.Diag(j))))
			}
		}
		values, err := eigenvalues(scaled)
		if err != nil {
			panic(fmt.Sprintf("mtl: sigma': %v", err)) // NewDense has decomposed M
		}
		fill(sigma, values[n-1]*(1+1e-10))
		return sigma
	}
	most := 0.0
	for t := range n {
		for s := range n {
			sigma[t] += load(devices, s) * math.Abs(de.At(t, s)) / de.Diag(t)
		}
		most = max(most, sigma[t])
	}
	if rule == SigmaLemma9 {
		fill(sigma, most)
	}
	return sigma
}

// Convexity returns the inverse of the largest eigenvalue of M.
func (de *Dense) Convexity() float64 { return 1 / de.high }

// FLOPs returns 2 m^2 d.
func (de *Dense) FLOPs(d int) float64 {
	return 2 * float64(de.m.Rows) * float64(de.m.Rows) * float64(d)
}
