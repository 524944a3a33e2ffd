package plots

import (
	"math"
	"slices"
	"testing"

	"fedsim/results"
)

// A curve that jumps between two values is drawn as its best value so far, with a band of its
// range; a smooth one and one with a few turns are drawn as they are.
func TestCurvesThatJump(t *testing.T) {
	run := func(method string, value func(int) float64) results.Run {
		r := results.Run{Experiment: "e", Method: method, Status: results.Done}
		for i := range 2000 {
			r.Rounds = append(r.Rounds, results.Round{Round: i, TimeS: float64(i), Suboptimality: value(i)})
		}
		return r
	}
	runs := []results.Run{
		run("jumps", func(i int) float64 { return []float64{1, 0.1}[i%2] * math.Exp(-float64(i)/1000) }),
		run("smooth", func(i int) float64 { return math.Exp(-float64(i) / 500) }),
		run("waves", func(i int) float64 { return (1 + 0.5*math.Sin(float64(i)/50)) * math.Exp(-float64(i)/500) }),
	}
	m, err := newModel(results.DefaultFigure(), runs)
	if err != nil {
		t.Fatal(err)
	}
	if want := []bool{true, false, false}; !slices.Equal(m.panels[0].jumps, want) || len(m.notes) != 1 {
		t.Fatalf("lines that jump: %v with notes %q, must be %v with one", m.panels[0].jumps, m.notes, want)
	}
	for i := range runs {
		for k := range runs[i].Rounds {
			runs[i].Rounds[k].TestError = runs[i].Rounds[k].Suboptimality
		}
	}
	errors, err := newModel(results.Figure{Y: "test_error"}, runs)
	if err != nil || slices.Contains(errors.panels[0].jumps, true) {
		t.Errorf("test errors are drawn as the best so far, which chooses by test rows (%v)", err)
	}
	b := newBand(m.panels[0].curves[0], math.Inf(1), -9, ofMean, true)
	b.envelope(false)
	for i := 5; i < len(b.x); i++ {
		if b.mean[i] > b.mean[i-1] || b.high[i]-b.low[i] < 0.99 {
			t.Fatalf("at %v the line is %v after %v, and the band %v wide: the line must not rise and the band have a decade", b.x[i], b.mean[i], b.mean[i-1], b.high[i]-b.low[i])
		}
	}
}

// A logarithmic axis of two powers of ten has more labels than these.
func TestTwoDecadesAreNotAnAxis(t *testing.T) {
	n := 0
	for _, tick := range logTicks(interval{math.Log10(0.006), math.Log10(0.2)}, unit{Size: 1}, 7, false) {
		if tick.Label != "" {
			n++
		}
	}
	if n < 3 {
		t.Errorf("%d labels, must be at least 3", n)
	}
}

// Bands are transparent, and lines have at most eight colors.
func TestColorsAndBands(t *testing.T) {
	m := &figureContent{series: make([]Line, 20), ordered: true}
	colors := map[any]bool{}
	for _, s := range m.lineStyles() {
		colors[s.line.Color] = true
		if _, _, _, a := s.band.RGBA(); a > 0xffff/4 {
			t.Errorf("a band has opacity %d of 65535", a)
		}
	}
	if len(colors) > 8 {
		t.Errorf("%d colors, must be at most 8", len(colors))
	}
}
