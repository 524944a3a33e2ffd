package mtl

import (
	"context"
	"errors"
	"math"

	"fedsim/data"
	"fedsim/internal/tools/rng"
)

// Optimum is a solution of a problem under a fixed coupling, certified by its
// duality gap: the minimum of P lies in [Primal - Gap, Primal].
type Optimum struct {
	Objective
	Constant    float64 // R(0), the terms in Omega alone: mostly none
	RelativeGap float64 // Gap / |Primal - Constant|
	Sweeps      int
	Duals       *Duals
	W           data.Matrix
}

// scale returns |P - R(0)|, the unit of relative gaps and gains.
func (o *Optimum) scale() float64 {
	return math.Max(math.Abs(o.Primal-o.Constant), math.SmallestNonzeroFloat64)
}

// Lower returns -D(a), the certified lower bound on the minimum of P. Measured
// against it a sub-optimality is never understated.
func (o *Optimum) Lower() float64 { return -o.Dual }

// Solver solves a problem centrally, with all data and no clock.
type Solver struct {
	p      *Problem
	pool   *Pool
	gap    float64 // the relative duality gap at which it stops
	sweeps int     // the most sweeps over all rows
}

// Solver returns a solver that stops at a relative duality gap, or after so many sweeps over all
// rows.
func (p *Problem) Solver(pool *Pool, gap float64, sweeps int) Solver {
	return Solver{p, pool, gap, sweeps}
}

// Optimize solves the problem under a fixed coupling. It visits the devices in turn, computes
// w_t of the device's task, and takes coordinate steps on the device's rows. sigma' = 1 is safe
// because one device moves at a time. Optimize stops when the duality gap is at most gap |P|,
// without the terms of P in Omega alone, or after the sweeps. start holds initial dual
// variables, or is nil. When ctx ends, Optimize stops after the current sweep and returns the
// gap reached.
//
// A loss of all scores of a row has no coordinate steps: Newton's method solves it, and its
// passes over all rows count as sweeps. So it does with a loss of one score that has a
// Curvature after some sweeps, since coordinate steps are slow on features of very different
// sizes and where lambda is small.
//
// Between two sweeps over all rows it makes several sweeps over the rows that moved in the
// last one: with a hinge loss most dual variables stay at a bound.
func (s Solver) Optimize(ctx context.Context, c Coupling, start *Duals) *Optimum {
	p := s.p
	if p.Loss == nil {
		return s.newton(ctx, c, start)
	}
	o := &Optimum{Duals: p.NewDuals(), W: p.NewWeights()}
	if start != nil {
		for k := range start.Alpha {
			copy(o.Duals.Alpha[k], start.Alpha[k])
		}
		p.RecomputeV(s.pool, o.Duals)
	}
	by := newSweeper(p, c, o.Duals)
	o.Constant = c.Value(&o.W, nil) // W is still 0
	check := 1
	for {
		over := o.Sweeps >= s.sweeps || ctx.Err() != nil
		if o.Sweeps == check || over {
			// A check costs about half a sweep over all rows, or a sixth of such a sweep
			// with the sweeps between. Check after the first sweep, then after every other.
			p.RecomputeV(s.pool, o.Duals)
			by.weights = c.Incremental(&o.Duals.V)
			c.Primal(&o.W, &o.Duals.V)
			o.Objective = p.Evaluate(s.pool, c, &o.W, &o.Duals.V, o.Duals.Alpha)
			o.RelativeGap = o.Gap / o.scale()
			if o.RelativeGap <= s.gap || over {
				return o
			}
			if o.Sweeps > patience && p.Loss.Traits().Curvature != nil && quadratic(c) {
				rest := p.Solver(s.pool, s.gap, s.sweeps-o.Sweeps).newton(ctx, c, o.Duals)
				rest.Sweeps += o.Sweeps
				return rest
			}
			check += 2
		}
		by.all()
		const between = 10
		for range between {
			by.moving()
		}
		o.Sweeps++
	}
}

// patience is the number of sweeps after which Optimize turns to Newton's method.
const patience = 50

// sweeper makes the sweeps of Optimize.
type sweeper struct {
	p        *Problem
	c        Coupling
	weights  IncrementalPrimal // of the V of duals
	duals    *Duals
	active   [][]int32 // by device: the rows that moved in the last sweep over all
	before   []float64 // dual variables of the current device before that sweep
	order    Order
	w, u, dv []float64
	count    int // visits of devices so far
}

