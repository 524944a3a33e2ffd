package experiment

import (
	"math"
	"strings"
	"testing"
	"time"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
)

// limited compares local models, one model and coupled ones after a few rounds and after many.
const limited = `
[methods.local]
options.epochs = 20
set = { "problem.regularizer" = "independent", "problem.regularizer_options.warm_start" = 0 }
[methods.pooled]
algorithm = "mocha"
options.epochs = 20
set = { "problem.regularizer" = "independent", "problem.regularizer_options.warm_start" = 0, "data.pool" = true }
[methods.mocha]
options.epochs = 20
[methods.fedavg]
[[experiment]]
name = "x"
`

// limitsOf returns the test error and that of the worst clients, at the end of each run and of the model
// at the optimum, by method.
func limitsOf(t *testing.T, rounds string, o Options) (ends, limits map[string][2]float64) {
	ends, limits = map[string][2]float64{}, map[string][2]float64{}
	e := parse(t, limited, "run.rounds="+rounds, `run.client_metrics=["error"]`, "problem.loss=smoothed-hinge",
		"problem.optimum.gap=1e-10")
	for _, r := range mustGather(t, e, o) {
		m, _ := r.Metric("test_error")
		worst, _ := r.Metric("test_error_worst10")
		ends[r.Method] = [2]float64{r.AtEnd(&m).Mean, r.AtEnd(&worst).Mean}
		if r.AtOptimum != nil {
			limits[r.Method] = [2]float64{m.Of(r.AtOptimum), worst.Of(r.AtOptimum)}
		}
	}
	return ends, limits
}

// The model at the optimum has the errors that a run has after very many rounds, and does not
// depend on how many it made. A method that minimizes something else has none. A
// restored reference has the same.
func TestLimitsAreTheErrorsOfManyRounds(t *testing.T) {
	racetest.Skip(t, "compares many small runs; TestRecordedRunsEqualComputedOnes makes runs in parallel")
	few, limits := limitsOf(t, "1", Options{})
	many, same := limitsOf(t, "400", Options{})
	differ := false
	for _, method := range []string{"local", "pooled", "mocha"} {
		if limits[method] != same[method] || many[method] != same[method] ||
			math.IsNaN(same[method][0]+same[method][1]) {
			t.Errorf("%s: errors %v after many rounds, limits %v and %v", method, many[method], limits[method],
				same[method])
		}
		differ = differ || few[method] != limits[method]
	}
	expect.That(t, differ, "a round solves every problem")
	_, is := limits["fedavg"]
	expect.That(t, !is, "fedavg has the limit of a problem that it does not solve")
	store := &checkpointtest.Store{}
	for range 2 {
		_, restored := limitsOf(t, "1",
			Options{Checkpoints: checkpoint.Policy{Store: store, Every: time.Hour, Clock: leaping()}})
		for method, want := range limits {
			expect.That(t, restored[method] == want, "%s: restored limits %v, want %v", method, restored[method], want)
		}
	}
}

// Where no candidate reaches the target, tuning compares the means of the last evaluations, and
// needs no reference optimum. The runs say how many candidates there were.
func TestTuningComparesLastEvaluations(t *testing.T) {
	e := parse(t, `
[methods.fedavg]
options.batch = 1
[[experiment]]
name = "x"
[experiment.tuning]
target = { test_error = 0.0001 }
seeds = 1
[experiment.tune.fedavg]
"options.step" = [3.0, 10.0]
`, "run.report_last=4", "run.seeds=[1, 2]")
	prepared := &Preparation{}
	grids := tune(t, e, Options{Clock: time.Now, shared: Shared{Preparation: prepared}})
	for key := range prepared.problems.known {
		expect.That(t, !key.problem.HasReference(), "tuning for an error has computed a reference optimum")
	}
	for _, r := range mustGather(t, e, Options{}) {
		expect.That(t, r.Chosen == (r.Seed == 1), "seed %d: options were chosen under it: %t", r.Seed, r.Chosen)
		if !r.Chosen {
			continue
		}
		m, _ := r.Metric("test_error")
		rounds, sum := r.Rounds[len(r.Rounds)-4:], 0.0
		for i := range rounds {
			sum += m.Of(&rounds[i])
		}
		won := grids[0].Trials[grids[0].Winner]
		if math.Abs(won.Last-sum/4) > 1e-15 || won.Last == m.Of(&rounds[3]) {
			t.Errorf("the winner ends at %v, the mean of its last evaluations is %v, the last one %v", won.Last, sum/4,
				m.Of(&rounds[3]))
		}
		expect.That(t, r.Trials == 2 && r.ReportLast == 4, "%d trials, last %d", r.Trials, r.ReportLast)
	}
}

