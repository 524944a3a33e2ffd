package mtl

import (
	"fedsim/data"
	"fedsim/internal/parallel"
)

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

var _ Regularizer = Probabilistic{}

// Start returns the coupling of Omega = I/m.
func (r Probabilistic) Start(_ *parallel.Pool, m int) (Coupling, error) {
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
func (r Probabilistic) Update(pool *parallel.Pool, w *data.Matrix, floor float64) (Coupling, error) {
	s, err := spectrumOf(pool, w)
	if err != nil {
		return nil, err
	}
	trace := s.trace()
	if trace == 0 {
		return r.Start(pool, w.Rows)
	}
	base := floor / float64(w.Rows) // the eigenvalue of Omega off the range of W
	M := make([]float64, len(s.values))
	for k, x := range s.values {
		M[k] = r.coupling((1-floor)*x/trace + base)
	}
	return s.coupling(pool, M, r.coupling(base))
}

// UpdateFLOPs returns the cost of the decomposition of W.
func (r Probabilistic) UpdateFLOPs(m, d int) float64 { return spectrumFLOPs(m, d) }
