package learning

import (
	"context"
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/mtl"
	"fedsim/results"
)

// optimum returns a certified lower bound on the minimum of a setup's problem.
func optimum(s Setup) float64 {
	return s.Problem.Solver(s.Pool, 1e-8, 10_000).Optimize(context.Background(), s.Coupling, nil).Lower()
}

// A run ends at the first evaluated round that reaches the target. Other rounds do not
// count.
func TestStopAtSuboptimality(t *testing.T) {
	const target = 0.05
	base := world(t, "mocha", federation.WaitForAll, func(s *Setup) { s.Schedule.Rounds = 400 })
	base.Schedule.Optimum = optimum(base)
	whole := run(t, base)
	first := 0
	for whole.Rounds[first].Suboptimality > target {
		first++
	}
	if first < 8 {
		t.Fatalf("the target is reached after %d rounds: too few to test", first)
	}
	for _, every := range []int{1, 3, 10} {
		s := base
		s.Schedule.EvalEvery, s.Schedule.StopAt = every, results.ToSuboptimality(target)
		out := run(t, s)
		want := (first + every - 1) / every * every
		last := out.Rounds[len(out.Rounds)-1]
		if last.Round != want || out.Status != results.Done {
			t.Errorf("evaluated every %d rounds, the run ends after round %d as %s; want %d: "+
				"round %d is the first within %g",
				every, last.Round, out.Status, want, first, target)
			continue
		}
		for h, r := range out.Rounds {
			if evaluated := h%every == 0; evaluated == math.IsNaN(r.Primal) {
				t.Errorf("round %d: P = %g when every %d rounds are evaluated", h, r.Primal, every)
			} else if evaluated && r.Primal != whole.Rounds[h].Primal {
				t.Errorf("round %d: P = %g, want %g", h, r.Primal, whole.Rounds[h].Primal)
			}
		}
	}
}

// Terms in Omega alone, which the graphical regularizer adds to P, do not change a sub-
// optimality, even where they bring P* to zero.
func TestSuboptimalityLeavesOutTheTermsInOmegaAlone(t *testing.T) {
	base := world(t, "mocha", federation.WaitForAll, func(s *Setup) { s.Schedule.Rounds = 30 })
	base.Schedule.Optimum = optimum(base)
	plain := run(t, base)
	for _, constant := range []float64{-base.Schedule.Optimum, -5, 2} {
		shifted := base
		shifted.Coupling = mtl.Shifted{Coupling: base.Coupling, Constant: constant}
		shifted.Schedule.Optimum, shifted.Schedule.Constant = base.Schedule.Optimum+constant, constant
		for h, r := range run(t, shifted).Rounds {
			want := plain.Rounds[h].Suboptimality
			if math.Abs(r.Suboptimality-want) > 1e-12*(1+want) ||
				math.Abs(r.Primal-constant-plain.Rounds[h].Primal) > 1e-12 {
				t.Fatalf("with %g added to R, round %d: sub-optimality %g, P = %g; want %g and %g more than %g",
					constant, h, r.Suboptimality, r.Primal, want, constant, plain.Rounds[h].Primal)
			}
		}
	}
}

// A target that is reached before the last W update does not end the run: targets apply
// to the whole method.
func TestStopAtWaitsForTheLastOuterIteration(t *testing.T) {
	out := run(t, world(t, "mocha", federation.WaitForAll, func(s *Setup) {
		s.Problem = learning(t)
		s.Schedule = Schedule{Outer: 3, Rounds: 5, EvalEvery: 1, StopAt: results.ToSuboptimality(1e9), Optimum: 1}
	}))
	last := out.Rounds[len(out.Rounds)-1]
	if last.Round != 11 || last.Outer != 2 {
		t.Errorf("the run ends after round %d in outer iteration %d, want 11 and 2", last.Round, last.Outer)
	}
}

// No round begins once the time is over, and the last one is evaluated.
func TestMaxTime(t *testing.T) {
	for _, c := range []struct {
		most float64
		want int
	}{{1.2, 3}, {1.5, 3}, {1.6, 4}, {0.001, 1}, {0, 10}} {
		s := world(t, "mocha", protocols.Deadline,
			func(s *Setup) { s.Schedule.MaxTime, s.Schedule.EvalEvery = c.most, 100 })
		out := run(t, s)
		last := out.Rounds[len(out.Rounds)-1]
		if last.Round != c.want || math.IsNaN(last.Primal) || out.Status != results.Done {
			t.Errorf("at most %g s in rounds of 0.5 s: %d rounds, P = %g, %s; want %d, evaluated", c.most, last.Round,
				last.Primal, out.Status, c.want)
		}
	}
}

