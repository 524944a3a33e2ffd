package mtl

import (
	"errors"
	"math"

	"fedsim/data"
	"fedsim/internal/kernel"
	"fedsim/internal/parallel"
	"fedsim/internal/rng"
)

// Optimum is a solution of a problem under a fixed coupling, certified by its
// duality gap: the minimum of P lies in [Primal - Gap, Primal].
type Optimum struct {
	Objective
	RelativeGap float64 // Gap / |Primal|
	Sweeps      int
	Duals       *Duals
	W           data.Matrix
}

// Lower returns -D(a), the certified lower bound on the minimum of P. Measured
// against it a sub-optimality is never understated.
func (o *Optimum) Lower() float64 { return -o.Dual }

// Optimize solves the problem centrally, with all data at hand and no clock: it
// visits the tasks in turn, brings w_t = (V M)_t up to date and takes an exact
// local step (sigma' = 1 suffices when tasks move one at a time), until the
// duality gap is at most gap |P| or after so many sweeps. start may hold dual
// variables to start from, or be nil.
func (p *Problem) Optimize(pool *parallel.Pool, c Coupling, start *Duals, gap float64, sweeps int) *Optimum {
	o := &Optimum{Duals: p.NewDuals(), W: p.NewWeights()}
	if start != nil {
		for t := range start.Alpha {
			copy(o.Duals.Alpha[t], start.Alpha[t])
		}
		p.Recompute(o.Duals)
	}
	u := make([]float64, p.Features())
	w := make([]float64, p.Features())
	dv := make([]float64, p.Features())
	var order Order
	const localEpochs = 2 // measured on HAR: fewest passes to a gap of 1e-6
	check := 1
	for {
		if o.Sweeps == check || o.Sweeps >= sweeps {
			// A check costs about half a pass: look often at first, every tenth
			// pass later.
			p.Recompute(o.Duals)
			c.Multiply(&o.W, &o.Duals.V)
			o.Objective = p.Evaluate(pool, &o.W, &o.Duals.V, o.Duals.Alpha)
			o.RelativeGap = o.Gap / math.Max(math.Abs(o.Primal), math.SmallestNonzeroFloat64)
			if o.RelativeGap <= gap || o.Sweeps >= sweeps {
				return o
			}
			check = max(check+1, min(2*check, check+10))
		}
		for t := range p.Tasks() {
			c.MultiplyTask(w, &o.Duals.V, t)
			copy(u, w)
			n := p.Train.Tasks[t].X.Rows
			order.Reset(n, rng.New(0, rng.Reference, t, o.Sweeps))
			p.SDCA(t, o.Duals.Alpha[t], u, c.Diag(t), &order, localEpochs*n)
			Change(dv, u, w, c.Diag(t))
			kernel.Axpy(1, dv, o.Duals.V.Row(t))
		}
		o.Sweeps++
	}
}

// LearnCoupling alternates W and Omega steps centrally, outer times from
// Omega = I/m, as the paper's Algorithm 1 does across devices: each W step to
// the relative gap, the last Omega step with floor mixed in and the earlier ones
// with Config.OmegaFloor. It returns Start's coupling for outer = 0 or a fixed
// Omega.
func (p *Problem) LearnCoupling(pool *parallel.Pool, outer int, floor, gap float64, sweeps int) (Coupling, error) {
	c, err := p.Regularizer.Start(p.Tasks())
	if err != nil {
		return nil, err
	}
	var start *Duals
	for i := range outer {
		o := p.Optimize(pool, c, start, gap, sweeps)
		mixed := p.Config.OmegaFloor
		if i == outer-1 {
			mixed = floor
		}
		next, err := p.Regularizer.Update(&o.W, mixed)
		if errors.Is(err, ErrFixed) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		c, start = next, o.Duals
	}
	return c, nil
}

// AlternatingOptimum approaches a stationary point of P(W, Omega), which for the
// jointly convex "probabilistic" regulariser is the optimum, by outer central W
// and Omega steps from coupling c; it ends early when a W step gains less than
// gap relative to P. It returns the last W step, whose primal objective is the
// lowest of all, with RelativeGap set to the last gain: alternation has no
// certificate.
func (p *Problem) AlternatingOptimum(pool *parallel.Pool, c Coupling, outer int, gap float64, sweeps int) (*Optimum, error) {
	var last *Optimum
	for {
		var start *Duals
		if last != nil {
			start = last.Duals
		}
		o := p.Optimize(pool, c, start, gap, sweeps)
		if last != nil {
			o.RelativeGap = (last.Primal - o.Primal) / math.Abs(o.Primal)
		}
		if outer--; outer <= 0 || last != nil && o.RelativeGap <= gap {
			return o, nil
		}
		last = o
		next, err := p.Regularizer.Update(&o.W, p.Config.OmegaFloor)
		if errors.Is(err, ErrFixed) {
			return o, nil
		}
		if err != nil {
			return nil, err
		}
		c = next
	}
}
