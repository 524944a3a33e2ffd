package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// curved returns a grid over lambda whose trials end at errors, and its winner.
func curved(errors ...float64) *Grid {
	g := &Grid{Target: results.Target{Metric: "validation_error", Value: 1e-3}}
	for i, x := range errors {
		g.Trials = append(g.Trials,
			Trial{Options: []results.Setting{{Key: "problem.lambda", Value: fmt.Sprint(math.Pow10(i - 3))}}, Last: x})
		if metric := g.Metric(); metric.Better(x, g.Trials[g.Winner].Last) {
			g.Winner = i
		}
	}
	return g
}

// A local optimum beside the winner is one that is better than both neighbors, or the one that
// an end has; equal neighbors are one.
func TestLocalOptima(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		errors []float64
		want   []int
	}{
		{[]float64{0.3, 0.2, 0.1, 0.2}, nil},
		{[]float64{0.1, 0.2, 0.3}, nil},
		{[]float64{0.1446, 0.1722, 0.1478, 0.1524, 0.1291}, []int{0, 2}}, // Vehicle Sensor by lambda
		{[]float64{0.3, 0.1, 0.3, 0.2}, []int{3}},
		{[]float64{0.3, 0.2, 0.2, 0.1, 0.1, 0.4}, nil},
		{[]float64{0.3, 0.2, 0.2, 0.3, 0.1}, []int{1}},
		{[]float64{0.1, 0.3, 0.1}, []int{2}}, // as good as the winner
		{[]float64{0.2, 0.2, 0.2}, nil},
		{[]float64{nan, nan, 0.1, nan}, nil},
		{[]float64{0.2, nan, 0.1}, []int{0}},
		{[]float64{0.1}, nil},
	} {
		var found []int
		for _, curve := range curved(c.errors...).Curves() {
			found = append(found, curve.Optima...)
		}
		expect.That(t, slices.Equal(found, c.want), "%v: local optima %v, want %v", c.errors, found, c.want)
	}
	g := curved(0.3, 0.1, 0.3, 0.2)
	text, want := g.Curves()[0].Text(g), "validation error by rows by 0.001: 30.00 %, 0.01: 10.00 % *, 0.1: 30.00 %, "+
		"1: 20.00 % (local); a better value may lie elsewhere (docs/methods.md#tuning)"
	expect.That(t, text == want, "%q\nwant %q", text, want)
	// Times: one that was given up at 5 s may have taken 6 s, but not 4 s.
	g = curved(0, 0, 0, 0)
	for i, x := range []struct {
		s     float64
		ended bool
	}{{6, true}, {5, false}, {4, true}, {7, true}} {
		g.Trials[i].Reached, g.Trials[i].GivenUp, g.Trials[i].TimeS = x.ended, !x.ended, x.s
	}
	g.Winner = 2
	if c := g.Curves(); c != nil {
		t.Errorf("%+v: what was given up is not known to be slower than 6 s", c)
	}
	g.Trials[0].TimeS = 5
	if c := g.Curves(); len(c) != 1 || !slices.Equal(c[0].Optima, []int{0}) {
		t.Errorf("%+v, want the first", c)
	}
}

// The winner is the best of all trials, after all that the scenario lists, whatever the shape of
// the curve and however far the grid grows.
func TestTheBestOfAllTrialsWins(t *testing.T) {
	e := parse(t, searched, "experiment.x.tuning.extend=3")
	rapid.Check(t, func(t *rapid.T) {
		of := e[0].Jobs[0]
		j := &job{Job: &of, extend: 3, Grid: Grid{Target: e[0].Tuning.Target, Listed: len(of.Candidates)}}
		s := newSearch(j)
		for {
			run, ok := scenario.RunSpec{}, true
			if n := len(j.Trials); n < j.Listed {
				run = of.Candidates[n]
			} else if run, ok = s.next(); !ok {
				break
			}
			j.Trials = append(j.Trials,
				Trial{Options: run.Tuned, Last: float64(rapid.IntRange(1, 9).Draw(t, "error")) / 10})
			s.note(run, j.Trials[len(j.Trials)-1])
		}
		if n := len(j.Trials); n < j.Listed || n > j.Listed+2*j.extend {
			t.Fatalf("%d trials of %d listed", n, j.Listed)
		}
		for i := range j.Trials {
			expect.That(t, j.Trials[i].Last >= j.Trials[j.Winner].Last, "trial %d is better than the winner", i)
		}
	})
}

const searched = `
[methods.fedavg]
[[experiment]]
name = "x"
[experiment.tuning]
target = { train_error = 0.001 }
[experiment.tune.fedavg]
"options.step" = [0.1, 0.3, 1, 3]
`

// A run that test rows tune or stop says so; one that validation rows do does not.
func TestChoicesByTestRowsAreTold(t *testing.T) {
	for metric, want := range map[string]bool{"test_error": true, "test_accuracy": true, "validation_error": false,
		"train_error": false} {
		value := "0.001"
		if metric == "test_accuracy" {
			value = "0.999"
		}
		runs := mustGather(t,
			parse(t, strings.Replace(searched, "train_error = 0.001", metric+" = "+value, 1),
				"data.validation_fraction=0.2", "run.rounds=2", "run.stop_at={"+metric+"="+value+"}"), Options{})
		r := runs[0]
		var about []string
		for _, w := range r.Warnings {
			about = append(about, w.About)
		}
		if slices.Contains(about, "tuned on test rows") != want ||
			slices.Contains(about, "stopped on test rows") != want {
			t.Errorf("%s: warnings %q", metric, about)
		}
		if len(r.Searched) != 1 ||
			r.Searched[0] != (results.Range{Key: "options.step", Low: "0.1", High: "3", Values: 4}) {
			t.Errorf("searched %+v", r.Searched)
		}
		expect.That(t, !want || strings.Contains(r.Warnings[0].Text, "tuned on test rows: the target is "+metric),
			"%q", r.Warnings[0].Text)
	}
}
