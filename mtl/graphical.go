package mtl

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/linalg"
)

// Graphical is eq. graph1, tasks whose relationship is a sparse graphical model
// with the precision matrix Omega (Goncalves, Von Zuben and Banerjee, JMLR 17,
// 2016):
//
//	R(W, Omega) = lambda (1/s2 |W|^2 + tr(W Omega W^T) - d log det Omega) + l1 |W|_1 + l2 |Omega|_1
//
// so that M = 1/(2 lambda) (I/s2 + Omega)^-1, plus the term in |W|_1.
// |Omega|_1 is the sum over all entries, including the diagonal. R is convex in
// W and in Omega, but not jointly: alternation converges to a point that neither step
// improves. The terms in Omega alone are part of the coupling's Value.
type Graphical struct {
	Lambda         float64
	PriorPrecision float64 // 1/s2
	L1, L2         float64
	Features       int // d
}

var _ Regularizer = Graphical{}

// Start returns the coupling of Omega = I.
func (g Graphical) Start(_ *Pool, m int) (Coupling, error) {
	omega := mat.NewSymDense(m, nil)
	for t := range m {
		omega.SetSym(t, t, 1)
	}
	return g.coupling(omega)
}

// Update returns the coupling of the graphical lasso's solution (appendix B.3)
//
//	Omega = argmin tr(W^T W/d Omega) - log det Omega + l2/(lambda d) |Omega|_1
//
// with floor (tr Omega/m) I mixed in, which preserves its zeros. For l2 > 0 it exists for
// every W. For l2 = 0 it is d (W^T W)^-1; Update fails unless W has full rank, because the
// objective is unbounded below.
func (g Graphical) Update(_ *Pool, w *data.Matrix, floor float64) (Coupling, error) {
	omega, err := g.omega(w)
	if err != nil {
		return nil, err
	}
	m := w.Rows
	base := floor * mat.Trace(omega) / float64(m)
	for s := range m {
		for t := s; t < m; t++ {
			x := float64((1 - floor) * omega.At(s, t))
			if s == t {
				x += base
			}
			omega.SetSym(s, t, x)
		}
	}
	return g.coupling(omega)
}

// UpdateFLOPs returns 2 m^2 d + 10 m^3, for W^T W and ten passes of the graphical lasso. The
// actual number of passes depends on W.
func (g Graphical) UpdateFLOPs(m, d int) float64 {
	return float64(m) * float64(m) * (float64(2*float64(d)) + float64(10*float64(m)))
}

// omega returns the Omega that minimizes R(W, .).
func (g Graphical) omega(w *data.Matrix) (*mat.SymDense, error) {
	gram := mat.NewSymDense(w.Rows, nil)
	for s := range w.Rows {
		for t := s; t < w.Rows; t++ {
			gram.SetSym(s, t, kernel.Dot(w.Row(s), w.Row(t))/float64(g.Features))
		}
	}
	return graphicalLasso(gram, g.L2/(g.Lambda*float64(g.Features)))
}

// coupling returns the coupling of an Omega.
func (g Graphical) coupling(omega *mat.SymDense) (Coupling, error) {
	m := omega.SymmetricDim()
	chol, ok := linalg.NewCholesky(m, entries(omega))
	if !ok {
		return nil,
			fmt.Errorf("the %d x %d precision matrix Omega is not positive definite to working precision: "+
				"raise problem.regularizer_options.lambda2 or problem.regularizer_options.omega_floor", m, m)
	}
	constant := float64(-g.Lambda * float64(g.Features) * chol.LogDet())
	precision := mat.NewSymDense(m, nil)
	for s := range m {
		for t := s; t < m; t++ {
			x := omega.At(s, t)
			if s == t {
				constant += float64(g.L2 * math.Abs(x))
				x += g.PriorPrecision
			} else {
				constant += float64(2 * g.L2 * math.Abs(x))
			}
			precision.SetSym(s, t, 2*g.Lambda*x)
		}
	}
	var c Coupling
	var err error
	if g.L1 > 0 {
		c, err = newSparse(precision, g.L1)
	} else {
		c, err = inverseCoupling(precision)
	}
	if err != nil {
		return nil, err
	}
	return Shifted{c, constant}, nil
}

// inverseCoupling returns the coupling M with the given M^-1.
func inverseCoupling(precision *mat.SymDense) (*Dense, error) {
	n := precision.SymmetricDim()
	chol, ok := linalg.NewCholesky(n, entries(precision))
	if !ok {
		return nil, fmt.Errorf("the %d x %d matrix M^-1 is not positive definite", n, n)
	}
	return NewDense(mat.NewSymDense(n, chol.Inverse()))
}
