package plots

import (
	"math"

	"fedsim/results"
)

// model is a figure in numbers: what lies where, but not how it looks.
type model struct {
	fig            results.Figure
	x, y           quantity
	xScale, yScale scale
	legend         string // what the series are values of; empty for methods
	ordered        bool   // the series are numbers, sorted
	series         []Line
	panels         []panel
	shows          showing // of the curves of a line
	steps          bool    // a value holds until the next one was measured
}

// panel is one picture beside others.
type panel struct {
	title  string
	curves [][]curve // by series, one curve per seed, or per seed and device
}

// curve is a run in axis space, x increasing. On a logarithmic axis y may be
// minus infinity.
type curve struct {
	x, y        []float64
	interrupted bool
}

// newModel sorts the runs into panels and lines.
func newModel(fig results.Figure, runs []results.Run) (*model, error) {
	a, err := Arrange(fig, runs)
	if err != nil {
		return nil, err
	}
	return a.model(runs), nil
}

// model puts the curves of the runs where they are.
func (a *Arrangement) model(runs []results.Run) *model {
	m := &model{fig: a.Figure, legend: a.Legend, ordered: a.Ordered, series: a.Lines, steps: true}
	m.axes()
	if m.y.each != nil {
		m.shows = ofQuantiles
	}
	m.x, m.y = m.x.on(runs), m.y.on(runs)
	for _, title := range a.Panels {
		m.panels = append(m.panels, panel{title: title, curves: make([][]curve, len(m.series))})
	}
	for i := range runs {
		at := a.Runs[i]
		p := &m.panels[at.Panel]
		for _, c := range m.curvesOf(&runs[i]) {
			if len(c.x) > 0 {
				p.curves[at.Line] = append(p.curves[at.Line], c)
			}
		}
	}
	return m
}

// axes looks up quantities and scales.
func (m *model) axes() {
	m.x, m.y = quantities[m.fig.X], quantities[m.fig.Y]
	m.xScale, m.yScale = scales[m.fig.XScale], scales[m.fig.YScale]
}

// curvesOf returns the curve of a run, or one for each device.
func (m *model) curvesOf(r *results.Run) []curve {
	if m.y.of != nil {
		return []curve{m.curve(r, m.y.of)}
	}
	devices := 0
	for i := range r.Rounds {
		devices = max(devices, len(m.y.each(&r.Rounds[i])))
	}
	curves := make([]curve, devices)
	for t := range curves {
		curves[t] = m.curve(r, func(x *results.Round) float64 {
			if values := m.y.each(x); t < len(values) {
				return values[t].Value
			}
			return math.NaN()
		})
	}
	return curves
}

// curve returns the evaluated rounds of a run in axis space. A place that does
// not exist (time 0 on a logarithmic axis) is skipped, and so is a step back.
func (m *model) curve(r *results.Run, y func(*results.Round) float64) curve {
	c := curve{interrupted: r.Status == results.Interrupted}
	var sum float64
	for i := range r.Rounds {
		x := m.x.of(&r.Rounds[i])
		if m.x.total {
			if !math.IsNaN(x) {
				sum += x
			}
			x = sum
		}
		px, py := m.xScale.place(x), m.yScale.place(y(&r.Rounds[i]))
		if math.IsNaN(px) || math.IsInf(px, 0) || math.IsNaN(py) || math.IsInf(py, 1) || py < -math.MaxFloat64 && m.yScale == linear {
			continue
		}
		switch n := len(c.x); {
		case n > 0 && px < c.x[n-1]:
			continue
		case n > 0 && px == c.x[n-1]:
			c.y[n-1] = py // the later of two rounds at one time counts
		default:
			c.x, c.y = append(c.x, px), append(c.y, py)
		}
	}
	if m.y.count && len(c.x) > 0 {
		c.during(m.xScale)
	}
	return c
}

// during moves values to the beginning of the rounds that they are of: each then holds
// until the end of its round. The beginning of the first does not exist on a
// logarithmic axis.
func (c *curve) during(on scale) {
	c.y = append(c.y, c.y[len(c.y)-1])
	if on == linear && c.x[0] > 0 {
		c.x = append([]float64{0}, c.x...)
	} else {
		c.y = c.y[1:]
	}
}
