package plots

import (
	"math"
	"slices"
	"strings"

	"fedsim/results"
)

// figureContent is the content of a figure, without its looks.
type figureContent struct {
	fig            results.Figure
	x, y           Quantity
	xScale, yScale scale
	legend         string // name of the key with the values in series; empty for methods
	ordered        bool   // the series are sorted numbers
	bands          string // note on the bands; empty without bands
	notes          []string
	series         []Line
	panels         []panel
	shows          showing // how a line combines its curves
	steps          bool    // a value holds until the next measurement

	size   float64  // of a value on the horizontal axis of a distribution; 0: not one
	limits interval // of the vertical axis of a distribution
}

// panel is one of the panels of a figure.
type panel struct {
	title  string
	curves [][]curve // by series: a curve per seed, or per seed and device
	limits []float64 // by series: the value at the optimum, in axis space; nil: they are not drawn
	worst  []float64 // by series: mean of the worst clients, in axis space; nil unless a distribution
}

// curve is a run in axis space, x increasing. On a logarithmic axis y may be
// minus infinity.
type curve struct {
	x, y []float64
	end  ending
}

// newModel assigns the runs to panels and lines.
func newModel(fig results.Figure, runs []results.Run) (*figureContent, error) {
	a, err := Arrange(fig, runs)
	if err != nil {
		return nil, err
	}
	return a.model(runs)
}

// model returns the model with the curves of the runs.
func (a *Arrangement) model(runs []results.Run) (*figureContent, error) {
	m := &figureContent{fig: a.Figure, legend: a.Legend, ordered: a.Ordered, series: a.Lines, steps: true}
	for _, title := range a.Panels {
		m.panels = append(m.panels, panel{title: title, curves: make([][]curve, len(m.series))})
	}
	if m.fig.Kind == results.Distribution {
		for i := range m.panels {
			m.panels[i].worst = slices.Repeat([]float64{math.NaN()}, len(m.series))
		}
		return m, m.distribute(a, runs)
	}
	if m.fig.Kind == results.NewClients {
		m.join(a, runs)
		return m, nil
	}
	m.x, m.y = quantityOf(m.fig.X, runs).on(runs), quantityOf(m.fig.Y, runs).on(runs)
	m.xScale, m.yScale = scales[m.fig.XScale], scales[m.fig.YScale]
	if m.shows = bandsOf[m.fig.Band]; m.y.Devices {
		m.shows = ofQuantiles
	}
	m.bands = m.bandNote(a, runs)
	off := make([]bool, len(m.series)) // lines with values that are not on a logarithmic axis
	for i := range runs {
		at := a.Runs[i]
		p, xs := &m.panels[at.Panel], m.x.Values(&runs[i])
		off[at.Line] = off[at.Line] || m.xScale == logarithmic && len(xs) > 1 && slices.Max(xs) <= 0
		for _, c := range m.curvesOf(&runs[i]) {
			if len(c.x) > 0 {
				p.curves[at.Line] = append(p.curves[at.Line], c)
				off[at.Line] = off[at.Line] || slices.Contains(c.y, math.Inf(-1))
			}
		}
	}
	m.note("values up to 0, which are not on a logarithmic axis", off)
	m.findJumps(runs)
	m.setLimits(a, runs)
	return m, nil
}

// note adds a note that holds for some lines.
func (f *figureContent) note(text string, of []bool) {
	var names []string
	for i, line := range f.series {
		if of[i] {
			names = append(names, line.Label)
		}
	}
	if len(names) > 0 {
		f.notes = append(f.notes, text+": "+strings.Join(names, ", "))
	}
}

// meansOf describe a line and its band.
var meansOf = map[showing]string{ofMean: "mean ± standard error", ofInterval: "mean and its 95 % confidence interval",
	ofRange: "mean, lowest and highest", ofLine: "mean"}

// bandNote describes the lines and bands of repeated runs, such as "mean ± standard error of 3
// seeds". It is empty if no line has two runs.
func (f *figureContent) bandNote(a *Arrangement, runs []results.Run) string {
	most, count := 0, make(map[Place]int)
	vary := runs[0].Vary
	for i := range runs {
		count[a.Runs[i]]++
		most = max(most, count[a.Runs[i]])
		if runs[i].Vary != vary {
			vary = ""
		}
	}
	switch repetitions := vary.Repetitions(most); {
	case f.shows == ofQuantiles && most > 1:
		return "line: median; bands: quartiles, 5 to 95 % of devices and " + repetitions
	case f.shows == ofQuantiles:
		return "line: median; bands: quartiles, 5 to 95 % of devices"
	case most > 1:
		return meansOf[f.shows] + " of " + repetitions
	default:
		return ""
	}
}

// curvesOf returns the curve of a run, or one for each device.
func (f *figureContent) curvesOf(r *results.Run) []curve {
	if f.y.of != nil {
		return []curve{f.curve(r, f.y.of)}
	}
	devices := 0
	for i := range r.Rounds {
		devices = max(devices, len(f.y.each(&r.Rounds[i])))
	}
	curves := make([]curve, devices)
	for t := range curves {
		curves[t] = f.curve(r, func(x *results.Round) float64 {
			if values := f.y.each(x); t < len(values) {
				return values[t]
			}
			return math.NaN()
		})
	}
	return curves
}

// curve returns the evaluated rounds of a run in axis space. It skips points that are
// not on the axis, such as time 0 on a logarithmic axis, and steps back in time.
func (f *figureContent) curve(r *results.Run, y func(*results.Round) float64) curve {
	c := curve{end: endingOf(r)}
	for i, x := range f.x.Values(r) {
		px, py := f.xScale.place(x), f.yScale.place(y(&r.Rounds[i]))
		if math.IsNaN(px) || math.IsInf(px, 0) || math.IsNaN(py) || math.IsInf(py, 1) ||
			py < -math.MaxFloat64 && f.yScale == linear {
			continue
		}
		switch n := len(c.x); {
		case n > 0 && px < c.x[n-1]:
			continue
		case n > 0 && px == c.x[n-1]:
			c.y[n-1] = py // of two rounds at the same time, the later one counts
		default:
			c.x, c.y = append(c.x, px), append(c.y, py)
		}
	}
	if f.y.Count && len(c.x) > 0 {
		c.during(f.xScale)
	}
	return c
}

// during moves values to the start of their rounds, so that each holds until the end of
// its round. On a logarithmic axis, the start of the first round does not exist.
func (c *curve) during(on scale) {
	c.y = append(c.y, c.y[len(c.y)-1])
	if on == linear && c.x[0] > 0 {
		c.x = append([]float64{0}, c.x...)
	} else {
		c.y = c.y[1:]
	}
}
