package experiment

import (
	"errors"
	"fmt"
	"math"
	"time"

	"fedsim/data"
	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// warmGap is the relative gap of the W steps that learn a coupling before the run. A
// gap ten times smaller moves the coupling of HAR by less than 1e-3.
const warmGap = 1e-4

// warmFloor is the share of (tr Omega/m) I that is mixed into the Omega learned before the run.
const warmFloor = 0.1

// alternatingGap is the least gain of an outer iteration, relative to P, after which the
// reference of several outer iterations continues: far below the range of figures.
const alternatingGap = 1e-5

// jointGap is the least certified gap of a joint optimum, far below the lowest target of any figure.
const jointGap = 1e-5

// reference computes the first coupling of a problem and its reference optimum.
type reference struct {
	*preparer
	of     problemKey
	saver  *checkpoint.Saver // nil: no checkpoints
	shared bool              // other calls need the state
	made   bool              // the optimum was computed, not restored
	took   time.Duration     // the time of the computation
}

func (p *preparer) newReference(of problemKey) *reference {
	r := &reference{preparer: p, of: of}
	r.saver, r.shared = p.saver(of.name())
	return r
}

// name is the name of the state of a reference.
func (k problemKey) name() string { return fmt.Sprintf("optimum %+v", k) }

// solve computes the reference or restores it from a checkpoint.
func (r *reference) solve(split *data.Split) (*prepared, error) {
	served, split, err := r.serve(&r.of, split)
	if err != nil {
		return nil, err
	}
	var program mtl.Program
	if served.program != nil {
		program = served.program
	}
	problem, err := mtl.NewExternalProblem(r.of.problem, *split, program)
	if err != nil {
		return nil, err
	}
	if cfg := &r.of.problem; cfg.HasReference() || cfg.WarmOmega > 0 {
		if err := r.fits(problem, problem.Tasks(), r.of.outer); err != nil {
			return nil, err
		}
	}
	if served.program != nil {
		r.given.Store(r.of, problem.Shape)
	}
	out := &prepared{problem: problem, clients: problem.Clients(), rows: problem.RowCounts(), shape: problem.Shape,
		optimum: math.NaN(), optimumGap: math.NaN(),
		about: aboutData(&r.of.data, split.Train, problem.RowCounts()), test: testRows(split), served: served}
	found, err := r.saver.Load(func(c *state.Coder) { r.state(c, out) })
	switch {
	case err != nil:
		return nil, err
	case found && r.of.problem.WarmOmega == 0:
		out.coupling, err = problem.Regularizer.Start(r.pool, problem.Tasks())
		return out, err
	case found:
		return out, nil
	case r.saver == nil:
		return out, r.compute(out)
	}
	began := r.policy.Clock()
	err = r.compute(out)
	r.made, r.took = true, r.policy.Clock().Sub(began)
	return out, err
}

// minSaved is the least time to compute a reference that is saved.
const minSaved = time.Second

// save saves a complete reference, unless it was restored, or took little time and only this
// process needs it.
func (r *reference) save(made *prepared) error {
	if r.saver == nil || !r.made || r.took < minSaved && !r.shared {
		return nil
	}
	return r.saver.Save(func(c *state.Coder) { r.state(c, made) })
}

// errOtherRows is the reason to reject a checkpoint.
var errOtherRows = errors.New("its data have other rows than the data now")

// state encodes or decodes the reference and the digest of its rows.
func (r *reference) state(c *state.Coder, out *prepared) {
	sameRows(c, out.problem.Train)
	for _, x := range []*float64{&out.optimum, &out.constant, &out.optimumGap} {
		c.Float64(x)
	}
	if r.of.problem.HasReference() {
		if c.Reads() {
			w := out.problem.NewWeights()
			out.solution = &w
		}
		c.Float64s(out.solution.Data)
	}
	if c.Err() == nil && r.of.problem.WarmOmega > 0 {
		out.coupling = out.problem.CouplingState(c, r.pool, out.coupling)
	}
}

// compute learns the coupling and solves the problem under it.
func (r *reference) compute(out *prepared) (err error) {
	cfg, problem := &r.of.problem, out.problem
	if out.coupling, err = problem.Solver(r.pool, warmGap, 10_000).LearnCoupling(r.ctx, cfg.WarmOmega,
		warmFloor); err != nil {
		return fmt.Errorf("learning the coupling: %w", err)
	}
	if !cfg.HasReference() {
		return nil
	}
	if r.of.outer == 1 {
		out.measure(problem.Solver(r.pool, cfg.OptimumGap, cfg.OptimumSweeps).Optimize(r.ctx, out.coupling, nil))
		return r.ctx.Err()
	}
	// Several outer iterations are compared with the joint optimum. Without one, and for a
	// loss of all scores, which JointOptimum does not solve, they are compared with the limit of
	// several times as many, each solved centrally.
	var o *mtl.Optimum
	if joint, ok := problem.Regularizer.(mtl.Joint); ok && problem.Loss != nil {
		o, err = problem.Solver(r.pool, max(cfg.OptimumGap, jointGap), cfg.OptimumSweeps).JointOptimum(r.ctx, joint)
	} else {
		o, err = problem.Solver(r.pool, max(cfg.OptimumGap, alternatingGap), cfg.OptimumSweeps).
			AlternatingOptimum(r.ctx, out.coupling, 5*r.of.outer)
	}
	if err != nil {
		return fmt.Errorf("computing the reference optimum: %w", err)
	}
	out.measure(o)
	return nil
}

// measure sets the reference optimum of sub-optimality.
func (p *prepared) measure(o *mtl.Optimum) {
	p.optimum, p.constant, p.optimumGap, p.solution = o.Lower(), o.Constant, o.RelativeGap, &o.W
}
