package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Scatter is a figure of points. Each panel has its own axes. An axis is logarithmic if its values
// are positive and span clearly more than a decade. A panel of more than 600 points draws as many, in
// equal steps through each series, and the legend says so.
type Scatter struct {
	File           string // in errors: name of the files, without extension
	Title          string
	XLabel, YLabel string
	Series         []string // names, for the legend; an only one may be empty; the first is on top
	Note           string   // for the legend; empty: none
	// Diagonal gives both axes of a panel the same limits, with lines of equal values and of
	// differences of 10 %.
	Diagonal bool
	// Instants has the panels below each other: X are instants in seconds, from 0 on, and lines
	// mark the height 0 and the beginning of parts.
	Instants bool
	Parts    []ScatterPart
	// Steps connects the points of a series: a height holds until the next point.
	Steps bool
	// Names are the labels of the heights 0, 1, ..., from top to bottom; nil: heights are numbers.
	Names  []string
	Panels []ScatterPanel
}

// ScatterPart is a part of the time of a figure of instants.
type ScatterPart struct {
	Name  string
	Begin float64 // s
}

// ScatterPanel is one panel.
type ScatterPanel struct {
	Title  string
	Points []Points // one per series
}

// Points are points at (X, Y), with intervals of X from Low to High. Both are nil without
// intervals, and NaN for a point without one.
type Points struct{ X, Y, Low, High []float64 }

// DiagonalNote describes the lines of Scatter.Diagonal.
const DiagonalNote = "solid: equal; dashed: 10 % apart"

// mostPoints is about the largest number of points of a panel.
const mostPoints = 600

// DrawScatter lays out a figure of points. It fails without panels, if a panel has another number
// of series than the figure, if the slices of a series differ in length, or if a coordinate is not
// finite.
func DrawScatter(s Scatter) (*Picture, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	drawn, titles, note := s.thinned()
	m := &figureContent{}
	for _, name := range s.Series {
		m.series = append(m.series, Line{Label: name})
	}
	styles := m.lineStyles()
	cols, size := s.arrangement()
	legend := func(width vg.Length) legend {
		l := legend{style: legendStyle()}
		var entries []legendEntry
		for i, name := range s.Series {
			if name != "" {
				sample := styles[i].dot
				if s.Steps {
					styles[i].mark = nil // lines of steps have none
					sample = styles[i].sample
				}
				entries = append(entries, newEntry(name, sample, width))
			}
		}
		if entries != nil {
			l = setLegend(entries, width)
		}
		return l.withNotes([]string{s.Note, note}, width)
	}
	return newPicture(s.Title, titles, cols, size, legend, func(i int, title string, size vg.Point) *plot.Plot {
		return drawn.plot(i, title, styles, size, i%cols == 0)
	}), nil
}

// check reports what DrawScatter refuses.
func (s *Scatter) check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("figure %q: "+format, append([]any{s.File}, args...)...)
	}
	if len(s.Panels) == 0 {
		return wrong("has no panel")
	}
	for i, p := range s.Panels {
		if len(p.Points) != len(s.Series) {
			return wrong("panel %d has %d series: must have %d", i+1, len(p.Points), len(s.Series))
		}
		for k, q := range p.Points {
			n := len(q.X)
			if len(q.Y) != n || len(q.Low) != len(q.High) || len(q.Low) != 0 && len(q.Low) != n {
				return wrong("series %q has %d, %d, %d and %d values: must have one for each point",
					s.Series[k], n, len(q.Y), len(q.Low), len(q.High))
			}
			for j := range q.X {
				if sum := math.Abs(q.X[j]) + math.Abs(q.Y[j]); math.IsNaN(sum) || math.IsInf(sum, 0) {
					return wrong("series %q has point %d at (%v, %v): must be finite", s.Series[k], j, q.X[j], q.Y[j])
				}
			}
		}
	}
	return nil
}

// thinned returns a figure with at most about mostPoints points in a panel, the titles of its
// panels, and a note unless it has all points.
func (s *Scatter) thinned() (out Scatter, titles []string, note string) {
	out, most := *s, mostPoints
	out.Panels = nil
	for _, p := range s.Panels {
		all, to := 0, ScatterPanel{Title: p.Title}
		for _, q := range p.Points {
			all += len(q.X)
		}
		if all > most {
			most = all
			note = fmt.Sprintf("about %d of %s points are drawn, in equal steps", mostPoints,
				numberText(float64(all), 1))
		}
		for _, q := range p.Points {
			to.Points = append(to.Points, q.thinned((len(q.X)*mostPoints+all-1)/max(all, 1)))
		}
		out.Panels, titles = append(out.Panels, to), append(titles, p.Title)
	}
	return out, titles, note
}

