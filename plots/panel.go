package plots

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Text sizes in points.
const (
	titleSize  = 10
	panelSize  = 9
	labelSize  = 8.5
	tickSize   = 7.5
	legendSize = 8.5
)

// axes is the common part of the panels of a figure.
type axes struct {
	y      interval
	unit   unit // of all horizontal axes
	powers bool // label decades as powers of ten
	styles []lineStyle
}

// newPlot returns the plot of a panel of a size with the horizontal limits x. Only panels
// in the first column label the vertical axis.
func (f *figureContent) newPlot(p *panel, title string, a *axes, x interval, size vg.Point, first bool) *plot.Plot {
	out := plot.New()
	out.BackgroundColor = nil
	var xTicks ticks
	if !(x.min < x.max) {
		x = interval{0, 1}
	} else {
		xTicks = f.xScale.xTicks(x, a.unit, a.powers, size.X)
		out.X.Label.Text = f.x.labelIn(a.unit)
		if cut := f.cutX(p, x, a.unit); cut != "" {
			out.X.Label.Text += "\n" + cut
		}
	}
	out.X.Min, out.X.Max = x.min, x.max
	out.Y.Min, out.Y.Max = a.y.min, a.y.max
	yTicks := f.yScale.yTicks(a.y, a.powers)
	if first {
		out.Y.Label.Text = fit(f.y.labelIn(f.y.unitFor(1)), textStyle(labelSize, false), size.Y, 2) + f.cutY(a.y)
		out.Y.Tick.Marker = yTicks
	} else {
		out.Y.Tick.Marker = yTicks.unlabeled()
	}
	out.X.Tick.Marker = xTicks
	styleAxes(out)
	d := &drawing{title: title, x: xTicks, y: yTicks, styles: a.styles, marks: p.worst, limits: p.limits}
	for s, seeds := range p.curves {
		// The floor is slightly below the panel, so that lines leave the panel there.
		d.bands = append(d.bands, newBand(seeds, x.max+0.05*x.length(), a.y.min-0.05*a.y.length(), f.shows, f.steps))
		d.ends = append(d.ends, d.bands[s].endsOf(seeds))
		if f.size > 0 {
			d.bands[len(d.bands)-1].across(x)
		}
	}
	out.Add(d)
	return out
}

func styleAxes(p *plot.Plot) {
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
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
}

// drawing is the content of a panel in axis space: grid, bands, lines and the title,
// which gonum/plot would center over the axis labels too.
type drawing struct {
	title  string
	x, y   ticks
	bands  []band
	styles []lineStyle
	limits []float64 // by series, see panel.limits
	ends   [][]end   // by series
	marks  []float64 // by series, instead of marks along the lines; see panel.worst
}

// Plot draws the grid, then the bands, then the lines.
func (d *drawing) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	d.frame(&c, toX, toY)
	lines := make([][]vg.Point, len(d.bands))
	for i, b := range d.bands {
		lines[i] = points(b.x, b.mean, toX, toY)
		fill := func(below, above []float64) {
			if !slices.Equal(below, above) {
				low, high := simplified(b.path(points(b.x, below, toX, toY))),
					simplified(b.path(points(b.x, above, toX, toY)))
				slices.Reverse(high)
				c.FillPolygon(d.styles[i].band, c.ClipPolygonXY(append(low, high...)))
			}
		}
		fill(b.low, b.high)
		fill(b.lower, b.upper)
	}
	empty := true
	for i, line := range lines {
		empty = empty && len(line) == 0
		d.line(&c, line, d.bands[i].path(line), i)
	}
	for i := range d.ends {
		d.drawEnds(&c, toX, toY, i)
	}
	for i := range d.limits {
		d.limit(&c, toY, i)
	}
	for i := range d.marks {
		d.worst(&c, toX, toY, i)
	}
	if empty {
		noValues(&c)
	}
}

func noValues(c *draw.Canvas) {
	sty := textStyle(labelSize, false)
	sty.Color = color.Gray{0x80}
	sty.YAlign = draw.YCenter
	c.FillText(sty, c.Center(), "no values to draw")
}

