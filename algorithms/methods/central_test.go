package methods

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// related returns five related tasks of a few rows, pooled or not.
func related(t *testing.T, pool bool) *data.Split {
	t.Helper()
	cfg := data.Defaults()
	cfg.Bias, cfg.Standardize, cfg.Pool = true, true, pool
	cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.Factors = 5, 6, 4
	cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 14, 26
	cfg.Synthetic.Noise = 0.05
	split := expect.Value(data.Prepare(cfg))(t)
	return split
}

// centralOn returns the method on a problem with a regularizer and a lambda.
func centralOn(t *testing.T, split *data.Split, regularizer string, lambda float64,
	o centralOptions) (*central, *mtl.Problem) {
	t.Helper()
	cfg := mtl.Defaults()
	cfg.Regularizer, cfg.Lambda = regularizer, lambda
	p := expect.Value(mtl.NewProblem(cfg, *split))(t)
	factory, _ := algorithms.Lookup("central")
	setup := algorithms.Setup{Problem: p, Shape: p.Shape, Rows: p.RowCounts(), Pool: parallel.NewPool(1)}
	a := expect.Value(factory.Start(setup, &o))(t)
	return a.Algorithm.(*central), p
}

// solved returns W after a round.
func solved(t *testing.T, c *central) *data.Matrix {
	t.Helper()
	for k := range c.problem.Clients() {
		response := c.Solve(algorithms.Request{Device: k})
		expect.Must(t, response.Err == nil && response.FLOPs == 0, "%v", response)
	}
	expect.Value(c.End())(t)
	return c.Model().W
}

// Alternation with W steps of a large gap learns the same coupling as LearnCoupling, whose W
// steps have a small gap.
func TestLooseStepsLearnTheSameCoupling(t *testing.T) {
	split, o := related(t, false), centralOptions{OmegaUpdates: 10, Gap: 1e-6, Sweeps: 100_000}
	c, p := centralOn(t, split, mtl.RegProbabilistic, 0.01, o)
	w := solved(t, c)
	solver := p.Solver(c.pool, 1e-6, 100_000)
	coupling := expect.Value(solver.LearnCoupling(t.Context(), 10, p.Config.OmegaFloor))(t)
	want := solver.Optimize(t.Context(), coupling, nil)
	alone, _ := centralOn(t, split, mtl.RegIndependent, 0.01, o)
	// Measured: 0.010 and 0.38.
	far := distance(w, &want.W)
	expect.That(t, far <= 0.02, "W is %.2g of its length away from that of accurate steps, want at most 0.02", far)
	far = distance(solved(t, alone), &want.W)
	expect.That(t, far >= 0.1, "W is %.2g of its length away from that of independent tasks: the test is too weak", far)
}

// distance returns |a - b| / |b|.
func distance(a, b *data.Matrix) float64 {
	far, length := 0.0, 0.0
	for i, x := range b.Data {
		far += (x - a.Data[i]) * (x - a.Data[i])
		length += x * x
	}
	return math.Sqrt(far / length)
}

// Warm starts along a path do not change the solution.
func TestCentralDoesNotDependOnItsPath(t *testing.T) {
	for _, pool := range []bool{false, true} {
		for _, lambda := range []float64{1, 0.1, 1e-3} {
			o := centralOptions{Gap: 1e-10, Sweeps: 100_000}
			cold, _ := centralOn(t, related(t, pool), mtl.RegIndependent, lambda, o)
			o.Path = []float64{1e-3, 1, 0.1, 1e-2}
			warm, _ := centralOn(t, related(t, pool), mtl.RegIndependent, lambda, o)
			// A gap of 1e-10 P leaves |dW|^2 at most 2e-10 P/convexity, and P is below m.
			if diff := cmp.Diff(solved(t, cold).Data, solved(t, warm).Data,
				cmpopts.EquateApprox(0, math.Sqrt(1e-9/lambda))); diff != "" {
				t.Errorf("pooled %t, lambda %g: warm and cold start differ: %s", pool, lambda, diff)
			}
		}
	}
}