// Method optimum is the model at the optimum: it has the limits of a method for the same
// problem, from the first evaluation on and when it is tuned, and costs its devices nothing.
func TestOptimumIsTheLimit(t *testing.T) {
	const source = `
[methods.solved]
algorithm = "optimum"
set = { "problem.regularizer" = "independent", "problem.regularizer_options.warm_start" = 0, "data.pool" = true }
[methods.pooled]
algorithm = "mocha"
set = { "problem.regularizer" = "independent", "problem.regularizer_options.warm_start" = 0, "data.pool" = true }
[[experiment]]
name = "x"
[experiment.tuning]
target = { test_error_clients = 0.0001 }
[experiment.tune.solved]
"problem.lambda" = [0.1, 0.001]
`
	under := []string{"run.rounds=3", `run.client_metrics=["error"]`, "run.clients_every=1", "problem.loss=logistic"}
	grids := tune(t, parse(t, source, under...), Options{Clock: time.Now})
	best := grids[0].Trials[grids[0].Winner]
	runs := mustGather(t, parse(t, source, append(under, "problem.lambda="+best.Options[0].Value)...), Options{})
	solved, pooled := runs[0], runs[1]
	for _, name := range []string{"test_error", "test_error_worst10", "train_error"} {
		m, _ := solved.Metric(name)
		for i := range solved.Rounds {
			got, want := m.Of(&solved.Rounds[i]), m.Of(pooled.AtOptimum)
			expect.That(t, got == want, "%s in round %d is %v, the limit %v", name, i, got, want)
		}
	}
	sum := solved.Total()
	expect.That(t, sum.FLOPs == 0 && sum.BytesDown+sum.BytesUp == 0, "devices work: %+v", sum)
	m, _ := solved.Metric("test_error_clients")
	if len(grids[0].Trials) != 2 || best.Last != m.Of(&solved.Rounds[0]) ||
		grids[0].Trials[0].Last == grids[0].Trials[1].Last {
		t.Errorf("trials %+v", grids[0].Trials)
	}
	_, err := scenario.Parse("small.toml", []byte(small+source), []string{"problem.optimum.when=never"})
	expect.That(t, err != nil && strings.Contains(err.Error(), `problem.optimum.when=never: must be "auto"`),
		"without an optimum: %v", err)
}

// Errors at the end are means of five evaluations, unless the run says how many, or ended at its target.
func TestEvaluationsThatStandForTheEnd(t *testing.T) {
	const source = "[methods.fedavg]\n"
	for _, c := range []struct {
		sets []string
		want int
	}{
		{nil, 5}, {[]string{"run.report_last=3"}, 3}, {[]string{"run.report_last=1"}, 1},
		{[]string{"run.stop_at={test_error=0.49}"}, 1}, {[]string{"run.stop_at={test_error=0.0001}"}, 5},
		{[]string{"run.stop_at={test_error=0.49}", "run.report_last=2"}, 2},
	} {
		for _, r := range mustGather(t, parse(t, source, append(c.sets, "run.rounds=12")...), Options{}) {
			expect.That(t, r.ReportLast == c.want,
				"%v: %d evaluations after %d rounds, want %d", c.sets, r.ReportLast, len(r.Rounds)-1, c.want)
		}
	}
}
