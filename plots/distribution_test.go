package plots

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// byClient returns a run with errors of its clients on test rows.
func byClient(method string, seed uint64, values ...float64) results.Run {
	r := results.Run{Experiment: "e", Method: method, Seed: seed}
	for t, v := range values {
		r.ByClient = append(r.ByClient, results.ClientRow{Client: t, Split: "test", Name: "error", Value: v})
	}
	return r
}

func distributionOf(t *testing.T, change func(*results.Figure), runs ...results.Run) *figureContent {
	t.Helper()
	fig := results.DefaultDistribution()
	if change != nil {
		change(&fig)
	}
	m := expect.Value(newModel(fig, runs))(t)
	return m
}

// The clients of all seeds together make one line; equal values are one step. The mark is the
// mean over seeds of the mean of the worst tenth, here of the worst client.
func TestDistributionOfTwoSeeds(t *testing.T) {
	m := distributionOf(t, nil, byClient("a", 1, 0.5, 0.25, 0.25, 0), byClient("a", 2, 0.25, 0.75, 0, math.NaN()),
		byClient("b", 1, 0.5))
	c := m.panels[0].curves[0][0]
	want := []float64{2. / 7 * 100, 5. / 7 * 100, 6. / 7 * 100, 100}
	expect.Must(t, slices.Equal(c.x, []float64{0, 25, 50, 75}) && len(c.y) == 4, "line %+v", c)
	for i := range want {
		expect.That(t, math.Abs(c.y[i]-want[i]) <= 1e-12,
			"%g %% of clients at or below %g %%, want %g %%", c.y[i], c.x[i], want[i])
	}
	if got := m.panels[0].worst; got[0] != 62.5 || got[1] != 50 {
		t.Errorf("marks at %v, want 62.5 and 50", got)
	}
	if want :=
		"line: 1 to 4 clients of 2 seeds; mark: mean of the worst 10 %; 1 of 9 values are not known"; m.bands != want {
		t.Errorf("note %q, want %q", m.bands, want)
	}
	if got := m.x.labelIn(m.x.unitFor(1)); got != "test error of a client (%)" {
		t.Errorf("horizontal axis %q", got)
	}
	if got := m.y.labelIn(m.y.unitFor(1)); got != "clients at or below (%)" {
		t.Errorf("vertical axis %q", got)
	}
	// The line spans the panel, from no client to all.
	b := newBand(m.panels[0].curves[0], 100, -1, m.shows, m.steps)
	b.across(interval{-2, 80})
	if n := len(b.x); b.x[0] != -2 || b.mean[0] != 0 || b.x[n-1] != 80 || b.mean[n-1] != 100 || b.value(-1) != 0 ||
		b.value(60) != b.mean[3] {
		t.Errorf("band %+v", b)
	}
}

// For a metric that is better when it is higher, the worst clients have the lowest values. A
// value that is no share is not in per cent, also not an error of real targets.
func TestDistributionOfOtherMetrics(t *testing.T) {
	r := byClient("a", 1, 3, 1, 2)
	for i := range r.ByClient {
		r.ByClient[i].Name = "auc"
	}
	r.Metrics = []results.NamedMetric{{Split: "test", Name: "auc", Better: "higher"}}
	m := distributionOf(t, func(f *results.Figure) { f.Y = "test_auc" }, r)
	if m.panels[0].worst[0] != 1 || m.x.labelIn(m.x.unitFor(1)) != "test AUC of a client, higher is better" {
		t.Errorf("mark at %v on axis %q", m.panels[0].worst, m.x.Label)
	}
	r = byClient("a", 1, 3, 1, 2)
	r.Real = true
	m = distributionOf(t, nil, r)
	expect.That(t, m.panels[0].worst[0] == 3 && m.x.labelIn(m.x.unitFor(1)) == "test RMSE of a client",
		"mark at %v on axis %q", m.panels[0].worst, m.x.Label)
}

// All panels share the limits of both axes. A limit of the scenario is in the unit of the
// metric, and the axis has a note.
func TestLimitsOfDistributions(t *testing.T) {
	point := func(r results.Run, value string) results.Run {
		r.Point = []results.Setting{{Key: "p", Value: value}}
		return r
	}
	runs := []results.Run{point(byClient("a", 1, 0.1, 0.2), "0"), point(byClient("a", 1, 0.3, 0.4), "1")}
	p := expect.Value(Draw(results.Figure{Kind: "distribution", Y: "test_error", Panel: "p"}, runs))(t)
	for _, panel := range p.plots[0] {
		if panel.X.Min != 0 || math.Abs(panel.X.Max-41.2) > 1e-9 || panel.Y.Min != 0 || panel.Y.Max != 104 {
			t.Errorf("limits %g to %g and %g to %g", panel.X.Min, panel.X.Max, panel.Y.Min, panel.Y.Max)
		}
	}
	p = expect.Value(Draw(results.Figure{Kind: "distribution", Y: "test_error", XMax: 0.35}, runs[1:]))(t)
	if x := p.plots[0][0].X; math.Abs(x.Max-35) > 1e-9 || !strings.Contains(x.Label.Text, "\ncut at 35 % of 40 %") {
		t.Errorf("cut at %g: %q", x.Max, x.Label.Text)
	}
}

// A value of zero has no place on a logarithmic axis. Without values there is a note.
func TestDistributionsThatCannotBeDrawn(t *testing.T) {
	fig := results.DefaultDistribution()
	fig.File, fig.XScale = "x", "log"
	_, err := Draw(fig, []results.Run{byClient("a", 1, 0.5, 0)})
	want := `figure "x": x_scale = "log": test_error of a client is 0: must be positive: choose linear`
	expect.That(t, err != nil && err.Error() == want, "%v, want %s", err, want)
	if _, err := Draw(fig, []results.Run{byClient("a", 1)}); err != nil {
		t.Error(err)
	}
}

// Runs with values by client get the figure of their distribution, unless the scenario has
// one. It has the panels and lines of the first figure, and shows a metric on test rows.
func TestFigures(t *testing.T) {
	plain := results.Run{Experiment: "e", Method: "a"}
	if list := Figures(nil, []results.Run{plain}, nil); len(list) != 1 || list[0].Kind != results.Lines {
		t.Errorf("figures %+v", list)
	}
	r := byClient("a", 1, 0.5)
	r.ByClient = append([]results.ClientRow{{Split: "train", Name: "loss", Value: 1}}, r.ByClient...)
	given := results.Figure{Kind: "lines", File: "own", Series: "p", Panel: "q", Emphasis: "z", Y: "gap"}
	list := Figures([]results.Figure{given}, []results.Run{plain, r}, nil)
	want := results.DefaultDistribution()
	want.File, want.Series, want.Panel, want.Emphasis = "e-clients", "p", "q", "z"
	expect.That(t, len(list) == 2 && list[0] == given && list[1] == want, "figures %+v", list)
	if list := Figures([]results.Figure{want}, []results.Run{r}, nil); len(list) != 1 {
		t.Errorf("figures %+v", list)
	}
}
