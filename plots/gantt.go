package plots

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Gantt is a figure of the activities of devices over virtual time: a row per device, bars
// for activities, marks for events, and bands for the rounds of the server. Times are in
// seconds or in relative units.
type Gantt struct {
	Title    string
	Relative bool // times are in relative units
	From, To float64
	Rounds   []GanttRound
	Updates  []GanttSpan // updates of the coupling
	Rows     []GanttRow  // from top to bottom, at most MaxGanttRows
	Marks    []string    // names of the kinds of marks, at most seven
}

// MaxGanttRows is the maximum number of rows of a Gantt figure.
const MaxGanttRows = 30

// GanttSpan is a span of time.
type GanttSpan struct{ From, To float64 }

// GanttRound is a round of the server.
type GanttRound struct {
	Number int
	GanttSpan
}

// GanttRow is the row of a device.
type GanttRow struct {
	Name  string
	Bars  []GanttBar // by time, without overlaps
	Marks []GanttMark
}

// GanttBar is an activity of a device over a span.
type GanttBar struct {
	Activity Activity
	GanttSpan
}

// GanttMark is an event at an instant.
type GanttMark struct {
	Kind int // index into Gantt.Marks
	At   float64
}

// Activity is the activity of a device.
type Activity uint8

// Activities, in the order of the legend.
const (
	Downlink Activity = iota
	Compute
	Uplink
	Wait // until the end of the round
	Unavailable
	Depleted // with an empty battery
	Poll     // waiting for a poll, within an attempt
)

// bar is the style of an activity. Bars of work have the full height; other bars are
// lower, so that the activities also differ in grayscale.
type bar struct {
	name   string
	fill   color.Color
	height vg.Length // points
	rim    bool
}

var bars = [...]bar{
	Downlink:    {"downlink", color.NRGBA{0x8f, 0xcc, 0xf0, 0xff}, 6.4, false},
	Compute:     {"compute", color.NRGBA{0x00, 0x4c, 0x85, 0xff}, 6.4, false},
	Uplink:      {"uplink", color.NRGBA{0xe0, 0x76, 0x10, 0xff}, 6.4, false},
	Wait:        {"wait", color.Gray{0xb4}, 1.6, false},
	Unavailable: {"unavailable", color.White, 3.6, true},
	Depleted:    {"depleted", ink, 3.6, false},
	Poll:        {"poll", color.NRGBA{0x7a, 0xb8, 0x6a, 0xff}, 3.6, false},
}

// Styles of bands and rims.
var (
	roundBand  = color.Gray{0xf0} // every other round
	updateBand = color.Gray{0xdc}
	rimLine    = draw.LineStyle{Color: color.Gray{0x60}, Width: 0.4}
)

// Lengths of the layout, in points.
const (
	ganttWidth = vg.Length(460)
	ganttRow   = vg.Length(9)
	ganttAxis  = vg.Length(30) // the horizontal axis with its label
	ganttNames = vg.Length(9)  // the rounds' numbers above the rows
)

// DrawGantt lays out a Gantt figure. It fails for no row or too many, an empty span, and
// unknown activities or marks.
func DrawGantt(g Gantt) (*Picture, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	return singlePlot(g.Title, ganttWidth, ganttNames, vg.Length(len(g.Rows))*ganttRow, g.entries(), g.plot()), nil
}

// singlePlot lays out a figure of one plot, whose body has a width and a height, with a space above
// it.
func singlePlot(title string, width, above, height vg.Length, entries []legendEntry, of *plot.Plot) *Picture {
	p := &Picture{width: yAxisWidth + width, panelTitles: above, plots: [][]*plot.Plot{{of}}}
	p.title = fit(title, textStyle(titleSize, true), p.width-2*margin, 2)
	p.legend = setLegend(entries, p.width-2*margin)
	p.height = p.titleHeight() + above + height + ganttAxis + legendGap + p.legend.height() + 2*margin
	return p
}

func (g *Gantt) check() error {
	switch {
	case len(g.Rows) == 0 || len(g.Rows) > MaxGanttRows:
		return fmt.Errorf("gantt figure: %d rows: must be between 1 and %d", len(g.Rows), MaxGanttRows)
	case !(g.From < g.To) || math.IsInf(g.To-g.From, 0):
		return fmt.Errorf("gantt figure: from %v s to %v s: must be a span of time", g.From, g.To)
	case len(g.Marks) > len(categoryMarks):
		return fmt.Errorf("gantt figure: %d kinds of marks: must be at most %d", len(g.Marks), len(categoryMarks))
	}
	for _, r := range g.Rows {
		for _, b := range r.Bars {
			if int(b.Activity) >= len(bars) {
				return fmt.Errorf("gantt figure: row %q has activity %d: must be below %d", r.Name, b.Activity, len(bars))
			}
		}
		for _, m := range r.Marks {
			if m.Kind < 0 || m.Kind >= len(g.Marks) {
				return fmt.Errorf("gantt figure: row %q has a mark of kind %d: must be one of %d", r.Name, m.Kind, len(g.Marks))
			}
		}
	}
	return nil
}

