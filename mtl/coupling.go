package mtl

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/kernel"
)

// Coupling is the symmetric positive definite m x m matrix M that a regulariser
// hands to the rest of the program (the matrix of Assumption 1, divided by
// I_d). W, V and Z hold one task to a row: m rows of d values.
type Coupling interface {
	// Tasks returns m.
	Tasks() int
	// Diag returns M_tt > 0.
	Diag(t int) float64
	// Multiply sets W = V M; w and v must not overlap.
	Multiply(w, v *data.Matrix)
	// MultiplyTask sets dst = w_t = sum_s M_ts v_s.
	MultiplyTask(dst []float64, v *data.Matrix, t int)
	// Solve sets Z = W M^-1; z and w must not overlap.
	Solve(z, w *data.Matrix)
	// SigmaPrime returns a sigma' such that sigma' diag(M) - M is positive
	// semidefinite (eq. sigmaPrimeSafeDefinition with gamma = 1), by the rule
	// SigmaLemma9 or SigmaSpectral.
	SigmaPrime(rule string) float64
	// Convexity returns the smallest eigenvalue of M^-1: the strong convexity of
	// R, which sets the classical step size of primal methods.
	Convexity() float64
	// FLOPs returns the cost of one Multiply for d features.
	FLOPs(d int) float64
}

// Identity is M = Scale I: tasks do not talk to each other.
type Identity struct {
	M     int
	Scale float64
}

var _ Coupling = Identity{}

// Tasks returns m.
func (c Identity) Tasks() int { return c.M }

// Diag returns the scale.
func (c Identity) Diag(int) float64 { return c.Scale }

// Multiply sets W = Scale V.
func (c Identity) Multiply(w, v *data.Matrix) { scaleInto(w.Data, v.Data, c.Scale) }

// MultiplyTask sets dst = Scale v_t.
func (c Identity) MultiplyTask(dst []float64, v *data.Matrix, t int) {
	scaleInto(dst, v.Row(t), c.Scale)
}

// Solve sets Z = W / Scale.
func (c Identity) Solve(z, w *data.Matrix) { scaleInto(z.Data, w.Data, 1/c.Scale) }

// SigmaPrime returns 1: the tasks' subproblems are exact.
func (c Identity) SigmaPrime(string) float64 { return 1 }

// Convexity returns 1/Scale.
func (c Identity) Convexity() float64 { return 1 / c.Scale }

// FLOPs returns m d.
func (c Identity) FLOPs(d int) float64 { return float64(c.M) * float64(d) }

func scaleInto(dst, src []float64, a float64) {
	for i, x := range src {
		dst[i] = a * x
	}
}

// Dense is a coupling held as a full m x m matrix with its Cholesky factor.
type Dense struct {
	m    blas64.Symmetric // row-major, both triangles filled
	chol mat.Cholesky
	high float64 // largest eigenvalue of M
	spec float64 // largest eigenvalue of D^-1/2 M D^-1/2
}

var _ Coupling = (*Dense)(nil)

// NewDense returns the coupling M. It fails when M is not positive definite.
func NewDense(m *mat.SymDense) (*Dense, error) {
	n := m.SymmetricDim()
	c := &Dense{m: blas64.Symmetric{N: n, Stride: n, Uplo: blas.Upper, Data: make([]float64, n*n)}}
	scaled := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range n {
			x := m.At(i, j)
			c.m.Data[i*n+j] = x
			scaled.SetSym(i, j, x/math.Sqrt(float64(m.At(i, i)*m.At(j, j))))
		}
	}
	if !c.chol.Factorize(m) {
		return nil, fmt.Errorf("the %d x %d coupling is not positive definite: raise problem.omega_floor or problem.warm_floor", n, n)
	}
	values, err := eigenvalues(m)
	if err != nil {
		return nil, err
	}
	c.high = values[n-1]
	if values, err = eigenvalues(scaled); err != nil {
		return nil, err
	}
	c.spec = values[n-1]
	return c, nil
}

// eigenvalues returns the eigenvalues of a symmetric matrix in ascending order.
func eigenvalues(m *mat.SymDense) ([]float64, error) {
	var e mat.EigenSym
	if !e.Factorize(m, false) {
		return nil, fmt.Errorf("the eigenvalues of a %d x %d matrix were not found", m.SymmetricDim(), m.SymmetricDim())
	}
	return e.Values(nil), nil
}

// Tasks returns m.
func (c *Dense) Tasks() int { return c.m.N }

// Diag returns M_tt.
func (c *Dense) Diag(t int) float64 { return c.m.Data[t*c.m.N+t] }

// At returns M_st.
func (c *Dense) At(s, t int) float64 { return c.m.Data[s*c.m.N+t] }

// Multiply sets W = V M.
func (c *Dense) Multiply(w, v *data.Matrix) {
	n := c.m.N
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1,
		blas64.General{Rows: n, Cols: n, Stride: n, Data: c.m.Data}, general(v), 0, general(w))
}

// MultiplyTask sets dst = sum_s M_ts v_s, summed in task order.
func (c *Dense) MultiplyTask(dst []float64, v *data.Matrix, t int) {
	clear(dst)
	for s := range c.m.N {
		kernel.Axpy(c.At(t, s), v.Row(s), dst)
	}
}

// Solve sets Z = W M^-1 through the Cholesky factor.
func (c *Dense) Solve(z, w *data.Matrix) {
	src := mat.NewDense(w.Rows, w.Stride, w.Data)
	dst := mat.NewDense(z.Rows, z.Stride, z.Data)
	if err := c.chol.SolveTo(dst, src); err != nil {
		// Only an ill-conditioned M reports an error here, and the solution is
		// still the best there is; NewDense has refused indefinite ones.
		var ill mat.Condition
		if !asCondition(err, &ill) {
			panic(fmt.Sprintf("mtl: solving with the coupling: %v", err))
		}
	}
}

func asCondition(err error, target *mat.Condition) bool {
	c, ok := err.(mat.Condition)
	if ok {
		*target = c
	}
	return ok
}

// SigmaPrime returns Lemma 9's max_t sum_s |M_ts|/M_tt, or the largest
// eigenvalue of D^-1/2 M D^-1/2 with D = diag(M), which is the smallest safe
// value, raised by 1e-10 against rounding.
func (c *Dense) SigmaPrime(rule string) float64 {
	if rule == SigmaSpectral {
		return c.spec * (1 + 1e-10)
	}
	most := 0.0
	for t := range c.m.N {
		sum := 0.0
		for s := range c.m.N {
			sum += math.Abs(c.At(t, s))
		}
		most = math.Max(most, sum/c.Diag(t))
	}
	return most
}

// Convexity returns the inverse of the largest eigenvalue of M.
func (c *Dense) Convexity() float64 { return 1 / c.high }

// FLOPs returns 2 m^2 d.
func (c *Dense) FLOPs(d int) float64 { return 2 * float64(c.m.N) * float64(c.m.N) * float64(d) }

// general views a matrix as BLAS does, padding included: padding columns are
// zero on both sides of every product.
func general(m *data.Matrix) blas64.General {
	return blas64.General{Rows: m.Rows, Cols: m.Stride, Stride: m.Stride, Data: m.Data}
}