// thinned returns at most a number of the points, one from each of equal steps, at places that do
// not repeat: every tenth row of a log may be of one client.
func (p *Points) thinned(most int) (out Points) {
	n := len(p.X)
	if n <= most {
		return *p
	}
	for k := range most {
		_, within := math.Modf(float64(k) * math.Phi)
		at := min(n-1, int((float64(k)+within)*float64(n)/float64(most)))
		out.X, out.Y = append(out.X, p.X[at]), append(out.Y, p.Y[at])
		if p.Low != nil {
			out.Low, out.High = append(out.Low, p.Low[at]), append(out.High, p.High[at])
		}
	}
	return out
}

// arrangement returns the number of columns, and the size of a panel with its axes.
func (s *Scatter) arrangement() (cols int, size vg.Point) {
	cols, size = arrangement(len(s.Panels), 0)
	switch {
	case s.Instants:
		return 1, vg.Point{X: 410, Y: 135}
	case s.Diagonal && cols == 1:
		size = vg.Point{X: 230, Y: 225}
	case s.Diagonal:
		size.X += 20
		size.Y = size.X - 5
	case s.Names != nil:
		size.Y = 34 + 11*vg.Length(max(4, len(s.Names)))
	}
	return cols, size
}

// dot draws the sample of points in a legend.
func (s *lineStyle) dot(c *draw.Canvas, x, y vg.Length) {
	s.mark.draw(c, vg.Point{X: x + sampleWidth/2, Y: y}, s.line.Color)
}

// scatterAxis is an axis of a panel.
type scatterAxis struct {
	on     scale
	limits interval // in axis space
	powers bool     // label decades as powers of ten
}

// axisOf returns the axis of values. It has the ends of intervals, too, unless they are very long:
// up to three times the largest value, or two decades away.
func axisOf(values, ends []float64, straight bool) scatterAxis {
	data := emptyInterval()
	for _, v := range values {
		data.cover(v)
	}
	a := scatterAxis{}
	switch {
	case len(values) == 0:
		return scatterAxis{limits: interval{0, 1}}
	case !straight && data.min > 0 && data.max > 11*data.min:
		a.on = logarithmic
		data = interval{math.Log10(data.min), math.Log10(data.max)}
		a.powers = data.min < -3 || data.max > 4
	case data.length() <= 1e-6*math.Abs(data.max): // equal, but for rounding
		by := cmp.Or(math.Abs(data.min)/10, 1)
		data = interval{data.min - by, data.max + by}
	}
	reach := 2.0 // decades
	if a.on == linear {
		reach = 2 * max(math.Abs(data.min), math.Abs(data.max))
	}
	near := interval{data.min - reach, data.max + reach}
	for _, v := range ends {
		if !math.IsNaN(v) {
			data.cover(min(max(a.on.place(v), near.min), near.max))
		}
	}
	margin := 0.05 * data.length()
	a.limits = interval{data.min - margin, data.max + margin}
	if a.on == linear && data.min >= 0 && a.limits.min < 0.4*data.max {
		a.limits.min = 0
	}
	return a
}