// The path starts at its largest value: with loose gaps, the start shows in the solution.
func TestCentralStartsFromTheLargestLambda(t *testing.T) {
	o := centralOptions{OmegaUpdates: 2, Gap: 0.3, Sweeps: 3000, Path: []float64{0.1, 10, 1}}
	want, _ := centralOn(t, related(t, false), mtl.RegProbabilistic, 0.01, o)
	o.Path = []float64{10, 1, 0.1, 0.01, 1e-3}
	got, _ := centralOn(t, related(t, false), mtl.RegProbabilistic, 0.01, o)
	w := solved(t, got)
	diff := cmp.Diff(solved(t, want).Data, w.Data)
	expect.That(t, diff == "", "order and values below lambda change the solution: %s", diff)
	var start warmStart
	for _, lambda := range []float64{10, 1, 0.1, 0.01} {
		step := expect.Value(got.solveAt(t.Context(), lambda, &start, lambda == 0.01))(t)
		expect.That(t, lambda != 0.01 || cmp.Equal(step.Data, w.Data),
			"the path does not decrease from its largest value")
	}
	o.Path = nil
	cold, _ := centralOn(t, related(t, false), mtl.RegProbabilistic, 0.01, o)
	expect.That(t, !cmp.Equal(solved(t, cold).Data, w.Data), "the path has no effect")
	if o.Gap, o.TrialGap = 0.01, 0.3; o.Rough().(*centralOptions).Gap != 0.3 || o.Gap != 0.01 {
		t.Error("a trial has another gap")
	}
}

// The global and the local models are the optima of a federation with one task, and with
// independent tasks.
func TestCentralBaselinesEqualThoseOfAFederation(t *testing.T) {
	for _, pool := range []bool{false, true} {
		c, p := centralOn(t, related(t, pool), mtl.RegIndependent, 0.03,
			centralOptions{OmegaUpdates: 3, Gap: 1e-10, Sweeps: 100_000})
		w := solved(t, c)
		coupling := expect.Value(p.Regularizer.Start(nil, p.Tasks()))(t)
		o := p.Solver(c.pool, 1e-10, 100_000).Optimize(t.Context(), coupling, nil)
		if got := p.Evaluate(c.pool, coupling, w, nil, nil).Primal; math.Abs(got-o.Primal) > 1e-6*o.Primal {
			t.Errorf("pooled %t: P = %.9g for the W of the method, the optimum is %.9g", pool, got, o.Primal)
		}
	}
}

// A solution is saved, and one that was interrupted is not taken.
func TestCentralIsInterruptedAndResumed(t *testing.T) {
	o := centralOptions{OmegaUpdates: 3, Gap: 1e-3, Sweeps: 1000}
	c, _ := centralOn(t, related(t, false), mtl.RegProbabilistic, 0.01, o)
	zero := c.Model().W.Data[0]
	response := c.Solve(algorithms.Request{Halt: algorithms.NewHalt(0, func() bool { return true })})
	if _, err := c.End(); response.Err != nil || err != nil || c.Model().W.Data[0] != zero {
		t.Errorf("halted: %v, %v, W %g", response.Err, err, c.Model().W.Data[0])
	}
	c, _ = centralOn(t, related(t, false), mtl.RegProbabilistic, 0.01, o)
	want := solved(t, c)
	var b bytes.Buffer
	c.State(state.Writing(&b))
	again, _ := centralOn(t, related(t, false), mtl.RegProbabilistic, 0.01, o)
	again.State(state.Reading(&b))
	again.solver.Do(func() { t.Error("solved again") })
	diff := cmp.Diff(want.Data, solved(t, again).Data)
	expect.That(t, diff == "", "resumed: %s", diff)
}
