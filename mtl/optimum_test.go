package mtl

import (
	"context"
	"errors"
	"math"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
)

// Labels of a single class over all tasks are rejected. A single class in one task is valid.
func TestNewProblemRejectsInvalidData(t *testing.T) {
	split := randomSplit(1, 3, 5, 5)
	for i := range split.Train.Clients[0].Y {
		split.Train.Clients[0].Y[i] = 1
	}
	split.Train.Clients[1].Y[0] = -1
	_, err := NewProblem(Defaults(), split)
	expect.That(t, err == nil, "one class within a task was rejected: %v", err)
	for i := range split.Train.Clients[1].Y {
		split.Train.Clients[1].Y[i] = 1
	}
	_, err = NewProblem(Defaults(), split)
	expect.That(t, err != nil, "labels of one class over all tasks were taken")
	_, err = NewProblem(Defaults(), data.Split{Train: &data.Set{}, Test: &data.Set{}})
	expect.That(t, err != nil, "a set without tasks was taken")
}

// countdown is a context that has ended after so many questions.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// When the context ends, Optimize stops after a sweep with a valid gap. Methods that solve
// several problems return the context's error.
func TestCentralSolverStops(t *testing.T) {
	p := mustProblem(t, Defaults(), randomSplit(3, 5, 12, 9, 20))
	c := mustStart(t, p)
	whole := p.Solver(testPool, 1e-9, 20_000).Optimize(t.Context(), c, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const never = -1 // a gap that no number of sweeps reaches
	o := p.Solver(testPool, never, math.MaxInt).Optimize(ctx, c, nil)
	expect.That(t, o.Sweeps == 0 && o.Gap > 0 && o.Lower() <= whole.Primal && o.Primal >= whole.Lower(),
		"after %d sweeps: P = %g, gap %g; the optimum is %g", o.Sweeps, o.Primal, o.Gap, whole.Primal)
	ctx = &countdown{t.Context(), 500}
	o = p.Solver(testPool, never, math.MaxInt).Optimize(ctx, c, nil)
	// both gaps are rounded
	expect.That(t, o.Sweeps == 500 && math.Abs(o.Primal-whole.Primal) <= math.Max(o.Gap, 0)+whole.Gap+1e-12,
		"after %d sweeps: P = %g, gap %g; the optimum is %g", o.Sweeps, o.Primal, o.Gap, whole.Primal)
	if _, err := p.Solver(testPool, never, math.MaxInt).LearnCoupling(ctx, 2, 0.1); !errors.Is(err, context.Canceled) {
		t.Errorf("learning the coupling: error %v", err)
	}
	if _, err := p.Solver(testPool, never, math.MaxInt).AlternatingOptimum(ctx, c, 5); !errors.Is(err,
		context.Canceled) {
		t.Errorf("alternation: error %v", err)
	}
}

// Of a coupling with terms in Omega alone, R(0) is known as the constant and is no
// part of the unit of relative gaps.
func TestOptimumSeparatesTheTermsInOmega(t *testing.T) {
	cfg := Defaults()
	cfg.Regularizer = RegGraphical
	p := mustProblem(t, cfg, randomSplit(4, 5, 12, 9, 20))
	c := mustStart(t, p).(Shifted)
	for _, constant := range []float64{0, 3, -7} {
		c.Constant = constant
		o := p.Solver(testPool, 1e-6, 20_000).Optimize(t.Context(), c, nil)
		if o.Constant != constant || !near(o.RelativeGap, o.Gap/(o.Primal-constant), 1e-12) {
			t.Errorf("R(0) = %g: Constant %g, gap %g, relative gap %g, P = %g", constant, o.Constant, o.Gap,
				o.RelativeGap, o.Primal)
		}
	}
}