func newSweeper(p *Problem, c Coupling, duals *Duals) *sweeper {
	d := p.Values()
	s := &sweeper{p: p, c: c, weights: c.Incremental(&duals.V), duals: duals, active: make([][]int32, len(duals.Alpha)),
		w: make([]float64, d), u: make([]float64, d), dv: make([]float64, d)}
	for k := range s.active {
		s.active[k] = make([]int32, 0, p.Train.Clients[k].X.Rows)
	}
	return s
}

// all visits every row of every device once and records which rows move.
func (s *sweeper) all() {
	for k := range s.active {
		n := s.p.Train.Clients[k].X.Rows
		s.before = append(s.before[:0], s.duals.Alpha[k]...)
		s.order.Reset(n, s.stream(k))
		s.solve(k, n)
		s.active[k] = s.p.moved(s.active[k][:0], s.before, s.duals.Alpha[k])
	}
}

// moved appends the rows with a dual variable that differs.
func (l *RowLoss) moved(rows []int32, before, after []float64) []int32 {
	last := int32(-1)
	for j, a := range after {
		if a == before[j] {
			continue
		}
		if i, _ := l.coordinate(j); int32(i) != last {
			last = int32(i)
			rows = append(rows, last)
		}
	}
	return rows
}

// moving visits the rows that moved, twice.
func (s *sweeper) moving() {
	for k, rows := range s.active {
		if len(rows) == 0 {
			continue
		}
		s.order.ResetTo(rows, s.stream(k))
		s.solve(k, 2*len(rows))
	}
}

// stream returns the draws of the next visit of a device.
func (s *sweeper) stream(k int) Stream {
	s.count++
	return rng.New(0, rng.Reference, k, s.count-1)
}

// solve computes w of the device's task, takes steps in the current order, and adds the
// change to V.
func (s *sweeper) solve(k, steps int) {
	t := s.p.TaskOf(k)
	curvature := s.c.Diag(t)
	s.weights.Task(s.w, t)
	copy(s.u, s.w)
	s.p.Subproblem(k, curvature).SDCA(s.duals.Alpha[k], s.u, &s.order, steps)
	DeltaV(s.dv, s.u, s.w, curvature)
	s.weights.Add(t, s.dv)
}

// LearnCoupling alternates W and Omega steps centrally, outer times from Omega = I/m, like
// the paper's Algorithm 1 across devices. The last
// Omega step uses floor, the earlier ones Config.Floor. For outer = 0 or a fixed Omega,
// LearnCoupling returns the coupling of Start. If ctx ends first, it returns ctx's error.
func (s Solver) LearnCoupling(ctx context.Context, outer int, floor float64) (Coupling, error) {
	p := s.p
	c, err := p.Regularizer.Start(s.pool, p.Tasks())
	if err != nil {
		return nil, err
	}
	var start *Duals
	for i := range outer {
		o := s.Optimize(ctx, c, start)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		mixed := p.Config.Floor(i + 1)
		if i == outer-1 {
			mixed = floor
		}
		next, err := p.Regularizer.Update(s.pool, &o.W, mixed)
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

// AlternatingOptimum approaches a stationary point of P(W, Omega) by at most outer central W
// and Omega steps from coupling c. The point need not be the optimum, even for a jointly
// convex regularizer: when Omega is singular, only the floor lets W leave its range (see
// JointOptimum). AlternatingOptimum ends early when a W step lowers P by less than gap,
// relative to P as in Optimize. The gap of a W step is a tenth of the last improvement; that
// of the last step is gap. The result is the last W step, which has the lowest primal
// objective. Its RelativeGap is the last improvement: alternation has no certificate. If ctx
// ends first, AlternatingOptimum returns ctx's error.
func (s Solver) AlternatingOptimum(ctx context.Context, c Coupling, outer int) (*Optimum, error) {
	p := s.p
	var start *Duals
	before, gain := math.Inf(1), math.Inf(1)
	for i := 1; ; i++ {
		step := s
		if i != outer {
			step.gap = max(s.gap, min(1e-3, gain/10))
		}
		o := step.Optimize(ctx, c, start)
		gain = (before - o.Primal) / o.scale()
		before, start = o.Primal, o.Duals
		if i >= outer || gain <= s.gap {
			o = s.Optimize(ctx, c, start)
			o.RelativeGap = gain
			return o, ctx.Err()
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next, err := p.Regularizer.Update(s.pool, &o.W, p.Config.Floor(i))
		if errors.Is(err, ErrFixed) {
			return o, nil
		}
		if err != nil {
			return nil, err
		}
		c = next
	}
}