// frame draws the title, and a line at each label that is not on an axis.
func (d *drawing) frame(c *draw.Canvas, toX, toY func(float64) vg.Length) {
	c.FillText(textStyle(panelSize, false), vg.Point{X: c.Center().X, Y: c.Max.Y + titleGap}, d.title)
	const apart = 0.5
	for _, t := range d.x {
		if x := toX(t.Value); t.Label != "" && c.ContainsX(x) && x > c.Min.X+apart {
			c.StrokeLine2(gridLine, x, c.Min.Y, x, c.Max.Y)
		}
	}
	for _, t := range d.y {
		if y := toY(t.Value); t.Label != "" && c.ContainsY(y) && y > c.Min.Y+apart {
			c.StrokeLine2(gridLine, c.Min.X, y, c.Max.X, y)
		}
	}
}

// path returns the line through points; with steps, it stays at the height of a point
// until the next one.
func (b *band) path(ps []vg.Point) []vg.Point {
	if !b.steps || len(ps) == 0 {
		return ps
	}
	stairs := make([]vg.Point, 0, 2*len(ps)-1)
	for i, p := range ps {
		if i > 0 {
			stairs = append(stairs, vg.Point{X: p.X, Y: ps[i-1].Y})
		}
		stairs = append(stairs, p)
	}
	return stairs
}

// line draws series i along a path, with markers at its points. A single point is drawn
// as a marker.
func (d *drawing) line(c *draw.Canvas, at, path []vg.Point, i int) {
	s := d.styles[i]
	if len(at) == 1 {
		m := s.mark
		if m == nil {
			m = disc
		}
		if c.Contains(at[0]) {
			m.draw(c, at[0], s.line.Color)
		}
		return
	}
	for _, part := range c.ClipLinesXY(path) {
		c.StrokeLines(s.line, simplified(part))
	}
	if d.marks != nil {
		return
	}
	for _, p := range spread(c, at, (float64(i)+0.5)/float64(len(d.styles))) {
		s.mark.draw(c, p, s.line.Color)
	}
}

// markGap is the minimum distance between two markers.
const markGap = vg.Length(34)

// spread selects points in the canvas with a distance of at least markGap, so that a noisy
// line has no more markers than a smooth one. If it selects none, it returns the last
// point. The phase, a fraction of the gap, separates the markers of different lines.
func spread(c *draw.Canvas, points []vg.Point, phase float64) []vg.Point {
	var at, inside []vg.Point
	for _, p := range points {
		if c.Contains(p) {
			inside = append(inside, p)
		}
	}
	if len(inside) == 0 {
		return nil
	}
	last, need := inside[0], vg.Length(0.3+0.7*phase)*markGap
	for _, p := range inside {
		if distance(p, last) >= float64(need) {
			at = append(at, p)
			last, need = p, markGap
		}
	}
	if len(at) == 0 {
		at = inside[len(inside)-1:]
	}
	return at
}

func distance(a, b vg.Point) float64 { return math.Hypot(float64(a.X-b.X), float64(a.Y-b.Y)) }

// simplified drops points within 1/20 pt of the remaining line (Ramer 1972, Douglas and
// Peucker 1973). They are invisible and would enlarge an SVG file.
func simplified(line []vg.Point) []vg.Point {
	if len(line) < 3 {
		return line
	}
	first, last := line[0], line[len(line)-1]
	farthest, at := 0.05, 0
	for i := 1; i < len(line)-1; i++ {
		if d := offset(line[i], first, last); d > farthest {
			farthest, at = d, i
		}
	}
	if at == 0 {
		return []vg.Point{first, last}
	}
	head, tail := simplified(line[:at+1]), simplified(line[at:])
	return append(append([]vg.Point(nil), head...), tail[1:]...)
}

// offset returns the distance of p from the segment between a and b.
func offset(p, a, b vg.Point) float64 {
	ab, ap := b.Sub(a), p.Sub(a)
	length := ab.Dot(ab)
	if length == 0 {
		return distance(p, a)
	}
	t := min(max(ap.Dot(ab)/length, 0), 1)
	return distance(p, a.Add(ab.Scale(t)))
}

func points(x, y []float64, toX, toY func(float64) vg.Length) []vg.Point {
	ps := make([]vg.Point, len(x))
	for i := range x {
		ps[i] = vg.Point{X: toX(x[i]), Y: toY(y[i])}
	}
	return ps
}
