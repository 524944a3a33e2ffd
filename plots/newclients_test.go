package plots

import (
	"math"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// newcomers returns a run whose new clients have such errors, at the end, with 20, 0 and 5 rows: the order in which
// metrics are declared does not matter.
func newcomers(method string, seed uint64, with20, with0, with5 float64) results.Run {
	r := results.Run{Experiment: "e", Method: method, Seed: seed}
	round := results.NewRound()
	round.Round = 3
	for name, v := range map[string]float64{"new_error_20": with20, "new_error_0": with0, "new_error_5": with5} {
		round.Metrics = append(round.Metrics, results.NamedValue{Name: name, Value: v})
	}
	for _, name := range []string{"new_error_20", "new_error_0", "new_short_5", "new_error_5"} {
		r.Metrics = append(r.Metrics, results.NamedMetric{Name: name, Better: "lower"})
	}
	early := results.NewRound()
	early.Metrics = []results.NamedValue{{Name: "new_error_5", Value: 0.9}}
	r.Rounds = []results.Round{early, round}
	return r
}

// A line joins the values at the numbers of rows, in their order; what is not known is no point of it and is told.
func TestFigureOfNewClients(t *testing.T) {
	m := expect.Value(newModel(results.DefaultNewClients(), []results.Run{newcomers("a", 1, 0.25, 0.5, 0.375),
		newcomers("local", 1, 0.25, math.NaN(), 0.5), {Experiment: "e", Method: "none", Seed: 1}}))(t)
	c := m.panels[0].curves
	expect.That(t, slices.Equal(c[0][0].x, []float64{0, 5, 20}) && slices.Equal(c[0][0].y, []float64{0.5, 0.375, 0.25}),
		"line %+v", c[0])
	expect.That(t, slices.Equal(c[1][0].x, []float64{5, 20}) && len(c[2]) == 0, "lines %+v", c)
	const want = "not known for some numbers of rows: local, none"
	expect.That(t, slices.Equal(m.notes, []string{want}), "notes %q", m.notes)
	middle := c[0][0].at(12.5, math.Inf(-1), m.steps)
	expect.That(t, math.Abs(middle-0.3125) < 1e-15, "half way from 5 to 20 rows the line is at %g", middle)
	expect.That(t, m.x.Label == "training rows of a new client" && m.y.Label == newClientQuantities["new_error"].Label,
		"axes %q and %q", m.x.Label, m.y.Label)
}
