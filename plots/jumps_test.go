package plots

import (
	"math"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
	"fedsim/results"

	"pgregory.net/rapid"
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
	expect.NoError(t, err)
	want := []string{"curves that jump, drawn as the best value so far of each run: jumps"}
	expect.Must(t, slices.Equal(m.notes, want), "notes %q, must be %q", m.notes, want)
	for i := range runs {
		for k := range runs[i].Rounds {
			runs[i].Rounds[k].TestError = runs[i].Rounds[k].Suboptimality
		}
	}
	errors, err := newModel(results.Figure{Y: "test_error"}, runs)
	expect.That(t, err == nil && len(errors.notes) == 0,
		"test errors are drawn as the best so far, which chooses by test rows (%v)", err)
	b := newBand(m.panels[0].curves[0], math.Inf(1), -9, ofMean, true)
	for i := 5; i < len(b.x); i++ {
		if b.mean[i] > b.mean[i-1] {
			t.Fatalf("at %v the line is %v after %v: it must not rise", b.x[i], b.mean[i], b.mean[i-1])
		}
	}
}

// Line and band are of one series, of a line that jumps as of others: the line lies within the band
// at each place, and the band contains the curve of each run, at its own points too.
func TestBandsContainTheirCurves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var runs []results.Run
		jump := rapid.Float64Range(0, 2).Draw(t, "jump")
		for seed := range rapid.IntRange(2, 4).Draw(t, "seeds") {
			r := results.Run{Method: "m", Seed: uint64(seed), Status: results.Done}
			at, period := 0.0, rapid.IntRange(1, 3).Draw(t, "period")
			s := rng.New(rapid.Uint64().Draw(t, "seed"), rng.Synthetic, 0, 0)
			for i := range rapid.IntRange(2, 1500).Draw(t, "rounds") {
				decades := -float64(i)/300 + jump*float64(i/period%2) + 0.1*s.Float64()
				r.Rounds = append(r.Rounds, results.Round{Round: i, TimeS: at, Suboptimality: math.Pow(10, decades)})
				at += 0.01 + s.Float64()
			}
			runs = append(runs, r)
		}
		m :=
			expect.Value(
				newModel(
					results.Figure{Band: results.BandRange, YScale: "log",
						XScale: rapid.SampledFrom([]string{"linear", "log"}).Draw(t, "x")},
					runs))(t)
		curves := m.panels[0].curves[0]
		b := newBand(curves, math.Inf(1), math.Inf(-1), m.shows, m.steps)
		for i, x := range b.x {
			expect.Must(t, b.low[i] <= b.mean[i] && b.mean[i] <= b.high[i],
				"at %v: the line is %v, the band %v to %v", x, b.mean[i], b.low[i], b.high[i])
		}
		low, high := curve{x: b.x, y: b.low}, curve{x: b.x, y: b.high}
		for _, c := range curves {
			for i, x := range c.x {
				if len(b.x) == 0 || x < b.x[0] || x > b.x[len(b.x)-1] {
					continue
				}
				if lo, hi := low.at(x, math.Inf(-1), true), high.at(x, math.Inf(-1), true); c.y[i] < lo || c.y[i] > hi {
					t.Fatalf("at %v: a run has %v, the band is %v to %v", x, c.y[i], lo, hi)
				}
			}
		}
	})
}

// A logarithmic axis of two powers of ten has more labels than these.
func TestTwoDecadesAreNotAnAxis(t *testing.T) {
	n := 0
	for _, tick := range logTicks(interval{math.Log10(0.006), math.Log10(0.2)}, unit{Size: 1}, 7, false) {
		if tick.Label != "" {
			n++
		}
	}
	expect.That(t, n >= 3, "%d labels, must be at least 3", n)
}

// Bands are transparent, and lines have at most eight colors.
func TestColorsAndBands(t *testing.T) {
	m := &figureContent{series: make([]Line, 20), ordered: true}
	colors := map[any]bool{}
	for _, s := range m.lineStyles() {
		colors[s.line.Color] = true
		_, _, _, a := s.band.RGBA()
		expect.That(t, a <= 0xffff/4, "a band has opacity %d of 65535", a)
	}
	expect.That(t, len(colors) <= 8, "%d colors, must be at most 8", len(colors))
}
