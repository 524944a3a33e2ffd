package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/plainjson"
	"fedsim/plots"
	"fedsim/results"
)

// The page has the report of each metric by client, and the distributions by panel and line,
// with the clients of all seeds together.
func TestLeftBehind(t *testing.T) {
	run := func(method string, values ...float64) results.Run {
		r := results.Run{Experiment: "e", Method: method}
		for k, v := range values {
			r.ByClient = append(r.ByClient, results.ClientRow{Client: k, Split: "test", Name: "error", Value: v},
				results.ClientRow{Client: k, Split: "train", Name: "error", Value: 2 * v})
		}
		return r
	}
	runs := []results.Run{run("a", 0.2, 0.4), run("a", 0.4, math.NaN()), run("b", 0.1, 0.5),
		{Experiment: "e", Method: "c"}}
	places := []plots.Place{{Panel: 0, Line: 0}, {Panel: 0, Line: 0}, {Panel: 0, Line: 1}, {Panel: 0, Line: 2}}
	var e experimentPage
	addLeft(&e, runs, places)
	if len(e.Left) != 2 || e.Left[0].Metric != "test_error" || e.Left[1].Metric != "train_error" ||
		len(e.Left[0].sections[0].Notes) != 2 {
		t.Fatalf("reports %+v", e.Left)
	}
	d := e.Left[0].Distributions
	if len(d) != 2 || d[1].Line != 1 || !slices.Equal(d[0].X, []float64{0, 0.2, 0.4, 0.5 + 0.03*(0.5-0.1)}) ||
		!slices.Equal(d[0].Share, []float64{0, 1. / 3, 1, 1}) {
		t.Errorf("distributions %+v", d)
	}
	var text strings.Builder
	if err := plainjson.Embed(&text, e.Left); err != nil || !strings.Contains(text.String(), `"metric":"test_error"`) ||
		!strings.Contains(text.String(), `"distributions":[{"panel":0,"line":0`) {
		t.Errorf("%s (%v)", text.String(), err)
	}
	var none experimentPage
	if addLeft(&none, runs[3:], places[3:]); len(none.Left) != 0 {
		t.Errorf("runs without values by client have %+v", none.Left)
	}
}

func TestThinnedDistribution(t *testing.T) {
	var d distribution
	for i := range 5000 {
		d.X, d.Share = append(d.X, float64(i)), append(d.Share, float64(i+1)/5000)
	}
	few := thinned(d)
	if len(few.X) != mostSteps || few.X[mostSteps-1] != 4999 || few.Share[mostSteps-1] != 1 {
		t.Errorf("%d points, the last at %v", len(few.X), few.X[len(few.X)-1])
	}
	for k := 1; k < len(few.X); k++ {
		expect.Must(t, few.X[k] > few.X[k-1] && few.Share[k] == (few.X[k]+1)/5000,
			"point %d at %v has %v", k, few.X[k], few.Share[k])
	}
}
