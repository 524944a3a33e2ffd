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

// The objective against sums written out.
func TestEvaluateAgainstDefinition(t *testing.T) {
	cfg := Defaults()
	p := mustProblem(t, cfg, randomSplit(2, 5, 8, 6))
	c := expect.Value(p.Solver(testPool, 1e-4, 500).LearnCoupling(t.Context(), 2, 0.1))(t)
	o := p.Solver(testPool, 1e-3, 50).Optimize(t.Context(), c, nil)
	z := p.NewWeights()
	c.Gradient(&z, &o.W)
	var primal, dual, wrong float64
	for s := range p.Train.Clients {
		task := &p.Train.Clients[s]
		bad := 0.0
		for i := range task.X.Rows {
			score := 0.0
			for j, x := range task.X.Row(i) {
				score += x * o.W.Row(s)[j]
			}
			primal += math.Max(0, 1-score*task.Y[i]) / float64(task.X.Rows)
			dual += -task.Y[i] * o.Duals.Alpha[s][i] / float64(task.X.Rows)
			if score*task.Y[i] <= 0 {
				bad++
			}
		}
		wrong += bad / float64(task.X.Rows) / 2
		for j := range 5 {
			primal += 0.5 * o.W.Row(s)[j] * z.Row(s)[j]
			dual += 0.5 * o.Duals.V.Row(s)[j] * o.W.Row(s)[j]
		}
	}
	if !near(o.Primal, primal, 1e-10) || !near(o.Dual, dual, 1e-12) || !near(o.Gap, primal+dual, 1e-9) ||
		!near(o.TrainError, wrong, 1e-15) {
		t.Errorf("P, D, gap, error = %g, %g, %g, %g; want %g, %g, %g, %g", o.Primal, o.Dual, o.Gap, o.TrainError,
			primal, dual, primal+dual, wrong)
	}
}

// Permuting the tasks permutes the solution.
func TestPermutingTasksPermutesTheOptimum(t *testing.T) {
	split := randomSplit(13, 6, 15, 20, 25)
	flip := data.Split{Train: &data.Set{Features: 6}, Test: &data.Set{Features: 6}}
	for t := 2; t >= 0; t-- {
		flip.Train.Clients = append(flip.Train.Clients, split.Train.Clients[t])
		flip.Test.Clients = append(flip.Test.Clients, split.Test.Clients[t])
	}
	var optima []*Optimum
	for _, s := range []data.Split{split, flip} {
		p := mustProblem(t, Defaults(), s)
		c := expect.Value(p.Solver(testPool, 1e-10, 20000).LearnCoupling(t.Context(), 2, 0.1))(t)
		optima = append(optima, p.Solver(testPool, 1e-10, 20000).Optimize(t.Context(), c, nil))
	}
	expect.That(t, near(optima[0].Primal, optima[1].Primal, 1e-7),
		"P* = %.12g, but %.12g with the tasks reversed", optima[0].Primal, optima[1].Primal)
	for s := range 3 {
		for j := range 6 {
			a, b := optima[0].W.Row(s)[j], optima[1].W.Row(2 - s)[j]
			expect.That(t, near(a, b, 1e-3), "w_%d[%d] = %g, reversed %g", s, j, a, b)
		}
	}
}

// Weak duality and the certificate, for every regularizer and both scalings.
func TestOptimizeCertifiesItsOptimum(t *testing.T) {
	split := randomSplit(11, 6, 20, 35, 12)
	for _, reg := range []string{RegIndependent, RegMean, RegProbabilistic} {
		for _, scaling := range []string{Mean, Sum} {
			cfg := Defaults()
			cfg.Regularizer, cfg.LossScaling, cfg.Lambda = reg, scaling, 0.05
			p := mustProblem(t, cfg, split)
			c := expect.Value(p.Solver(testPool, 1e-6, 2000).LearnCoupling(t.Context(), 3, 0.1))(t)
			o := p.Solver(testPool, 1e-8, 20000).Optimize(t.Context(), c, nil)
			expect.That(t, o.RelativeGap <= 1e-8 && o.Gap >= -1e-12,
				"%s/%s: relative gap %g after %d sweeps", reg, scaling, o.RelativeGap, o.Sweeps)
			// No nearby W may have a lower objective: P is convex.
			for seed := range uint64(20) {
				w := randomMatrix(seed, 3, 6)
				for i := range w.Data {
					w.Data[i] = o.W.Data[i] + 1e-2*w.Data[i]
				}
				if other := p.Evaluate(testPool, c, &w, nil, nil); other.Primal < o.Lower() {
					t.Errorf("%s/%s: P = %g below the certified bound %g", reg, scaling, other.Primal, o.Lower())
				}
			}
		}
	}
}
