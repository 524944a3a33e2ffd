package mtl

import (
	"fedsim/data"
)

// Probabilistic is eq. prob, the paper's own experiments (Zhang and Yeung, UAI
// 2010): Omega is a covariance with tr Omega = 1, learned as
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

var _ Joint = Probabilistic{}

// Start returns the coupling of Omega = I/m.
func (p Probabilistic) Start(_ *Pool, m int) (Coupling, error) {
	return Identity{M: m, Scale: p.coupling(1 / float64(m))}, nil
}

// coupling maps an eigenvalue of Omega to the eigenvalue of M.
func (p Probabilistic) coupling(omega float64) float64 {
	if !p.Paper {
		return omega / p.Lambda
	}
	return omega / (1 + float64(p.PriorPrecision*omega)) / (2 * p.Lambda)
}

// Update returns the coupling of (1-floor) (W^T W)^1/2/tr + floor I/m. For
// W = 0 the coupling is that of Start.
func (p Probabilistic) Update(pool *Pool, w *data.Matrix, floor float64) (Coupling, error) {
	s, err := spectrumOf(pool, w)
	if err != nil {
		return nil, err
	}
	trace := s.trace()
	if trace == 0 {
		return p.Start(pool, w.Rows)
	}
	base := floor / float64(w.Rows) // the eigenvalue of Omega off the range of W
	M := make([]float64, len(s.values))
	for k, x := range s.values {
		M[k] = p.coupling((1-floor)*x/trace + base)
	}
	return s.coupling(pool, M, p.coupling(base))
}

// UpdateFLOPs returns the cost of the decomposition of W.
func (p Probabilistic) UpdateFLOPs(m, d int) float64 { return spectrumFLOPs(m, d) }

// strength returns l of r(W) = l (|W|^2/s2 + |W|_*^2), the value of R with the Omega of
// Update and no floor; |W|_* is the nuclear norm, the sum of the singular values.
func (p Probabilistic) strength() float64 {
	if p.Paper {
		return p.Lambda
	}
	return p.Lambda / 2
}

// Reduced returns l (sum s^2/s2 + (sum s)^2).
func (p Probabilistic) Reduced(s []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range s {
		sum += x
		squares += square(x)
	}
	return p.strength() * (float64(p.PriorPrecision*squares) + square(sum))
}

// ReducedConjugate returns the maximum over s >= 0 of sum s v - l (sum s^2/s2 + S^2) with
// S = sum s: s = max(0, v - 2 l S)/(2 l/s2), or v_1^2/(4 l) without the first term.
func (p Probabilistic) ReducedConjugate(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	l, prior := p.strength(), p.PriorPrecision
	if prior == 0 {
		return square(v[0]) / (4 * l)
	}
	width := float64(2 * l * prior)
	total := p.shrunk(v, 1, width)
	most := -l * square(total)
	for _, x := range v {
		s := shrink(x, 2*l*total, width)
		most += float64(s*x) - float64(l*prior*square(s))
	}
	return most
}

// Proximal sets s = max(0, rho y - 2 l S)/(rho + 2 l/s2).
func (p Probabilistic) Proximal(y []float64, rho float64) {
	l := p.strength()
	width := rho + float64(2*l*p.PriorPrecision)
	total := p.shrunk(y, rho, width)
	for k, x := range y {
		y[k] = shrink(rho*x, 2*l*total, width)
	}
}

// shrunk solves S = sum max(0, rho y - 2 l S)/width for S. y is in descending order, so that
// the nonzero terms come first.
func (p Probabilistic) shrunk(y []float64, rho, width float64) float64 {
	l, sum, total := p.strength(), 0.0, 0.0
	for k, x := range y {
		if float64(rho*x) <= 2*l*total {
			break
		}
		sum += float64(rho * x)
		total = sum / (width + float64(2*l*float64(k+1)))
	}
	return total
}

// shrink returns max(0, y - by)/width.
func shrink(y, by, width float64) float64 { return max(0, float64(y)-float64(by)) / width }
