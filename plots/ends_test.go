package plots

import (
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
	"fedsim/results"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// falling returns a run with the values 1, 0.1, ... at 0, 1, ... s.
func falling(seed uint64, rounds int, status results.Status) results.Run {
	r := results.Run{Method: "m", Seed: seed, Status: status,
		Reporting: results.Reporting{StopAt: results.ToSuboptimality(1e-3)}}
	for i := range rounds + 1 {
		r.Rounds = append(r.Rounds, results.Round{Round: i, TimeS: float64(i), Suboptimality: math.Pow10(-i)})
	}
	return r
}

// A mean line ends where the first of its runs ends without the target: nobody knows how that run
// would have gone on. A run that reached its target keeps its value. Each end on the line has a
// mark.
func TestLinesEndWithTheFirstRunThatMissedItsTarget(t *testing.T) {
	slow := falling(2, 3, results.Done)
	for i := range slow.Rounds {
		slow.Rounds[i].TimeS *= 2
	}
	for _, c := range []struct {
		name string
		runs []results.Run
		last float64
		ends []end
	}{
		{"both reach it", []results.Run{falling(1, 3, results.Done), slow}, 6,
			[]end{{3, -2, atTarget}, {6, -3, atTarget}}},
		{"a budget", []results.Run{falling(1, 2, results.Done), slow}, 2, []end{{2, -1.5, atBudget}}},
		{"a stall", []results.Run{falling(1, 1, results.Stalled), slow}, 1, []end{{1, -0.49999999999999994, stalled}}},
		{"an interruption", []results.Run{falling(1, 2, results.Interrupted), slow}, 2, nil},
		{"under way", []results.Run{falling(1, 2, results.UnderWay)}, 2, nil},
		{"a target, then a budget", []results.Run{falling(1, 3, results.Done), falling(2, 2, results.Done)}, 2,
			[]end{{2, -2, atBudget}}},
	} {
		m := expect.Value(newModel(results.Figure{YScale: "log"}, c.runs))(t)
		curves := m.panels[0].curves[0]
		b := newBand(curves, math.Inf(1), -9, m.shows, m.steps)
		last := b.x[len(b.x)-1]
		expect.That(t, last == c.last, "%s: the line ends at %v, want %v", c.name, last, c.last)
		d := cmp.Diff(c.ends, b.endsOf(curves), cmp.AllowUnexported(end{}))
		expect.That(t, d == "", "%s: %s", c.name, d)
		var marks []string
		for _, e := range m.endEntries(500) {
			marks = append(marks, e.text)
		}
		for _, e := range c.ends {
			expect.That(t, strings.Contains(strings.Join(marks, "\n"), endings[e.of]),
				"%s: the legend has the marks %q, not %q", c.name, marks, endings[e.of])
		}
	}
}

// Values up to zero have no place on a logarithmic axis: the legend names their lines.
func TestValuesUpToZeroHaveANote(t *testing.T) {
	const note = "values up to 0, which are not on a logarithmic axis: "
	zero, part, local := falling(1, 3, results.Done), falling(1, 3, results.Done), falling(1, 3, results.Done)
	zero.Method, part.Method, local.Method = "zero", "part", "local"
	for i := range zero.Rounds {
		zero.Rounds[i].Suboptimality = 0
		for _, r := range []*results.Run{&zero, &part} {
			r.Rounds[i].BytesUp = 1
		}
	}
	part.Rounds[3].Suboptimality = -1e-12
	for _, c := range []struct {
		fig  results.Figure
		want []string
	}{
		{results.Figure{YScale: "log"}, []string{note + "zero, part"}},
		{results.Figure{YScale: "linear"}, nil},
		// The start alone has none.
		{results.Figure{X: "bytes_up", XScale: "log", YScale: "linear"}, []string{note + "local"}},
	} {
		m := expect.Value(newModel(c.fig, []results.Run{zero, part, local}))(t)
		d := cmp.Diff(c.want, m.notes)
		expect.That(t, d == "", "%+v: %s", c.fig, d)
	}
}

// Every axis of a figure has at least three labels, which do not touch, whatever the range of its values.
func TestAxesHaveThreeLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var runs []results.Run
		s := rng.New(rapid.Uint64().Draw(t, "seed"), rng.Synthetic, 0, 0)
		for _, name := range []string{"a", "b"} {
			r := results.Run{Method: name, Status: results.Done, Point: []results.Setting{{Key: "panel", Value: name}}}
			draw := func(of string) (at, length float64) {
				at = math.Pow(10, rapid.Float64Range(-6, 6).Draw(t, of))
				return at, at * math.Pow(10, rapid.Float64Range(-4, 8).Draw(t, of+" range"))
			}
			x, dx := draw("x")
			y, dy := draw("y")
			for i := range 10 {
				r.Rounds = append(r.Rounds,
					results.Round{Round: i, TimeS: x + dx*float64(i), Primal: y + dy*s.Float64()})
			}
			runs = append(runs, r)
		}
		scale := rapid.SampledFrom([]string{"linear", "log"})
		fig := results.Figure{Y: "primal", XScale: scale.Draw(t, "x scale"), YScale: scale.Draw(t, "y scale"),
			Panel: rapid.SampledFrom([]string{"", "panel"}).Draw(t, "panels")}
		p := expect.Value(Draw(fig, runs))(t)
		_, size := arrangement(len(p.plots[0]), 0)
		for _, panel := range p.plots[0] {
			x, y := panel.X.Tick.Marker.(ticks), panel.Y.Tick.Marker.(ticks)
			expect.Must(t, x.labels() >= 3 && y.labels() >= 3,
				"%d and %d labels: %v and %v", x.labels(), y.labels(), x, y)
			room := x.room(interval{panel.X.Min, panel.X.Max}, size.X-panelGap)
			expect.Must(t, room >= x.widest(tickStyle()), "labels are %v apart: %v", room, x)
		}
	})
}

// Labels of a short logarithmic axis are thinned where they would touch, and values that are equal but for
// rounding have an axis with room for labels.
func TestLabelsOfNarrowRanges(t *testing.T) {
	x := interval{math.Log10(75e3), math.Log10(195e3)}
	got := logarithmic.xTicks(x, unit{Size: 1}, false, 182)
	expect.That(t, got.labels() >= 3 && got.room(x, 182) >= got.widest(tickStyle()), "labels touch: %v", got)
	r := results.Run{Method: "m",
		Rounds: []results.Round{{Primal: 0.3}, {Round: 1, TimeS: 1, Primal: math.Nextafter(0.3, 1)}}}
	p := expect.Value(Draw(results.Figure{Y: "primal"}, []results.Run{r}))(t)
	y := p.plots[0][0].Y.Tick.Marker.(ticks)
	expect.That(t, y.labels() >= 3, "labels %v", y)
}
