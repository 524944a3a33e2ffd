package mtl

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedsim/internal/tools/lasso"
	"fedsim/internal/tools/linalg"
)

const (
	glassoSweeps  = 1000  // about ten are typical, a hundred for nearly singular problems
	glassoSettled = 1e-13 // change of an entry of W in a sweep that ends the iteration
	// The largest accepted violation of an optimality condition. At most 1e-7 is typical
	// down to rho = 1e-6 S_ii. For smaller penalties, X = W^-1 has condition numbers beyond
	// 1e8 and fewer correct digits than W.
	glassoViolation = 1e-3
)

// graphicalLasso returns the minimizer of
//
//	tr(S X) - log det X + rho sum_ij |X_ij|  over positive definite X
//
// with exact zeros. For rho > 0 it exists for every positive semidefinite S; for
// rho = 0 it is S^-1, and a singular S is an error. Accuracies are relative to
// sqrt(W_ii W_jj), W = X^-1.
func graphicalLasso(s *mat.SymDense, rho float64) (*mat.SymDense, error) {
	n := s.SymmetricDim()
	if rho == 0 {
		return inverse(s)
	}
	g := newGlasso(s, rho)
	for i := range n {
		if !(g.w.At(i, i) > 0) || math.IsInf(g.w.At(i, i), 0) {
			return nil, fmt.Errorf("graphical lasso: task %d has weights of squared length %g: they must be finite",
				i+1, s.At(i, i))
		}
	}
	for range glassoSweeps {
		if g.sweep() <= glassoSettled {
			break
		}
	}
	x := g.solution()
	if v := g.violation(x); !(v <= glassoViolation) {
		return nil,
			fmt.Errorf("graphical lasso (%d x %d, penalty %.3g): the optimality conditions are violated by %.2g, "+
				"W^T W being too large for it: raise problem.regularizer_options.lambda2, or solve W further "+
				"before Omega is updated", n, n,
				rho, v)
	}
	return x, nil
}

// inverse returns S^-1.
func inverse(s *mat.SymDense) (*mat.SymDense, error) {
	chol, ok := linalg.NewCholesky(s.SymmetricDim(), entries(s))
	var x *mat.SymDense
	if ok {
		x = mat.NewSymDense(s.SymmetricDim(), chol.Inverse())
	}
	// Beyond a condition number of 1e12 the inverse has almost no correct digit.
	if !ok || !(norm1(s)*norm1(x) < 1e12) {
		return nil,
			fmt.Errorf("graphical lasso without penalty: W^T W (%d x %d) is singular and the minimum over Omega "+
				"unbounded: problem.regularizer_options.lambda2 must be positive", s.SymmetricDim(), s.SymmetricDim())
	}
	return x, nil
}

// norm1 returns the largest sum of the sizes of a column's entries.
func norm1(x *mat.SymDense) (most float64) {
	for j := range x.SymmetricDim() {
		sum := 0.0
		for i := range x.SymmetricDim() {
			sum += math.Abs(x.At(i, j))
		}
		most = max(most, sum)
	}
	return most
}

// glasso is block coordinate ascent on the dual of the graphical lasso,
// max log det W over |W_ij - S_ij| <= rho (Friedman, Hastie and Tibshirani,
// Biostatistics 9, 2008): the best row and column j, given the others W_11, is
// w_12 = W_11 b with b the solution of a lasso,
//
//	min 1/2 b W_11 b^T - s_12 b + rho |b|_1,
//
// and -b is a multiple of column j of X. Each lasso is solved exactly.
type glasso struct {
	n    int
	s, w *mat.SymDense
	rho  float64
	b    []float64     // column by column, 0 on the diagonal
	l    *lasso.Solver // of n-1 variables; its matrix is W_11
	v    []float64     // s_12
}

// newGlasso starts from W = S + rho I, whose diagonal is final.
func newGlasso(s *mat.SymDense, rho float64) *glasso {
	n := s.SymmetricDim()
	g := &glasso{n: n, s: s, rho: rho, w: mat.NewSymDense(n, nil), b: make([]float64, n*n),
		l: lasso.New(make([]float64, (n-1)*(n-1)), n-1, rho), v: make([]float64, n-1)}
	g.w.CopySym(s)
	for i := range n {
		g.w.SetSym(i, i, s.At(i, i)+rho)
	}
	return g
}

// sweep updates every row and column of W, and returns the largest change.
func (g *glasso) sweep() (change float64) {
	for j := range g.n {
		rest := g.v[:0]
		for i := range g.n {
			if i == j {
				continue
			}
			row := g.l.A[len(rest)*(g.n-1):][:0]
			for k := range g.n {
				if k != j {
					row = append(row, g.w.At(i, k))
				}
			}
			rest = append(rest, g.s.At(i, j))
		}
		g.l.Solve(g.v, 1)
		g.l.Multiply()
		for r := range rest {
			i := r
			if r >= j {
				i++
			}
			x := g.l.AW[r]
			change = math.Max(change, math.Abs(x-g.w.At(i, j))/g.scale(i, j))
			g.w.SetSym(i, j, x)
			g.b[j*g.n+i] = g.l.W[r]
		}
	}
	return change
}

func (g *glasso) scale(i, j int) float64 { return math.Sqrt(g.w.At(i, i) * g.w.At(j, j)) }

// solution returns X = W^-1 from the solutions of the lassos, whose zeros are exact:
// x_22 = 1/(w_22 - w_12 b), x_12 = -b x_22. Both triangles agree up to rounding.
func (g *glasso) solution() *mat.SymDense {
	x := mat.NewSymDense(g.n, nil)
	for j := range g.n {
		rest := g.w.At(j, j)
		for i, b := range g.b[j*g.n : (j+1)*g.n] {
			if i != j {
				rest -= float64(g.w.At(i, j) * b)
			}
		}
		x.SetSym(j, j, 1/rest)
	}
	for i := range g.n {
		for j := i + 1; j < g.n; j++ {
			upper, lower := g.b[j*g.n+i], g.b[i*g.n+j]
			if upper != 0 && lower != 0 {
				x.SetSym(i, j, -(float64(upper*x.At(j, j))+float64(lower*x.At(i, i)))/2)
			}
		}
	}
	return x
}

// violation returns the largest violation of the optimality conditions at X:
// S_ij - (X^-1)_ij + rho sign(X_ij) = 0, or at most rho in size where X_ij = 0.
// It is +Inf when X is not positive definite.
func (g *glasso) violation(x *mat.SymDense) float64 {
	chol, ok := linalg.NewCholesky(g.n, entries(x))
	if !ok {
		return math.Inf(1)
	}
	w := mat.NewSymDense(g.n, chol.Inverse())
	worst := 0.0
	for i := range g.n {
		for j := i; j < g.n; j++ {
			gradient := g.s.At(i, j) - w.At(i, j)
			v := math.Abs(gradient) - g.rho
			if x.At(i, j) != 0 {
				v = math.Abs(gradient + math.Copysign(g.rho, x.At(i, j)))
			}
			worst = math.Max(worst, v/g.scale(i, j))
		}
	}
	return worst
}
