package mtl

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/lasso"
)

// sparse is a dense coupling with an l1 term, the part in W of eq. graph1:
// R(W) = 1/2 tr(W M^-1 W^T) + l1 |W|_1. It is strongly convex with respect to M^-1, also
// without the term, so that sigma' and step sizes are those of M.
//
// grad R*(V) = argmax_W <V, W> - R(W) is one lasso of m variables for each feature,
// min 1/2 w M^-1 w^T - v w + l1 |w|_1. The server solves each exactly, always from w = 0:
// the result depends only on V.
type sparse struct {
	*Dense
	precision []float64 // M^-1, row by row
	l1        float64
}

var _ Coupling = (*sparse)(nil)

// newSparse returns the coupling with the given M^-1, which must be positive
// definite, and l1 >= 0.
func newSparse(precision *mat.SymDense, l1 float64) (*sparse, error) {
	M, err := inverseCoupling(precision)
	if err != nil {
		return nil, err
	}
	return &sparse{Dense: M, precision: entries(precision), l1: l1}, nil
}

// Primal sets W = grad R*(V).
func (s *sparse) Primal(w, v *data.Matrix) {
	l := lasso.New(s.precision, s.Tasks(), s.l1)
	for j := range v.Cols {
		l.Solve(v.Data[j:], v.Stride)
		for t, x := range l.W {
			w.Data[t*w.Stride+j] = x
		}
	}
}

// Incremental solves all lassos for every row of W: the weights of a task depend on those of
// the others.
func (s *sparse) Incremental(v *data.Matrix) IncrementalPrimal {
	return &sparseFollower{s, follower{v}, lasso.New(s.precision, s.Tasks(), s.l1)}
}

type sparseFollower struct {
	*sparse
	follower
	lasso *lasso.Solver
}

// Task sets dst to row t of W.
func (f *sparseFollower) Task(dst []float64, t int) {
	for j := range dst {
		f.lasso.Solve(f.v.Data[j:], f.v.Stride)
		dst[j] = f.lasso.W[t]
	}
}

// FLOPs returns the cost of one Primal and d.
func (f *sparseFollower) FLOPs() (task, add float64) {
	return f.sparse.FLOPs(f.v.Cols), float64(f.v.Cols)
}

// Gradient sets Z = W M^-1 + l1 sign(W), with sign(0) = 0.
func (s *sparse) Gradient(z, w *data.Matrix) {
	s.quadratic(z, w)
	for i, x := range w.Data {
		if x != 0 {
			z.Data[i] += math.Copysign(s.l1, x)
		}
	}
}

// quadratic sets Z = W M^-1.
func (s *sparse) quadratic(z, w *data.Matrix) {
	m := s.Tasks()
	product(z, &data.Matrix{Rows: m, Cols: m, Stride: m, Data: s.precision}, w)
}

// Value returns 1/2 tr(W M^-1 W^T) + l1 |W|_1.
func (s *sparse) Value(w, _ *data.Matrix) float64 {
	z := data.NewMatrix(w.Rows, w.Cols)
	s.quadratic(&z, w)
	size := 0.0
	for _, x := range w.Data {
		size += math.Abs(x)
	}
	return float64(0.5*dot(&z, w)) + float64(s.l1*size)
}

// FLOPs returns 20 m^2 d: it assumes ten passes of 2 m^2 for every lasso. The actual number
// depends on V.
func (s *sparse) FLOPs(d int) float64 {
	return 20 * float64(s.Tasks()) * float64(s.Tasks()) * float64(d)
}

// Shifted is a coupling with a constant added to R: the terms of a regularizer in Omega
// alone. With them the objectives of different Omega are comparable. The constant is Value
// at W = 0.
type Shifted struct {
	Coupling
	Constant float64
}

var _ Coupling = Shifted{}

// Value returns R(W) with the constant.
func (s Shifted) Value(w, v *data.Matrix) float64 { return s.Coupling.Value(w, v) + s.Constant }
