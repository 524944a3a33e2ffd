package plots

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// Power times relative units of time is not in joules.
func TestEnergyInRelativeUnits(t *testing.T) {
	for _, q := range Quantities([]results.Run{{Relative: true}}) {
		if q.Name == "energy_j" && (q.Label != "energy of all devices (relative units)" || len(q.Units) > 0) {
			t.Errorf("the axis is %q in %v, must be in relative units", q.Label, q.Units)
		}
	}
}

// Methods that do not minimize the same P are drawn by the metric of the targets, or else by
// the test error, never by a sub-optimality of a problem that is not theirs.
func TestDefaultOfDifferentObjectives(t *testing.T) {
	nan := math.NaN()
	run := func(method, objective string) results.Run {
		return results.Run{Experiment: "e", Method: method, Objective: objective, Rounds: []results.Round{
			{Round: 1, TimeS: 1, Primal: 1, Gap: nan, Suboptimality: 0.5, TrainError: 0.1, TestError: 0.2,
				Metrics: []results.NamedValue{{Split: "test", Name: "accuracy", Value: 0.8}}},
		}, Metrics: []results.NamedMetric{{Split: "test", Name: "accuracy"}}}
	}
	same, other, own := run("a", "P1"), run("b", "P2"), run("c", results.OwnObjective)
	unplayed := run("d", results.OwnObjective)
	unplayed.Metrics, unplayed.Rounds[0].Metrics, unplayed.Rounds[0].Round = nil, nil, 0
	accuracy := results.Targets{{Metric: "suboptimality", Value: 0.1}, {Metric: "test_accuracy", Value: 0.9}}
	for _, c := range []struct {
		name    string
		runs    []results.Run
		targets results.Targets
		y       string
		scale   string
	}{
		{"the same P", []results.Run{same, run("b", "P1")}, accuracy, "suboptimality", "log"},
		{"the same P without a target", []results.Run{same, run("b", "P1")}, nil, "test_error", "linear"},
		{"not known", []results.Run{run("a", ""), run("b", "")}, accuracy, "suboptimality", "log"},
		{"one of its own", []results.Run{same, own}, nil, "test_error", "linear"},
		{"one of its own, with a target", []results.Run{same, own}, accuracy, "test_accuracy", "linear"},
		{"one of its own, without a round", []results.Run{unplayed}, nil, "test_error", "linear"},
		{"two problems", []results.Run{same, other}, nil, "test_error", "linear"},
	} {
		fig := Default(c.runs, c.targets)
		if a := expect.Value(Arrange(fig, c.runs))(t); fig.Y != c.y || a.Figure.YScale != c.scale {
			t.Errorf("%s: shows %s on a %s axis, must be %s on a %s axis", c.name, fig.Y, a.Figure.YScale, c.y, c.scale)
		}
	}
}

// A figure of the scenario without y shows what a default figure does, with its own axes.
func TestFiguresWithoutY(t *testing.T) {
	round := results.Round{Round: 1, TestError: 0.5, Primal: 1}
	runs := []results.Run{{Experiment: "e", Method: "m", Rounds: []results.Round{round}}}
	given := []results.Figure{{Kind: results.Lines, File: "own", YScale: "log", YMin: 0.1}}
	f := Figures(given, runs, nil)[0]
	expect.That(t, f.Y == "test_error" && f.YScale == "log" && f.YMin == 0.1 && given[0].Y == "", "%+v", f)
}