// entries returns legend entries for the activities and marks that occur.
func (g *Gantt) entries() (entries []legendEntry) {
	var activities [len(bars)]bool
	marks := make([]bool, len(g.Marks))
	for _, r := range g.Rows {
		for _, b := range r.Bars {
			activities[b.Activity] = true
		}
		for _, m := range r.Marks {
			marks[m.Kind] = true
		}
	}
	for a, occurs := range activities {
		if occurs {
			entries = append(entries, newEntry(bars[a].name, bars[a].sample, ganttWidth))
		}
	}
	for k, occurs := range marks {
		if occurs {
			entries = append(entries, newEntry(g.Marks[k], categoryMarks[k].sample, ganttWidth))
		}
	}
	if len(g.Updates) > 0 {
		entries = append(entries, newEntry("Omega update", (&bar{fill: updateBand, height: ganttRow}).sample, ganttWidth))
	}
	return entries
}

// sample draws a sample of the bar.
func (b *bar) sample(c *draw.Canvas, x, y vg.Length) { b.draw(c, x, x+sampleWidth, y) }

// draw draws the bar from x to right around the height y.
func (b *bar) draw(c *draw.Canvas, x, right, y vg.Length) {
	half := b.height / 2
	box := []vg.Point{{X: x, Y: y - half}, {X: right, Y: y - half}, {X: right, Y: y + half}, {X: x, Y: y + half}}
	c.FillPolygon(b.fill, box)
	if b.rim {
		c.StrokeLines(rimLine, append(box, box[0]))
	}
}

func (m mark) sample(c *draw.Canvas, x, y vg.Length) {
	m.draw(c, vg.Point{X: x + sampleWidth/2, Y: y}, ink)
}

// plot returns the plot of n rows. Row 0 is between the heights n-1 and n.
func (g *Gantt) plot() *plot.Plot {
	out := plot.New()
	out.BackgroundColor = nil
	time := Quantity{Label: "virtual time", Units: units["s"]}
	if g.Relative {
		time = Quantity{Label: "virtual time (relative units)"}
	}
	u := time.unitFor(g.To)
	out.X.Label.Text, out.Y.Label.Text = time.labelIn(u), "device"
	out.X.Min, out.X.Max = g.From, g.To
	out.Y.Min, out.Y.Max = 0, float64(len(g.Rows))
	out.X.Tick.Marker = (&figureContent{}).xTicks(interval{g.From, g.To}, &axes{unit: u}, true, ganttWidth)
	var names ticks
	for i, r := range g.Rows {
		names = append(names, plot.Tick{Value: g.middle(i), Label: r.Name})
	}
	out.Y.Tick.Marker = names
	styleAxes(out)
	out.Y.Tick.Length = 0
	out.Add(g)
	return out
}

// middle returns the height of the middle of a row.
func (g *Gantt) middle(row int) float64 { return float64(len(g.Rows)-row) - 0.5 }

// Plot draws bands, then bars, then marks.
func (g *Gantt) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	at := func(seconds float64) vg.Length { return toX(min(max(seconds, g.From), g.To)) }
	g.bands(&c, at)
	for i := range g.Rows {
		r, y := &g.Rows[i], toY(g.middle(i))
		c.StrokeLine2(gridLine, c.Min.X, y, c.Max.X, y)
		r.bars(&c, at, y)
	}
	for i := range g.Rows {
		for _, m := range g.Rows[i].Marks {
			categoryMarks[m.Kind].draw(&c, vg.Point{X: at(m.At), Y: toY(g.middle(i))}, ink)
		}
	}
}

// nameGap is the minimum distance of the names of two rounds.
const nameGap = vg.Length(4)

// bands draws the rounds of the server, every other one shaded, with their numbers where
// there is room, and the updates of the coupling. Like bars, it skips invisible ones.
func (g *Gantt) bands(c *draw.Canvas, at func(float64) vg.Length) {
	fill := func(s GanttSpan, with color.Color) (left, right vg.Length) {
		left, right = at(s.From), at(s.To)
		box(c, with, left, right, c.Min.Y, c.Max.Y)
		return left, right
	}
	sty := textStyle(tickSize, false)
	drawn, free := c.Min.X, c.Min.X // right ends of the last band and the last name
	for _, r := range g.Rounds {
		with := color.Color(color.White)
		if r.Number%2 == 0 {
			with = roundBand
		}
		if at(r.To)-drawn < dot { // invisible
			continue
		}
		left, right := fill(r.GanttSpan, with)
		drawn = right
		name, middle := fmt.Sprintf("round %d", r.Number), (left+right)/2
		if sty.Width(name) > right-left {
			name = strconv.Itoa(r.Number)
		}
		if half := sty.Width(name) / 2; middle-half >= free {
			c.FillText(sty, vg.Point{X: middle, Y: c.Max.Y + 1}, name)
			free = middle + half + nameGap
		}
	}
	for _, s := range g.Updates {
		if left, right := fill(s, updateBand); right-left < dot {
			c.StrokeLine2(draw.LineStyle{Color: updateBand, Width: 1}, left, c.Min.Y, left, c.Max.Y)
		}
	}
}

// dot is the width of a pixel of a PNG file.
const dot = vg.Inch / dpi

// bars draws the bars of a row. It skips bars that end within a dot of the previous one,
// which bounds the size of the file.
func (r *GanttRow) bars(c *draw.Canvas, at func(float64) vg.Length, y vg.Length) {
	drawn := c.Min.X
	for _, b := range r.Bars {
		if left, right := at(b.From), at(b.To); right-drawn >= dot {
			bars[b.Activity].draw(c, left, right, y)
			drawn = right
		}
	}
}