func (s *Scatter) plot(i int, title string, styles []lineStyle, size vg.Point, first bool) *plot.Plot {
	d := &scatterDrawing{Scatter: s, points: s.Panels[i].Points, drawing: drawing{title: title, styles: styles}}
	var xs, ys, ends []float64
	for _, q := range d.points {
		xs, ys, ends = append(xs, q.X...), append(ys, q.Y...), append(append(ends, q.Low...), q.High...)
	}
	u := unit{Size: 1}
	x := Quantity{Label: s.XLabel}
	switch {
	case s.Diagonal:
		d.across = axisOf(append(xs, ys...), nil, false)
		d.up = d.across
	case s.Instants:
		d.across, d.up = axisOf(append(xs, 0), nil, true), axisOf(append(ys, 0), nil, true)
		d.across.limits.min = 0
		x.Units = units["s"]
		u = x.unitFor(d.across.limits.max)
		d.up.limits.max += 0.12 * d.up.limits.length() // room for the names of parts
	default:
		d.across, d.up = axisOf(xs, ends, false), axisOf(ys, nil, true)
	}
	out := plot.New()
	out.BackgroundColor = nil
	if !s.Instants || i == len(s.Panels)-1 {
		out.X.Label.Text = x.labelIn(u)
	}
	d.x = d.across.on.xTicks(d.across.limits, u, d.across.powers, size.X)
	d.y = d.up.on.yTicks(d.up.limits, d.up.powers)
	shared := s.Names != nil
	if n := len(s.Names); shared {
		d.up.limits, d.y = interval{-0.6, float64(n) - 0.4}, nil
		for k, name := range s.Names {
			d.y = append(d.y, plot.Tick{Value: float64(n - 1 - k), Label: fit(name, textStyle(tickSize, false), 80, 1)})
		}
	}
	out.X.Min, out.X.Max = d.across.limits.min, d.across.limits.max
	out.Y.Min, out.Y.Max = d.up.limits.min, d.up.limits.max
	out.X.Tick.Marker, out.Y.Tick.Marker = d.x, d.y
	if first {
		out.Y.Label.Text = fit(s.YLabel, textStyle(labelSize, false), size.Y, 2)
	} else if shared {
		out.Y.Tick.Marker = d.y.unlabeled()
	}
	styleAxes(out)
	out.Add(d)
	return out
}

type scatterDrawing struct {
	*Scatter
	drawing
	points     []Points
	across, up scatterAxis
}

// Plot draws the grid, then lines, then intervals and points.
func (d *scatterDrawing) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	d.frame(&c, toX, toY)
	d.lines(&c, toX, toY)
	empty := true
	for i := len(d.points) - 1; i >= 0; i-- {
		q, style := &d.points[i], &d.styles[i]
		var at []vg.Point
		for k := range q.X {
			y := q.Y[k]
			if d.Names != nil {
				y = float64(len(d.Names)-1) - y
			}
			at = append(at, vg.Point{X: toX(d.across.on.place(q.X[k])), Y: toY(d.up.on.place(y))})
		}
		if empty = empty && len(at) == 0; d.Steps {
			c.StrokeLines(style.line, (&band{steps: true}).path(at))
			continue
		}
		for k, p := range at {
			if q.Low != nil && !math.IsNaN(q.Low[k]+q.High[k]) {
				low, high := toX(d.across.on.place(q.Low[k])), toX(d.across.on.place(q.High[k]))
				bar := draw.LineStyle{Color: style.line.Color, Width: 0.8}
				c.StrokeLine2(bar, max(low, c.Min.X), p.Y, min(high, c.Max.X), p.Y)
			}
			style.mark.draw(&c, p, style.line.Color)
		}
	}
	if empty {
		noValues(&c)
	}
}

// lines draws the lines of equal values, or the height 0 and the beginning of parts.
func (d *scatterDrawing) lines(c *draw.Canvas, toX, toY func(float64) vg.Length) {
	quiet := draw.LineStyle{Color: color.Gray{0x90}, Width: 0.5}
	if d.Diagonal {
		r := d.across.limits
		for _, factor := range []float64{0.9, 1, 1.1} {
			end := func(at float64) vg.Point {
				return vg.Point{X: toX(at), Y: toY(d.up.on.place(factor * d.across.on.value(at)))}
			}
			style := quiet
			if style.Dashes = []vg.Length{2, 2}; factor == 1 {
				style = axisLine
			}
			c.StrokeLines(style, c.ClipLinesXY([]vg.Point{end(r.min), end(r.max)})...)
		}
	}
	if !d.Instants {
		return
	}
	c.StrokeLine2(axisLine, c.Min.X, toY(0), c.Max.X, toY(0))
	names := textStyle(tickSize, false)
	names.XAlign, names.YAlign, names.Color = draw.XLeft, draw.YTop, color.Gray{0x60}
	for i, part := range d.Parts {
		x, end := toX(part.Begin), c.Max.X
		if i+1 < len(d.Parts) {
			end = toX(d.Parts[i+1].Begin)
		}
		if i > 0 {
			c.StrokeLine2(quiet, x, c.Min.Y, x, c.Max.Y)
		}
		if name := fit(part.Name, names, end-x-4, 1); name == part.Name {
			c.FillText(names, vg.Point{X: x + 3, Y: c.Max.Y - 1}, name)
		}
	}
}
