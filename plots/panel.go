package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of text in points.
const (
	titleSize  = 10
	panelSize  = 9
	labelSize  = 8.5
	tickSize   = 7.5
	legendSize = 8.5
)

// newPlot makes the plot of a panel. Only a panel in the first column has
// labels at the vertical axis.
func (m *model) newPlot(p *panel, styles []lineStyle, y interval, width vg.Length, first bool) *plot.Plot {
	out := plot.New()
	out.BackgroundColor = nil
	out.Title.Text = p.title
	out.Title.TextStyle = textStyle(panelSize, false)
	out.Title.TextStyle.YAlign = draw.YTop
	out.Title.Text = fit(p.title, out.Title.TextStyle, width, 2)
	out.Title.Padding = 3

	x, hasX := m.xLimits(p, y)
	if !hasX {
		x = interval{0, 1}
	}
	u := m.x.unitFor(m.xScale.value(x.max))
	out.X.Label.Text = m.x.labelIn(u)
	out.X.Min, out.X.Max = x.min, x.max
	out.Y.Min, out.Y.Max = y.min, y.max
	xTicks, yTicks := m.xTicks(x, u, hasX), m.yTicks(y)
	if first {
		out.Y.Label.Text = m.y.label
		out.Y.Tick.Marker = yTicks
	} else {
		out.Y.Tick.Marker = yTicks.unlabelled()
	}
	out.X.Tick.Marker = xTicks
	for _, axis := range []*plot.Axis{&out.X, &out.Y} {
		axis.LineStyle = axisLine
		axis.Padding = 0
		axis.Tick.LineStyle = axisLine
		axis.Tick.Length = 3
		axis.Tick.Label.Font = textStyle(tickSize, false).Font
		axis.Tick.Label.Color = ink
		axis.Tick.Label.Handler = exponents{text.Plain{Fonts: font.DefaultCache}}
		axis.Label.TextStyle = textStyle(labelSize, false)
		axis.Label.Padding = 2
	}
	d := &drawing{x: xTicks, y: yTicks, styles: styles}
	for _, seeds := range p.curves {
		// A little below the panel, so that lines leave it through the floor.
		d.bands = append(d.bands, newBand(seeds, x.max+0.05*x.length(), y.min-0.05*y.length()))
	}
	out.Add(d)
	return out
}

func (m *model) xTicks(x interval, u unit, hasX bool) ticks {
	switch {
	case !hasX:
		return nil
	case m.xScale == logarithmic:
		return logTicks(x, u, 5, false)
	default:
		return linearTicks(x, u, 5)
	}
}

func (m *model) yTicks(y interval) ticks {
	if m.yScale == logarithmic {
		return logTicks(y, unit{size: 1}, 7, true)
	}
	return linearTicks(y, unit{size: 1}, 6)
}

// drawing is what lies within the axes of a panel: grid, bands, lines. Its
// places are in axis space.
type drawing struct {
	x, y   ticks
	bands  []band
	styles []lineStyle
}

// Plot draws the grid first and the lines last, so that no band covers a line.
func (d *drawing) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	d.grid(&c, toX, toY)
	lines := make([][]vg.Point, len(d.bands))
	for i, b := range d.bands {
		lines[i] = points(b.x, b.mean, toX, toY)
		low, high := points(b.x, b.low, toX, toY), points(b.x, b.high, toX, toY)
		if !same(b.low, b.high) {
			c.FillPolygon(d.styles[i].band, c.ClipPolygonXY(append(low, reversed(high)...)))
		}
	}
	empty := true
	for i, line := range lines {
		empty = empty && len(line) == 0
		d.line(&c, line, i)
	}
	if empty {
		sty := textStyle(labelSize, false)
		sty.Color = color.Gray{0x80}
		sty.YAlign = draw.YCenter
		c.FillText(sty, c.Center(), "no values to draw")
	}
}

func (d *drawing) grid(c *draw.Canvas, toX, toY func(float64) vg.Length) {
	for _, t := range d.x {
		if x := toX(t.Value); t.Label != "" && c.ContainsX(x) {
			c.StrokeLine2(gridLine, x, c.Min.Y, x, c.Max.Y)
		}
	}
	for _, t := range d.y {
		if y := toY(t.Value); t.Label != "" && c.ContainsY(y) {
			c.StrokeLine2(gridLine, c.Min.X, y, c.Max.X, y)
		}
	}
}

// line draws series i with its markers. A line of a single point is its marker.
func (d *drawing) line(c *draw.Canvas, line []vg.Point, i int) {
	s := d.styles[i]
	if len(line) == 1 {
		m := s.mark
		if m == nil {
			m = disc
		}
		if c.Contains(line[0]) {
			m.draw(c, line[0], s.line.Color)
		}
		return
	}
	parts := c.ClipLinesXY(line)
	c.StrokeLines(s.line, parts...)
	phase := (float64(i) + 0.5) / float64(len(d.styles))
	for _, part := range parts {
		for _, at := range spread(part, phase) {
			s.mark.draw(c, at, s.line.Color)
		}
	}
}

// markGap is the length of line between two markers, in points.
const markGap = vg.Length(34)

// spread returns points on a line at even distances, the first one after a
// share phase of a distance. A line too short for one gets none.
func spread(line []vg.Point, phase float64) []vg.Point {
	var at []vg.Point
	next := vg.Length(phase) * markGap
	for i := 1; i < len(line); i++ {
		step := line[i].Sub(line[i-1])
		length := vg.Length(math.Hypot(float64(step.X), float64(step.Y)))
		for next <= length && length > 0 {
			at = append(at, line[i-1].Add(step.Scale(next/length)))
			next += markGap
		}
		next -= length
	}
	return at
}

func points(x, y []float64, toX, toY func(float64) vg.Length) []vg.Point {
	ps := make([]vg.Point, len(x))
	for i := range x {
		ps[i] = vg.Point{X: toX(x[i]), Y: toY(y[i])}
	}
	return ps
}

func reversed(ps []vg.Point) []vg.Point {
	out := make([]vg.Point, len(ps))
	for i, p := range ps {
		out[len(ps)-1-i] = p
	}
	return out
}

func same(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
