package experiment

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/results"
)

// The whole program under every regularizer: with the coupling fixed MOCHA comes
// to the certified optimum, with outer iterations the objective goes down, and
// regularizers that learn nothing keep their coupling.
func TestEveryRegularizerEndToEnd(t *testing.T) {
	racetest.Skip(t, "compares many small runs; TestRecordedRunsEqualComputedOnes makes runs in parallel")
	for name, set := range map[string][]string{
		"independent":   {"problem.regularizer=independent"},
		"mean":          {"problem.regularizer=mean", "problem.regularizer_options.clusters=0,1,2,0,1"},
		"clustered":     {"problem.regularizer=clustered", "problem.lambda=0.05"},
		"probabilistic": {"problem.regularizer=probabilistic"},
		"graphical": {"problem.regularizer=graphical", "problem.lambda=1e-3",
			"problem.regularizer_options.lambda1=5e-3",
			"problem.regularizer_options.lambda2=1e-3"},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(more ...string) results.Run {
				t.Helper()
				set := append(append([]string{"problem.regularizer_options.warm_start=0"}, set...), more...)
				return mustGather(t, parse(t, "[methods.mocha]\noptions.epochs = 5\n", set...), Options{})[0]
			}
			fixed := run("run.rounds=1500", "run.stop_at.suboptimality=1e-6")
			if last, ok := fixed.Last(); !ok || last.Suboptimality > 1e-6 || !(last.Suboptimality >= 0) {
				t.Errorf("under its first coupling: sub-optimality %g after %d rounds, optimum %g within %g",
					last.Suboptimality, last.Round, fixed.Optimum, fixed.OptimumGap)
			}
			const rounds = 150
			whole := run("run.rounds=150", "run.outer=5", "problem.optimum.when=never")
			var ends, gaps []float64
			for _, r := range whole.Rounds {
				if r.Round > 0 && r.Round%rounds == 0 {
					ends, gaps = append(ends, r.Primal), append(gaps, r.Gap)
				}
				expect.That(t, r.Gap >= -1e-9*math.Abs(r.Primal), "round %d: duality gap %g", r.Round, r.Gap)
			}
			expect.Must(t, len(ends) == 5, "%d outer iterations, want 5", len(ends))
			learns := name != "independent" && name != "mean"
			// The optimum under an updated Omega is no higher than P was before the
			// update, but for the floor, and P is above the optimum by its gap at most.
			for i := 1; i < 5; i++ {
				expect.That(t, ends[i]-gaps[i] <= ends[i-1]+1e-5*math.Abs(ends[i-1]),
					"outer iterations end at P = %v with gaps %v: the objective rises in number %d", ends, gaps, i)
			}
			gain := (ends[0] - ends[4]) / math.Abs(ends[0])
			expect.That(t, (gain > 0.01) == learns, "outer iterations end at P = %v, a gain of %.2g", ends, gain)
		})
	}
}
