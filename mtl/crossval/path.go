package crossval

import (
	"context"
	"errors"

	"fedsim/data"
	"fedsim/internal/parallel"
	"fedsim/mtl"
)

// path solves one model on the same rows for one lambda after the other. From
// the largest down, each starts at the solution of the one before.
type path struct {
	table   *Config
	model   string
	gap     float64    // relative, of the last W step
	base    mtl.Config // the problem but for its regularizer and lambda
	train   *data.Set
	workers *parallel.Pool

	next start
}

// start is where a path goes on: at the lambda it has solved last.
type start struct {
	lambda float64     // 0: none
	alpha  [][]float64 // dual variables of its first W step; they do not change any more
}

// newPath prepares a model.
func newPath(table *Config, model string, gap float64, base mtl.Config, train *data.Set, workers *parallel.Pool) *path {
	if model != MTL {
		base.Regularizer = mtl.RegIndependent
		base.WarmOmega = 0
	}
	if model == Global {
		train = data.Merge(train)
	}
	return &path{table: table, model: model, gap: gap, base: base, train: train, workers: workers}
}

// learningGap is the relative gap of the W steps that Omega is learned from. On
// HAR ten Omega updates end at the same test errors for 0.1 and for 0.01, three
// times faster.
const learningGap = 0.1

// solve returns W for a lambda, or ctx's error when that ends before.
func (p *path) solve(ctx context.Context, lambda float64) (*data.Matrix, error) {
	cfg := p.base
	cfg.Lambda = lambda
	problem, err := mtl.NewProblem(cfg, data.Split{Train: p.train, Test: &data.Set{Real: p.train.Real}})
	if err != nil {
		return nil, err
	}
	coupling, err := problem.Regularizer.Start(p.workers, problem.Tasks())
	if err != nil {
		return nil, err
	}
	var from *mtl.Duals
	if p.next.alpha != nil {
		from = p.next.scaled(problem.NewBlocks(), lambda)
	}
	updates := 0
	if p.model == MTL {
		updates = p.table.OmegaUpdates
	}
	for i := 0; ; i++ {
		gap := p.gap
		if i < updates {
			gap = max(gap, learningGap)
		}
		o := problem.Optimize(ctx, p.workers, coupling, from, gap, p.table.Sweeps)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i == 0 {
			p.next = start{lambda, o.Duals.Alpha}
		}
		if i == updates {
			return &o.W, nil
		}
		next, err := problem.Regularizer.Update(p.workers, &o.W, cfg.Floor(i+1))
		if errors.Is(err, mtl.ErrFixed) {
			return &o.W, nil
		}
		if err != nil {
			return nil, err
		}
		coupling, from = next, o.Duals
	}
}

// scaled returns the dual variables for which W is that of the lambda before: the
// coupling grows as lambda falls, and the dual variables shrink with it. Scaled
// down they stay feasible.
func (s *start) scaled(into [][]float64, lambda float64) *mtl.Duals {
	ratio := min(1, lambda/s.lambda)
	for k, a := range s.alpha {
		for i := range a {
			into[k][i] = a[i] * ratio
		}
	}
	return &mtl.Duals{Alpha: into}
}
