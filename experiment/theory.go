package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/theory"
	"fedsim/results"
)

type (
	// Study compares runs that differ in their seeds with a theorem.
	Study = theory.Study
	// Bound is a theorem's bound on the rounds of a run.
	Bound = theory.Bound
	// Constants are the constants of the theorems for a problem.
	Constants = theory.Constants
)

// Comparison is a method at a point of an experiment, over its seeds, against the
// theorem that holds for it.
type Comparison struct {
	Experiment, Method string
	Point              []results.Setting
	Study
}

// errSingleUpdate is the reason for settings that the theorems require.
const errSingleUpdate = "the theorems are about a single W update that is measured in every round"

// Theory runs expanded experiments and compares each of their jobs with Theorem
// 1 or 2 for the target epsilon_D; target 0 is a thousandth of n. It needs
// run.outer = 1, theta and objectives measured in every round, methods with dual
// variables, and a reference optimum that is certified to a hundredth of the
// target. The uncertified part is added to the measured D - D*.
func Theory(ctx context.Context, experiments []scenario.Experiment, target float64, o Options) ([]Comparison, error) {
	if err := checkTheory(experiments); err != nil {
		return nil, err
	}
	return compareJobs(ctx, experiments, o, func(r *runner, j *job, runs []results.Run) (*Comparison, error) {
		return r.compare(j, runs, target)
	})
}

// compareJobs runs expanded experiments, and compares each of their jobs with a theorem by its runs under all seeds.
func compareJobs[C any](ctx context.Context, experiments []scenario.Experiment, o Options,
	compare func(*runner, *job, []results.Run) (*C, error)) ([]C, error) {
	if err := requireSeeds(experiments); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := newRunner(ctx, cancel, o, 0)
	jobs := r.jobs(experiments)
	runs := make([]results.Run, Total(experiments))
	r.compared = runs
	r.simulate(jobs)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	comparisons := make([]C, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		c, err := compare(r, j, runs[j.first:j.first+len(j.Seeds)])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", runs[j.first].ID, err)
		}
		comparisons[i] = *c
	}
	return comparisons, nil
}

// checkTheory reports settings that the theorems do not cover.
func checkTheory(experiments []scenario.Experiment) error {
	c := config.NewChecker()
	for j := range scenario.Jobs(experiments) {
		run := &j.Candidates[0]
		s := &run.Settings
		c.Require(!isExternal(run), "methods."+run.Method+".algorithm", run.Algorithm,
			"must be another: the bounds are about methods with dual variables")
		c.Require(s.Run.Outer == 1, "run.outer", s.Run.Outer, "must be 1: "+errSingleUpdate)
		c.Require(s.Run.ThetaEvery == 1, "run.theta_every", s.Run.ThetaEvery, "must be 1: "+errSingleUpdate)
		c.Require(s.Run.EvalEvery == 1, "run.eval_every", s.Run.EvalEvery, "must be 1: "+errSingleUpdate)
		c.Require(s.Run.Vary == results.VarySystem, "run.vary", s.Run.Vary,
			"must be \"system\": the bounds are about one problem")
		c.Require(s.Problem.HasReference(), "problem.optimum.when", s.Problem.OptimumWhen,
			"must be \"auto\": the bounds are about the distance from the optimum")
	}
	return c.Err()
}

// compare compares the runs of a job under its seeds with the bound.
func (r *runner) compare(j *job, runs []results.Run, target float64) (*Comparison, error) {
	p, err := r.prepare.prepare(&j.winner.Settings)
	if err != nil {
		return nil, err
	}
	constants, err := theory.Of(p.problem, p.coupling)
	if err != nil {
		return nil, err
	}
	if target == 0 {
		target = constants.N / 1000
	}
	// P* lies within optimumGap |P - R(0)| above optimum = -D(a) of the central solver.
	open := math.Abs(p.optimum-p.constant) * p.optimumGap / (1 - p.optimumGap)
	if !(open <= target/100) {
		return nil, config.Problem{Key: "problem.optimum.gap", Value: p.problem.Config.OptimumGap,
			Want: fmt.Sprintf("must be smaller, or problem.optimum.sweeps larger: D* is known to %.2g, "+
				"and a target of %.2g needs %.2g", open, target, target/100)}
	}
	samples := make([]theory.Trajectory, len(runs))
	for i := range runs {
		if samples[i], err = sample(&runs[i], p.optimum+open); err != nil {
			return nil, err
		}
	}
	const rounding = 1e-13 // of the sums that D is made of
	study, err := constants.Study(samples, target, open+float64(rounding*(constants.N+math.Abs(p.optimum))))
	if err != nil {
		return nil, err
	}
	return &Comparison{Experiment: j.Experiment, Method: j.Method, Point: j.Point, Study: *study}, nil
}

// sample reads D - D* and theta from a run; minusLeast is -D*, from above.
func sample(run *results.Run, minusLeast float64) (theory.Trajectory, error) {
	var s theory.Trajectory
	for i := range run.Rounds {
		x := &run.Rounds[i]
		if math.IsNaN(x.Dual) {
			return s, fmt.Errorf("method %q has no dual variables, which the theorems need", run.Algorithm)
		}
		s.Gaps = append(s.Gaps, x.Dual+minusLeast)
		if i == 0 {
			continue
		}
		if x.Thetas == nil {
			return s, fmt.Errorf("method %q does not measure theta, which the theorems need", run.Algorithm)
		}
		if client := slices.IndexFunc(x.Thetas, math.IsNaN); client >= 0 {
			return s,
				fmt.Errorf("round %d takes a response of device %d to an earlier round, which the theorems exclude: "+
					"federation.late must be \"drop\"", x.Round, client)
		}
		s.Thetas = append(s.Thetas, x.Thetas)
	}
	if len(s.Thetas) == 0 {
		return s, fmt.Errorf("it %s before its first round (%s)", run.Status, run.Reason)
	}
	return s, nil
}
