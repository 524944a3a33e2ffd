package mtl

import (
	"fedsim/data"
)

// Independent is R(W) = lambda m/2 tr(W W^T): Omega = I/m in the authors'
// convention, no sharing between tasks. M = I/(m lambda).
type Independent struct{ Lambda float64 }

var _ Regularizer = Independent{}

// Start returns I/(m lambda).
func (in Independent) Start(_ *Pool, m int) (Coupling, error) {
	return Identity{M: m, Scale: 1 / (float64(m) * in.Lambda)}, nil
}

// Update returns ErrFixed.
func (in Independent) Update(*Pool, *data.Matrix, float64) (Coupling, error) {
	return nil, ErrFixed
}

// UpdateFLOPs returns 0.
func (Independent) UpdateFLOPs(int, int) float64 { return 0 }
