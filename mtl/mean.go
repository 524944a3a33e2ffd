package mtl

import (
	"fmt"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/linalg"
)

// MeanRegularized is eq. fixed_cluster, a known Omega:
//
//	R(W) = lambda_1 tr(W Omega W^T) + lambda_2 |W|^2,  M = 1/2 (lambda_1 Omega + lambda_2 I)^-1
//
// Without a given Omega, Clusters determines it: (I - 11^T/n)^2 on each cluster of n tasks
// and 0 between clusters, which pulls each task to the mean of its cluster (Evgeniou and
// Pontil, KDD 2004).
type MeanRegularized struct {
	Lambda1, Lambda2 float64
	Clusters         []int         // the cluster of every task; nil: all are one
	Omega            *mat.SymDense // positive semidefinite, m x m; nil: that of Clusters
}

var _ Regularizer = MeanRegularized{}

// Start returns M. It fails when Omega or Clusters has another number of tasks, and when
// Omega has a negative eigenvalue. Eigenvalues within the precision of a file count as 0.
func (r MeanRegularized) Start(pool *Pool, m int) (Coupling, error) {
	if r.Omega != nil {
		return r.known(m)
	}
	if r.Clusters != nil && len(r.Clusters) != m {
		return nil, fmt.Errorf("clusters of %d tasks, but there are %d: give the cluster of every task",
			len(r.Clusters), m)
	}
	return newGrouped(pool, m, r.Clusters, 1/(2*(r.Lambda1+r.Lambda2)), 1/(2*r.Lambda2)), nil
}

// known returns M under the given Omega.
func (r MeanRegularized) known(m int) (Coupling, error) {
	if n := r.Omega.SymmetricDim(); n != m {
		return nil, fmt.Errorf("omega is %d x %d, but there are %d tasks", n, n, m)
	}
	vectors := entries(r.Omega)
	values, ok := linalg.Eigen(m, vectors, true)
	if !ok {
		return nil, fmt.Errorf("the eigenvalues of omega (%d x %d) were not found", m, m)
	}
	if least, most := values[0], max(values[m-1], -values[0]); least < -omegaSymmetry*float64(m)*most {
		return nil, fmt.Errorf("omega has the eigenvalue %.3g: it must be positive semidefinite", least)
	}
	s := spectrum{vectors: columns(vectors, m, m)}
	for i, x := range values {
		values[i] = 1 / (2 * (float64(r.Lambda1*max(0, x)) + r.Lambda2))
	}
	return NewDense(s.matrix(values, 0))
}

// UpdateFLOPs returns 0.
func (MeanRegularized) UpdateFLOPs(int, int) float64 { return 0 }

// Update returns ErrFixed.
func (r MeanRegularized) Update(*Pool, *data.Matrix, float64) (Coupling, error) {
	return nil, ErrFixed
}

// parseClusters reads the cluster number of every task from "0,0,1,1"; nil for
// an empty text. Numbers are whole and not negative; gaps do not matter.
func parseClusters(text string) ([]int, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	fields := strings.Split(text, ",")
	clusters := make([]int, len(fields))
	for t, field := range fields {
		number, err := strconv.ParseUint(strings.TrimSpace(field), 10, 31)
		if err != nil {
			return nil,
				fmt.Errorf(
					"must be whole numbers with commas between them, one for each task: the cluster of task %d is %q",
					t+1, strings.TrimSpace(field))
		}
		clusters[t] = int(number)
	}
	return clusters, nil
}
