package mtl

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
)

// Regularizer ties the tasks together: it turns what is known or learnt of
// their relationship Omega into a coupling M (appendix B of the paper).
type Regularizer interface {
	// Start returns the coupling of m tasks before anything is learnt.
	Start(m int) (Coupling, error)
	// Update returns the coupling of the Omega that minimises R(W, .) for fixed
	// W (one task to a row), with floor I/m mixed into Omega. It returns
	// ErrFixed when Omega is known and not learnt.
	Update(w *data.Matrix, floor float64) (Coupling, error)
}

// ErrFixed says that a regulariser's Omega is known a priori and never updated.
var ErrFixed = fmt.Errorf("the regulariser's Omega is fixed: it is known, not learnt")

// Independent is R(W) = lambda m/2 tr(W W^T): Omega = I/m in the authors'
// convention, no sharing between tasks. M = I/(m lambda).
type Independent struct{ Lambda float64 }

// Start returns I/(m lambda).
func (r Independent) Start(m int) (Coupling, error) {
	return Identity{M: m, Scale: 1 / (float64(m) * r.Lambda)}, nil
}

// Update returns ErrFixed.
func (r Independent) Update(*data.Matrix, float64) (Coupling, error) { return nil, ErrFixed }

// MeanRegularized is eq. fixed_cluster with the known
// Omega = (I - 11^T/m)^2 of mean-regularised MTL (Evgeniou and Pontil, KDD
// 2004): R(W) = lambda_1 tr(W Omega W^T) + lambda_2 |W|^2, hence
// M = 1/2 (lambda_1 Omega + lambda_2 I)^-1.
type MeanRegularized struct{ Lambda1, Lambda2 float64 }

// Start returns M. Omega is a projection, so that M is I/(2(l1+l2)) plus a
// multiple of 11^T/m.
func (r MeanRegularized) Start(m int) (Coupling, error) {
	apart := 1 / (2 * (r.Lambda1 + r.Lambda2))
	along := 1 / (2 * r.Lambda2)
	M := mat.NewSymDense(m, nil)
	for s := range m {
		for t := s; t < m; t++ {
			x := (along - apart) / float64(m)
			if s == t {
				x += apart
			}
			M.SetSym(s, t, x)
		}
	}
	return NewDense(M)
}

// Update returns ErrFixed.
func (r MeanRegularized) Update(*data.Matrix, float64) (Coupling, error) { return nil, ErrFixed }

// Probabilistic is eq. prob, the paper's own experiments (Zhang and Yeung, UAI
// 2010): Omega is a covariance with tr Omega = 1, learnt as
// (W^T W)^1/2 / tr (W^T W)^1/2.
//
// In the paper's convention R(W) = lambda (1/s2 |W|^2 + tr(W Omega^-1 W^T)) and
// M = 1/(2 lambda) (I/s2 + Omega^-1)^-1. The authors' code has lambda/2 in place
// of lambda and no first term: M = Omega/lambda.
type Probabilistic struct {
	Lambda         float64
	PriorPrecision float64 // 1/s2
	Paper          bool    // the paper's convention
}

// Start returns the coupling of Omega = I/m.
func (r Probabilistic) Start(m int) (Coupling, error) {
	return Identity{M: m, Scale: r.coupling(1 / float64(m))}, nil
}

// coupling maps an eigenvalue of Omega to the eigenvalue of M.
func (r Probabilistic) coupling(omega float64) float64 {
	if !r.Paper {
		return omega / r.Lambda
	}
	return omega / (1 + float64(r.PriorPrecision*omega)) / (2 * r.Lambda)
}

// Update returns the coupling of (1-floor) (W^T W)^1/2/tr + floor I/m. W = 0
// says nothing of the tasks: the coupling is then that of Start.
func (r Probabilistic) Update(w *data.Matrix, floor float64) (Coupling, error) {
	m := w.Rows
	// The rows of w are the tasks, so that W^T W is w w^T in storage. A singular
	// value decomposition avoids squaring W, which would cost half the digits of
	// the small eigenvalues.
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(m, w.Stride, w.Data), mat.SVDThin) {
		return nil, fmt.Errorf("the singular values of W (%d x %d) were not found: it holds values that are not finite", w.Cols, m)
	}
	values := svd.Values(nil)
	trace := 0.0
	for _, s := range values {
		trace += s
	}
	if trace == 0 {
		return r.Start(m)
	}
	var u mat.Dense
	svd.UTo(&u)
	base := floor / float64(m) // the eigenvalue of Omega off the range of W
	M := mat.NewSymDense(m, nil)
	off := r.coupling(base)
	for i := range m {
		for j := i; j < m; j++ {
			x := 0.0
			for k, s := range values {
				x += float64(u.At(i, k)*u.At(j, k)) * (r.coupling((1-floor)*s/trace+base) - off)
			}
			if i == j {
				x += off
			}
			M.SetSym(i, j, x)
		}
	}
	return NewDense(M)
}

// regularizerOf returns the regulariser of a validated configuration. It fails
// when a file it needs cannot be read.
func regularizerOf(cfg Config) (Regularizer, error) {
	switch cfg.Regularizer {
	case RegIndependent:
		return Independent{cfg.Lambda}, nil
	case RegMean:
		return MeanRegularized{cfg.Lambda1, cfg.Lambda2}, nil
	case RegProbabilistic:
		return Probabilistic{cfg.Lambda, cfg.PriorPrecision, cfg.Convention == ConventionPaper}, nil
	}
	panic("mtl: regulariser " + cfg.Regularizer + " passed validation but is not known")
}
