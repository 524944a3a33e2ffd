package theory

import (
	"fmt"
	"math"

	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/linalg"
	"fedsim/mtl"
)

// Constants are the constants of the analysis for a problem under a coupling.
type Constants struct {
	Sigma      []float64 // sigma_t by device (eq. definitionOfSigmaK), from above
	SigmaMax   float64   // the largest
	SigmaPrime []float64 // sigma'_t by device, gamma included
	Gamma      float64
	Mu         float64 // losses are (1/mu)-smooth; 0: they are not smooth
	L          float64 // losses are L-Lipschitz; +Inf: they are not
	N          float64 // sum_t c_t n_t: the paper's n
	Start      float64 // upper bound of D(0) - D*
	// Spread is sum_t sigma'_t sigma_t c_t n_t: the paper's sigma' sigma.
	Spread float64
	S      float64 // s of Theorem 1 in (0, 1]; 0 when the losses are not smooth
}

// Of returns the constants. It fails for losses of all scores and networks, and when a device's rows are
// not finite.
func Of(p *mtl.Problem, c mtl.Coupling) (*Constants, error) {
	if p.Loss == nil {
		return nil, fmt.Errorf("the theorems hold for losses of one score, not for %s", p.Config.Loss)
	}
	if p.Config.Model != mtl.ModelLinear {
		return nil, fmt.Errorf("the theorems hold for linear models, not for %s", p.Config.Model)
	}
	traits := p.Loss.Traits()
	k := &Constants{
		Gamma: p.Config.Gamma, Mu: traits.Smoothness, L: traits.Lipschitz,
		Sigma: make([]float64, p.Clients()), SigmaPrime: make([]float64, p.Clients()),
	}
	sigmaPrime := p.SigmaPrime(c)
	steepest := 0.0 // max_t sigma'_t sigma_t
	initial := 0.0
	for device := range k.Sigma {
		client := p.TaskOf(device)
		high, err := largestEigenvalue(p, device)
		if err != nil {
			return nil, err
		}
		weight := float64(p.Scale[device] * float64(p.Train.Clients[device].X.Rows*p.Outputs))
		k.Sigma[device], k.SigmaPrime[device] = p.Scale[device]*c.Diag(client)*high, sigmaPrime[client]
		k.SigmaMax = max(k.SigmaMax, k.Sigma[device])
		steepest = max(steepest, sigmaPrime[client]*k.Sigma[device])
		k.N += weight
		k.Spread += float64(sigmaPrime[client] * k.Sigma[device] * weight)
		for _, y := range p.Train.Clients[device].Y {
			for output := range p.Outputs {
				label := p.Target(y, output)
				initial += float64(p.Scale[device] * (p.Loss.Value(0, label) + p.Loss.Conjugate(0, label)))
			}
		}
	}
	// The duality gap at alpha = 0 bounds D(0) - D*. It is at most n for a loss
	// that is at most 1 at 0 and goes down to 0, which is the lemma the paper
	// cites (Smith et al. 2016, lemma 10); squares of large targets are larger.
	k.Start = max(k.N, initial)
	if k.Mu > 0 {
		k.S = k.Mu / (k.Mu + steepest)
	}
	return k, nil
}

// largestEigenvalue returns an upper bound of lambda_max(X X^T) of a device, from
// the eigenvalues of the smaller of X X^T and X^T X.
//
// With p the size of that matrix and q the length of its dot products, rounding
// perturbs the matrix by at most q eps sum |x|^2 <= q p eps lambda_max and the
// computed eigenvalue by a small multiple of p eps lambda_max; both are added.
func largestEigenvalue(p *mtl.Problem, device int) (float64, error) {
	task := p.Train.Open(device)
	defer task.Close()
	x, space := &task.X, make([]float64, p.Features)
	size, length := x.Rows, x.Cols
	n := min(size, length)
	gram := make([]float64, n*n) // its lower triangle
	if size <= length {
		for i := range size {
			r := x.Values(i, space)
			for j := i; j < size; j++ {
				gram[j*n+i] = x.Dot(j, r)
			}
		}
	} else {
		size, length = length, size
		for row := range x.Rows {
			r := x.Values(row, space)
			for i, xi := range r {
				kernel.Axpy(xi, r[:i+1], gram[i*n:][:i+1])
			}
		}
	}
	values, ok := linalg.Eigen(n, gram, false)
	if !ok {
		return 0, fmt.Errorf("the singular values of the rows of device %d were not found: they must be finite", device)
	}
	high := values[len(values)-1]
	if math.IsNaN(high) || math.IsInf(high, 0) {
		return 0, fmt.Errorf("the rows of device %d must be finite", device)
	}
	margin := float64(float64(size) * float64(length+10) * 0x1p-52)
	return max(0, high*(1+margin)), nil
}

// ThetaBar returns Theta-bar = p_max + (1 - p_max) Theta_max (lemma ThetaBound).
func ThetaBar(pMax, thetaMax float64) float64 {
	return pMax + float64((1-pMax)*thetaMax)
}
