package results

import (
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// An accuracy is 1 minus the error of a run on classes; higher is better. A value that the run
// declares stands above it, and real targets have none.
func TestAccuracies(t *testing.T) {
	round := func(h int, test, validation float64, own ...NamedValue) Round {
		r := unknownRound()
		r.Round, r.TimeS, r.TestError, r.ValidationError, r.Metrics = h, float64(h), test, validation, own
		return r
	}
	run := Run{ID: "a", Experiment: "e", Method: "m", Status: Done,
		Rounds: []Round{round(0, 0.5, 0.5), round(1, 0.25, 0.375), round(2, 0.125, 0.25)}}
	for name, want := range map[string]float64{"test_accuracy": 0.75, "validation_accuracy": 0.625,
		"train_accuracy": math.NaN(), "test_accuracy_worst10": math.NaN()} {
		m, ok := run.Metric(name)
		if got := m.Of(&run.Rounds[1]); ok == (m.Statistic != "") || !m.Higher || !m.Share ||
			got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s is %g (%t, %+v), want %g", name, got, ok, m, want)
		}
	}
	c := run.CostTo(Target{"test_accuracy", 0.8})
	expect.That(t, c.Reached && c.Rounds == 2, "80 %% after %+v", c)
	if list := Accuracies([]Run{run}); len(list) != 2 || list[0].Name != "test_accuracy" ||
		list[1].Name != "validation_accuracy" {
		t.Errorf("accuracies %+v", list)
	}
	text := Summarize([]Run{run}, Targets{{"test_accuracy", 0.8}}).Sections().Text(120)
	for _, want := range []string{"validation error", "at the end, by rows", "12.50 %           25.00 %", "87.50 %",
		"to test accuracy by rows 80 %"} {
		expect.That(t, strings.Contains(text, want), "the summary lacks %q:\n%s", want, text)
	}

	own := Run{Metrics: []NamedMetric{{Split: "test", Name: "accuracy", Unit: "%"}},
		Rounds: []Round{round(1, 0.25, 0.5, NamedValue{"test", "accuracy", 60}), round(2, 0.25, 0.5)}}
	if m, _ := own.Metric("test_accuracy"); m.Of(&own.Rounds[0]) != 60 || !math.IsNaN(m.Of(&own.Rounds[1])) {
		t.Errorf("%g and %g instead of the declared values", m.Of(&own.Rounds[0]), m.Of(&own.Rounds[1]))
	}
	if m, ok := MetricOf([]Run{run, own}, "test_accuracy"); !ok || m.Unit != "%" {
		t.Errorf("%+v: want the declared metric", m)
	}
	run.Real = true
	if m, ok := run.Metric("test_accuracy"); ok || m.Known(&run) {
		t.Errorf("real targets have the accuracy %g", m.Of(&run.Rounds[1]))
	}
}
