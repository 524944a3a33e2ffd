package plots

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

// bounds returns a chart of two panels with three lines. One panel lacks the second line;
// the third has a band.
func bounds() Chart {
	c := Chart{File: "chart", Title: "Bound and measurement", XLabel: "rounds", YLabel: "distance",
		Lines: []string{"bound", "other bound", "measured"}, Bands: "band: lowest to highest of 3 seeds"}
	for i, rate := range []float64{0.2, 0.05} {
		var x, bound, other, y, low, high []float64
		for h := range 61 {
			f := float64(h)
			x = append(x, f)
			bound, other = append(bound, 10*math.Exp(-rate/4*f)), append(other, 12*math.Exp(-rate/8*f))
			y = append(y, 3*math.Exp(-rate*f))
			low, high = append(low, y[h]*0.7), append(high, y[h]*(1+f/30))
		}
		p := ChartPanel{Title: []string{"fast", "slow"}[i],
			Lines: []ChartLine{{X: x, Y: bound}, {X: x, Y: other}, {X: x, Y: y, Low: low, High: high}}}
		if i == 1 {
			p.Lines[1] = ChartLine{}
		}
		c.Panels = append(c.Panels, p)
	}
	return c
}

func TestChartPicture(t *testing.T) {
	p := expect.Value(DrawChart(bounds()))(t)
	compareGolden(t, "chart", p)
}

// A chart draws the given lines and bands.
func TestChart(t *testing.T) {
	three := []curve{
		{x: []float64{0, 1}, y: []float64{0, -1}}, {x: []float64{0, 1}, y: []float64{2, 0.5}},
		{x: []float64{0, 1}, y: []float64{2.5, 4}},
	}
	b := newBand(three, 9, -9, ofThree, false)
	want := band{x: []float64{0, 1}, mean: []float64{2, 0.5}, low: []float64{0, -1}, high: []float64{2.5, 4}}
	d := cmp.Diff(want, b, cmp.AllowUnexported(band{}))
	expect.That(t, d == "", "%v", d)
	dir := t.TempDir()
	names, err := SaveChart(dir, bounds())
	expect.Must(t, err == nil && len(names) == 3 && names[1] == "chart.png" && names[2] == "chart.svg",
		"files %v, %v", names, err)
	text, err := os.ReadFile(filepath.Join(dir, "chart.svg"))
	expect.NoError(t, err)
	for _, want := range []string{">bound<", ">other bound<", ">measured<", ">rounds<", ">distance<", ">fast<",
		">slow<"} {
		expect.That(t, strings.Contains(string(text), want), "the SVG has no %s", want)
	}
}

func TestChartRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(*Chart)
		want   string
	}{
		{func(c *Chart) { c.Panels[1].Lines = c.Panels[1].Lines[:2] },
			`chart "chart": panel 2 has 2 lines: must have 3`},
		{func(c *Chart) { c.Panels[0].Lines[0].Y = c.Panels[0].Lines[0].Y[:5] },
			`line "bound" has 5 values: must have one for each of 61 points`},
		{func(c *Chart) { c.Panels[0].Lines[2].Low = nil }, `line "measured" has 0 values`},
		{func(c *Chart) { c.Panels[0].Lines[0].Y[3] = math.NaN() }, `line "bound" is NaN at point 3: must be finite`},
		{func(c *Chart) { c.Panels[0].Lines[0].Y[3] = math.Inf(1) }, `line "bound" is +Inf at point 3: must be finite`},
		{func(c *Chart) { c.Panels = nil }, `chart "chart": has no panel`},
		{func(c *Chart) { c.LogX = true }, `line "bound" has x = 0 at point 0: must be positive on a logarithmic axis`},
	} {
		chart := bounds()
		c.change(&chart)
		_, err := DrawChart(chart)
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "error %v, want %s", err, c.want)
		_, err = SaveChart(t.TempDir(), chart)
		expect.That(t, err != nil, "SaveChart did not fail")
	}
}

// A logarithmic horizontal axis shows the two decades of the data.
func TestLogChart(t *testing.T) {
	line := ChartLine{X: []float64{1, 10, 100}, Y: []float64{2, 20, 200}}
	p :=
		expect.Value(
			DrawChart(Chart{File: "decades", LogX: true, Lines: []string{"linear"},
				Panels: []ChartPanel{{Lines: []ChartLine{line}}}}))(t)
	if x := p.plots[0][0].X; x.Min > 0 || x.Max < 2 || x.Max-x.Min > 3 {
		t.Errorf("the horizontal axis is from 10^%g to 10^%g, want 10^0 to slightly above 10^2", x.Min, x.Max)
	}
}

// A linear vertical axis of a chart starts at zero.
func TestLinearChart(t *testing.T) {
	line := ChartLine{X: []float64{1, 2, 3}, Y: []float64{0, 60, 40}}
	p :=
		expect.Value(
			DrawChart(
				Chart{File: "shares", LinearY: true, Lines: []string{"a"},
					Panels: []ChartPanel{{Lines: []ChartLine{line}}}}))(t)
	if y := p.plots[0][0].Y; y.Min != 0 || y.Max < 60 || y.Max > 70 {
		t.Errorf("the vertical axis is from %g to %g, want 0 to slightly above 60", y.Min, y.Max)
	}
}

// Quantiles of 0, 1, ..., 20, and interpolated ones.
func TestQuantileBand(t *testing.T) {
	var curves []curve
	for i := 20; i >= 0; i-- {
		curves = append(curves, curve{x: []float64{0, 1}, y: []float64{float64(i), 0}})
	}
	b := newBand(curves, 9, -9, ofQuantiles, false)
	if b.low[0] != 1 || b.lower[0] != 5 || b.mean[0] != 10 || b.upper[0] != 15 || b.high[0] != 19 {
		t.Errorf("5, 25, 50, 75, 95 %% are %g, %g, %g, %g, %g; want 1, 5, 10, 15, 19", b.low[0], b.lower[0], b.mean[0],
			b.upper[0], b.high[0])
	}
	for _, c := range []struct {
		values      []float64
		share, want float64
	}{{[]float64{3}, 0.95, 3}, {[]float64{1, 2}, 0.25, 1.25}, {[]float64{1, 2, 4}, 1, 4}, {[]float64{1, 2, 4}, 0, 1},
		{[]float64{1, 2, 4}, 0.75, 3}} {
		got := quantile(c.values, c.share)
		expect.That(t, got == c.want, "%g of %v is %g, want %g", c.share, c.values, got, c.want)
	}
}

// Each device has its own curve, with the measured rounds only.
func TestThetaCurves(t *testing.T) {
	e := thetas()
	m := expect.Value(newModel(e.fig, e.runs))(t)
	expect.Must(t, len(m.panels) == 2 && len(m.panels[0].curves[0]) == 60,
		"%d panels, %d curves; want 2 and 20 devices under 3 seeds", len(m.panels), len(m.panels[0].curves[0]))
	c := m.panels[0].curves[0][0]
	expect.That(t, len(c.x) == 19 && c.x[0] == 2 && c.x[18] == 38 && c.y[0] == e.runs[0].Rounds[2].Thetas[0],
		"the curve of the first device is %v %v", c.x, c.y)
	x, ok := m.xLimits(&m.panels[0])
	expect.That(t, ok && x.max >= 38, "the horizontal axis ends at %g, want all 38 rounds", x.max)
}