// When the context ends, the run completes its round, and its rounds are the first ones
// of the whole run.
func TestInterruption(t *testing.T) {
	s := world(t, "mocha", federation.WaitForAll, nil)
	whole := run(t, s)
	for _, after := range []int{0, 1, 7, 10} {
		ctx, cancel := context.WithCancel(t.Context())
		if after == 0 {
			cancel()
		}
		var seen []results.Round
		out, err := start(t, s).Run(ctx, func(r results.Round) {
			seen = append(seen, r)
			if r.Round == after {
				cancel()
			}
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		want := results.Interrupted
		if after == s.Schedule.Rounds {
			want = results.Done
		}
		if out.Status != want || out.Reason != "" {
			t.Errorf("after round %d: status %s (%s), want %s", after, out.Status, out.Reason, want)
		}
		if err := same(out.Rounds, whole.Rounds[:after+1]); err != nil {
			t.Errorf("after round %d: %v", after, err)
		}
		if err := same(seen, out.Rounds); err != nil {
			t.Errorf("after round %d, observed: %v", after, err)
		}
	}
}

// An Omega update between outer iterations: rounds count on, the new coupling
// is that of W before, and a fixed Omega changes nothing.
func TestOuterIterations(t *testing.T) {
	plan := Schedule{Outer: 3, Rounds: 4, EvalEvery: 1, Optimum: math.NaN()}
	s := world(t, "mocha", federation.WaitForAll, func(s *Setup) { s.Problem, s.Schedule = learning(t), plan })
	f := start(t, s)
	out := finish(t, f)
	twin, err := s.Factory.New(algorithms.Setup{Problem: s.Problem, Coupling: s.Coupling, Workers: 1}, s.Options)
	if err != nil {
		t.Fatal(err)
	}
	h := 0
	for outer := range 3 {
		if outer > 0 {
			c, err := s.Problem.Regularizer.Update(s.Pool, s.Problem.TaskModels(twin.Model().W),
				s.Problem.Config.OmegaFloor)
			if err != nil {
				t.Fatal(err)
			}
			twin.SetCoupling(c)
		}
		for range 4 {
			playRound(twin, s, h)
			h++
			r := out.Rounds[h]
			if r.Round != h || r.Outer != outer {
				t.Errorf("row %d is round %d of outer iteration %d, want %d", h, r.Round, r.Outer, outer)
			}
			m := twin.Model()
			if want := s.Problem.Evaluate(s.Pool, s.Coupling, m.W, m.V, m.Duals).Primal; r.Primal != want {
				t.Errorf("round %d: P = %v, want %v", h, r.Primal, want)
			}
		}
	}
	if err := same(f.method.Model(), twin.Model()); err != nil {
		t.Error(err)
	}

	fixed := world(t, "mocha", federation.WaitForAll, func(s *Setup) { s.Schedule = plan })
	one := world(t, "mocha", federation.WaitForAll,
		func(s *Setup) { s.Schedule = Schedule{Outer: 1, Rounds: 12, EvalEvery: 1, Optimum: math.NaN()} })
	a, b := run(t, fixed), run(t, one)
	for h := range a.Rounds {
		a.Rounds[h].Outer = 0
	}
	if err := same(a, b); err != nil {
		t.Errorf("three outer iterations under a fixed Omega against one: %v", err)
	}
}

// A test error is one whatever the coupling is: a run that is to stop there does so
// in any outer iteration.
func TestStopAtTestErrorInAnyOuterIteration(t *testing.T) {
	setup := world(t, "mocha", federation.WaitForAll, func(s *Setup) {
		s.Problem = learning(t)
		s.Schedule = Schedule{Outer: 3, Rounds: 5, EvalEvery: 1, Optimum: 1}
	})
	whole := run(t, setup)
	const early = 3 // a round of the first outer iteration
	target := math.Inf(1)
	for _, r := range whole.Rounds[:early+1] {
		target = min(target, r.TestError)
	}
	first := 0
	for whole.Rounds[first].TestError > target {
		first++
	}
	setup.Schedule.StopAt = results.Target{Metric: "test_error", Value: target}
	out := run(t, setup)
	if got := len(out.Rounds) - 1; got != max(first, 1) || !(target < 1) {
		t.Errorf("the run ends after round %d, want %d, the first with a test error of %g", got, max(first, 1), target)
	}
}
