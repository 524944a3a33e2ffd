package plots

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// namedRuns are a run of a learner with metrics of its own, and one without.
func namedRuns(values ...float64) []results.Run {
	nan := math.NaN()
	own := results.Run{Method: "own", Metrics: []results.NamedMetric{
		{Split: "test", Name: "accuracy", Better: "higher"}, {Name: "delay", Better: "lower", Unit: "ms"},
		{Name: "never"},
	}}
	plain := results.Run{Method: "plain"}
	for h, v := range values {
		x := results.Round{Round: h, TimeS: float64(h), Primal: nan, Gap: nan, Suboptimality: nan, TrainError: nan,
			TestError: nan, ValidationError: nan}
		plain.Rounds = append(plain.Rounds, x)
		x.Metrics = []results.NamedValue{{Split: "test", Name: "accuracy", Value: v}, {Name: "delay", Value: 10 * v}}
		own.Rounds = append(own.Rounds, x)
	}
	return []results.Run{own, plain}
}

// A metric that a learner declares has a line for each run that has it, from round 0 on,
// and its unit and direction on the axis.
func TestDeclaredMetricsAreDrawn(t *testing.T) {
	runs := namedRuns(0.125, 0.5, 0.75)
	for name, want := range map[string]string{"test_accuracy": "test accuracy by rows, higher is better",
		"delay": "delay (ms)"} {
		m := expect.Value(newModel(results.Figure{Y: name, YScale: "log"}, runs))(t)
		got := m.y.labelIn(m.y.unitFor(1))
		expect.That(t, got == want && m.yScale == logarithmic, "%q on scale %d, want %q", got, m.yScale, want)
		lines := m.panels[0].curves
		expect.Must(t, len(lines) == 2 && len(lines[0]) == 1 && len(lines[1]) == 0 && len(lines[0][0].y) == 3,
			"%s: %v", name, lines)
		if y := m.yScale.value(lines[0][0].y[2]); math.Abs(
			y/map[string]float64{"test_accuracy": 0.75, "delay": 7.5}[name]-1) > 1e-15 {
			t.Errorf("%s ends at %g", name, y)
		}
	}
	// Zero has no place on a logarithmic axis.
	m, err := newModel(results.Figure{Y: "test_accuracy", YScale: "log"}, namedRuns(0, 0.5))
	expect.That(t, err == nil && m.yScale == linear && m.panels[0].curves[0][0].y[0] == 0,
		"scale %d: %v", m.yScale, err)
	if _, err := newModel(results.Figure{Y: "test_auc"}, runs); err == nil {
		t.Error("test_auc is drawn, and no run declares it")
	}
	if fig := Default(runs, nil); fig.Y != "test_accuracy" || fig.YScale != "" {
		t.Errorf("the default figure shows %s on a %s axis", fig.Y, fig.YScale)
	}
	for _, y := range []string{"delay", "never"} {
		_, err := Draw(results.Figure{Y: y}, runs)
		expect.That(t, err == nil, "%v", err)
	}
}
