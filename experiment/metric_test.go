package experiment

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// Candidates are compared by their time to a target of any metric, without a
// reference optimum too, and a run ends when it has reached its own.
func TestTargetsOfAnyMetric(t *testing.T) {
	e := parse(t, `
stop_at = { test_error = 0.3 }
[devices]
clock_ghz = 0.001
[methods.mocha]
[[experiment]]
name = "tuned"
[experiment.tuning]
target = { test_error = 0.3 }
[experiment.tune.mocha]
"options.epochs" = [20, 0.01, 1]
`, "problem.optimum.when=never")
	target := results.Target{Metric: "test_error", Value: 0.3}
	all := mustGather(t, alone(e[0]), Options{})
	best, winner := math.Inf(1), -1
	for i := range e[0].Jobs[0].Candidates {
		r := all[i]
		hit, ok := r.Reached(target)
		if !ok {
			continue
		}
		if last, _ := r.Last(); last.Round != hit.Round {
			t.Errorf("candidate %d reaches %v in round %d and continues to round %d", i, target, hit.Round, last.Round)
		}
		if last, _ := r.Last(); !math.IsNaN(last.Suboptimality) {
			t.Errorf("candidate %d has a sub-optimality without an optimum", i)
		}
		if hit.TimeS < best {
			best, winner = hit.TimeS, i
		}
	}
	expect.Must(t, winner > 0, "candidate %d wins: must be neither none nor the first", winner)
	runs := mustGather(t, e, Options{})
	got := tunedTo(runs[0])
	expect.That(t, got == tunedTo(all[winner]), "tuned to %s, want %s", got, tunedTo(all[winner]))
}

// A constant answer is the most frequent label of the training rows, the lowest of equal ones, or the mean of
// real targets; its error is that of all test rows, whatever clients have them.
func TestConstantAnswer(t *testing.T) {
	set := func(real bool, labels ...[]float64) *data.Set {
		s := &data.Set{Real: real}
		for _, y := range labels {
			s.Clients = append(s.Clients, data.Client{Y: y})
		}
		return s
	}
	for _, c := range []struct {
		split data.Split
		want  *results.TestRows
	}{
		{
			data.Split{Train: set(false, []float64{1, 1}, []float64{-1, -1, -1}),
				Test: set(false, []float64{1}, []float64{-1, -1, -1})},
			&results.TestRows{Constant: .25, Clients: 2, Few: 2},
		},
		{data.Split{Train: set(false, []float64{2, 1, 1, 2}), Test: set(false, []float64{2, 2, 1, 0}, nil)},
			&results.TestRows{Constant: .75, Clients: 1, Few: 1}},
		{
			data.Split{Train: set(true, []float64{0}, []float64{2, 4}),
				Test: set(true, []float64{2, 2}, make([]float64, 10))},
			&results.TestRows{Constant: math.Sqrt(40. / 12), Clients: 2, Few: 1},
		},
		{data.Split{Train: set(false, []float64{1}), Test: set(false, nil)}, nil},
	} {
		diff := cmp.Diff(c.want, testRows(&c.split))
		expect.That(t, diff == "", "%v", diff)
	}
}
