package plots

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// limitedRuns are two methods under two seeds; the first has limits of 0.1 and 0.3.
func limitedRuns() []results.Run {
	var runs []results.Run
	for _, method := range []string{"solves", "other"} {
		for seed := range 2 {
			r := results.Run{Experiment: "e", Method: method, Seed: uint64(seed)}
			for h := range 5 {
				r.Rounds = append(r.Rounds,
					results.Round{Round: h, TimeS: float64(h), TestError: 1 / float64(h+1), TrainError: math.NaN(),
						Primal: math.NaN(), Gap: math.NaN(), Suboptimality: math.NaN()})
			}
			if method == "solves" {
				r.AtOptimum = &results.Round{TestError: 0.1 + 0.2*float64(seed)}
			}
			runs = append(runs, r)
		}
	}
	return runs
}

// The limit of a line is the mean over its seeds, on the axis of the figure, and within its
// limits. A line whose runs have none has no limit.
func TestLimitsOfLines(t *testing.T) {
	fig := results.Figure{File: "x", X: "round", Y: "test_error", YScale: "log", Limits: true}
	m, err := newModel(fig, limitedRuns())
	expect.NoError(t, err)
	limits := m.panels[0].limits
	expect.That(t, len(limits) == 2 && math.Abs(limits[0]-math.Log10(0.2)) <= 1e-12 && math.IsNaN(limits[1]),
		"limits %v", limits)
	runs := limitedRuns()
	runs[0].AtOptimum.TestError, runs[1].AtOptimum.TestError = 0.01, 0.01
	if m, err = newModel(fig, runs); err != nil {
		t.Fatal(err)
	}
	y, _ := m.yLimits()
	expect.That(t, y.min <= -2, "the axis begins at %g, above the limit", y.min)
	svg := func(limits bool) string {
		fig.Limits = limits
		p := expect.Value(Draw(fig, runs))(t)
		var b bytes.Buffer
		expect.NoError(t, p.WriteSVG(&b))
		return b.String()
	}
	const note, dashes = "thin dashes: the model at the optimum", "stroke-dasharray:2,2.5"
	if with, without := svg(true), svg(false); !strings.Contains(with, note) || strings.Contains(without, note) ||
		!strings.Contains(with, dashes) || strings.Contains(without, dashes) {
		t.Error("the limits are not drawn, or drawn unasked")
	}
	for i := range runs {
		runs[i].AtOptimum = nil
	}
	expect.That(t, !strings.Contains(svg(true), note), "a note on limits that are not there")
}
