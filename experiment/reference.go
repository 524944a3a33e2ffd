package experiment

import (
	"errors"
	"fmt"
	"math"
	"time"

	"fedsim/data"
	"fedsim/internal/checkpoint"
	"fedsim/internal/state"
	"fedsim/mtl"
)

// warmGap is the relative gap of the W steps that learn a coupling beforehand:
// ten times below it moves the coupling of HAR by less than 1e-3.
const warmGap = 1e-4

// alternatingGap is the least gain of an outer iteration, relative to P, for
// which the reference of the whole method goes on: far below what is plotted.
const alternatingGap = 1e-5

// jointGap is the least certified gap of a joint optimum, far below the lowest target of any figure.
const jointGap = 1e-5

// reference makes what the runs of a problem start from and are measured against.
type reference struct {
	*preparer
	of   problemKey
	kept *checkpoint.Saver // nil: it is not kept
	took time.Duration     // to compute it; 0 when it was before an interruption
}

// newReference prepares one.
func (p *preparer) newReference(of problemKey) *reference {
	return &reference{preparer: p, of: of, kept: p.policy.Saver(p.ctx, fmt.Sprintf("optimum %+v", of))}
}

// solve makes it, or takes what was made before an interruption.
func (r *reference) solve(split *data.Split) (*prepared, error) {
	problem, err := mtl.NewProblem(r.of.problem, *split)
	if err != nil {
		return nil, err
	}
	out := &prepared{problem: problem, optimum: math.NaN(), optimumGap: math.NaN()}
	c, err := r.kept.Restore()
	switch {
	case err != nil:
		return nil, err
	case c != nil:
		return out, r.recall(c, out)
	case r.kept == nil:
		return out, r.compute(out)
	}
	began := r.policy.Clock()
	err = r.compute(out)
	r.took = r.policy.Clock().Sub(began)
	return out, err
}

// worthKeeping is how long a reference takes that is kept.
const worthKeeping = time.Second

// keep keeps a reference that took its time, whole: in the middle of it nobody goes
// on.
func (r *reference) keep(made *prepared) error {
	if r.kept == nil || r.took < worthKeeping {
		return nil
	}
	return r.kept.Save(func(c *state.Coder) { r.state(c, made) })
}

// recall sets out to what was kept.
func (r *reference) recall(c *state.Coder, out *prepared) (err error) {
	if r.state(c, out); c.Err() != nil {
		return r.kept.Reject(c.Err())
	}
	if r.of.problem.WarmOmega == 0 {
		out.coupling, err = out.problem.Regularizer.Start(r.pool, out.problem.Tasks())
	}
	return err
}

// errOtherRows is the reason why what was kept is refused.
var errOtherRows = errors.New("it is of other rows than there are now")

// state names what is computed, and the rows that it is computed from.
func (r *reference) state(c *state.Coder, out *prepared) {
	sameRows(c, out.problem.Train)
	for _, x := range []*float64{&out.optimum, &out.constant, &out.optimumGap} {
		c.Float64(x)
	}
	if c.Err() == nil && r.of.problem.WarmOmega > 0 {
		out.coupling = out.problem.CouplingState(c, r.pool, out.coupling)
	}
}

// compute learns the coupling and solves the problem under it.
func (r *reference) compute(out *prepared) (err error) {
	cfg, problem := &r.of.problem, out.problem
	if out.coupling, err = problem.LearnCoupling(r.ctx, r.pool, cfg.WarmOmega, cfg.WarmFloor, warmGap, 10_000); err != nil {
		return fmt.Errorf("learning the coupling: %w", err)
	}
	if cfg.OptimumSweeps == 0 {
		return nil
	}
	if r.of.outer == 1 {
		out.measure(problem.Optimize(r.ctx, r.pool, out.coupling, nil, cfg.OptimumGap, cfg.OptimumSweeps))
		return r.ctx.Err()
	}
	// The whole method is measured against the joint optimum or, where none can be
	// computed, against where alternation leads: several times as many outer
	// iterations, each solved centrally.
	var o *mtl.Optimum
	if joint, ok := problem.Regularizer.(mtl.Joint); ok {
		o, err = problem.JointOptimum(r.ctx, r.pool, joint, max(cfg.OptimumGap, jointGap), cfg.OptimumSweeps)
	} else {
		o, err = problem.AlternatingOptimum(r.ctx, r.pool, out.coupling, 5*r.of.outer, max(cfg.OptimumGap, alternatingGap), cfg.OptimumSweeps)
	}
	if err != nil {
		return fmt.Errorf("computing the reference optimum: %w", err)
	}
	out.measure(o)
	return nil
}

// measure makes o what sub-optimality is measured against.
func (p *prepared) measure(o *mtl.Optimum) {
	p.optimum, p.constant, p.optimumGap = o.Lower(), o.Constant, o.RelativeGap
}
