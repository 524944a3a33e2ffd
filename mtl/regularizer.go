package mtl

import (
	"fmt"

	"fedsim/config"
	"fedsim/data"
)

// Regularizer couples the tasks: it maps their relationship Omega, known or learned, to a
// coupling M (appendix B of the paper).
type Regularizer interface {
	// Start returns the coupling of m tasks before the first update. The coupling computes
	// on the pool.
	Start(pool *Pool, m int) (Coupling, error)
	// Update returns the coupling of the Omega that minimizes R(W, .) for fixed
	// W (one task a row), after mixing: (1-floor) Omega + floor (tr Omega/m) I, which has
	// the same trace. It returns ErrFixed when Omega is known. The coupling is low-rank
	// when there are more tasks than features.
	Update(pool *Pool, w *data.Matrix, floor float64) (Coupling, error)
	// UpdateFLOPs returns the approximate server FLOPs of an Update of m tasks with d
	// features; 0 when Omega is known.
	UpdateFLOPs(m, d int) float64
}

// ErrFixed means that the Omega of a regularizer is known and never updated.
var ErrFixed = fmt.Errorf("the regularizer's Omega is fixed: it is known, not learned")

// regularizerOf returns the regularizer of a validated configuration for a
// number of tasks and of features. It fails when Omega cannot be read, and with a
// config.Problem when a key is invalid for the number of tasks.
func regularizerOf(cfg Config, tasks, features int) (Regularizer, error) {
	learns := cfg.Regularizer == RegClustered || cfg.Regularizer == RegProbabilistic
	if learns && tasks > features && tasks > mostRowSums && cfg.SigmaPrime != SigmaSpectral {
		return nil, config.Problem{Key: "problem.sigma_prime", Value: cfg.SigmaPrime, Want: fmt.Sprintf(
			"must be %q for regularizer %q with more than %d tasks: the sums over all pairs of %d would take too long",
			SigmaSpectral, cfg.Regularizer, mostRowSums, tasks)}
	}
	switch cfg.Regularizer {
	case RegIndependent:
		return Independent{cfg.Lambda}, nil
	case RegMean:
		return meanOf(cfg, tasks)
	case RegClustered:
		if cfg.ClusterCount >= float64(tasks) {
			return nil, config.Problem{Key: "problem.regularizer_options.cluster_count", Value: cfg.ClusterCount,
				Want: fmt.Sprintf("must be below the number of tasks, which is %d", tasks)}
		}
		return Clustered{Lambda: cfg.Lambda, Eta: cfg.Eta, Count: cfg.ClusterCount}, nil
	case RegProbabilistic:
		return Probabilistic{cfg.Lambda, cfg.PriorPrecision, cfg.Convention == ConventionPaper}, nil
	case RegGraphical:
		return Graphical{Lambda: cfg.Lambda, PriorPrecision: cfg.PriorPrecision, L1: cfg.Lambda1, L2: cfg.Lambda2,
			Features: features}, nil
	}
	panic("mtl: regularizer " + cfg.Regularizer + " passed validation but is unknown")
}

// mostRowSums is the largest number of tasks for which a low-rank coupling sums
// over pairs of tasks. With 100 features the sums take about four seconds after each Omega
// update.
const mostRowSums = 20_000

// meanOf returns the regularizer of a known Omega: that of a file, or that of
// the clusters.
func meanOf(cfg Config, tasks int) (Regularizer, error) {
	r := MeanRegularized{Lambda1: cfg.Lambda1, Lambda2: cfg.Lambda2}
	var err error
	if cfg.OmegaFile != "" {
		r.Omega, err = readOmega(cfg.OmegaFile, tasks)
		return r, err
	}
	if r.Clusters, err = parseClusters(cfg.Clusters); err != nil {
		return nil, err // Validate rejects it earlier
	}
	if n := len(r.Clusters); r.Clusters != nil && n != tasks {
		return nil, config.Problem{Key: "problem.regularizer_options.clusters", Value: cfg.Clusters,
			Want: fmt.Sprintf("must have a number for each of the %d tasks: it has %d", tasks, n)}
	}
	return r, nil
}
