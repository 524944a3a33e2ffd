package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Labels is a figure of the training rows of clients: how many there are of each class, or
// how real targets are distributed, with the number of rows of each client above. Up to 60
// clients are in their order, with a disc for each class. More are ordered by their
// largest class, or by their median target, and are columns of shades; beyond 1000, a
// column has the mean of several.
type Labels struct {
	Title   string
	Clients []string    // names
	Classes []string    // names from top to bottom; nil for real targets
	Rows    [][]int     // rows by client and class, with classes
	Targets [][]float64 // targets by client, without classes
}

// Limits of the layout.
const (
	mostDiscs   = 60   // clients with discs
	mostColumns = 1000 // columns of shades
	shades      = 16   // besides white
)

// Lengths of the layout, in points.
const (
	labelsWidth  = vg.Length(460)
	labelsBody   = vg.Length(200) // height of real targets, and of many classes at least
	labelsStrip  = vg.Length(30)  // height of the bars of rows
	stripGap     = vg.Length(8)
	classRow     = vg.Length(14) // height of a class among few
	classRowLow  = vg.Length(6)  // and among many
	classNameMax = vg.Length(96)
)

// shadeDark and shadeLight are the colors of most and of fewest rows.
var (
	shadeDark  = color.NRGBA{0x00, 0x3a, 0x6b, 0xff}
	shadeLight = color.NRGBA{0xd8, 0xe8, 0xf4, 0xff}
)

// DrawLabels lays out a figure of labels. It fails without clients or rows, and for rows
// that do not have the classes.
func DrawLabels(l Labels) (*Picture, error) {
	d, err := newLabels(&l)
	if err != nil {
		return nil, err
	}
	size := vg.Point{X: labelsWidth, Y: d.body + stripGap + labelsStrip + plotAxis}
	legend := func(width vg.Length) legend { return setLegend(d.entries(), width) }
	body := func(int, string, vg.Point) *plot.Plot { return d.plot() }
	return newPicture(l.Title, []string{""}, 1, size, legend, body), nil
}

// labelColumn is a client, or the mean of several.
type labelColumn struct {
	rows      float64
	classes   []float64
	quantiles [5]float64 // of real targets: 5, 25, 50, 75 and 95 %
}

// drawnLabels is the content of the figure.
type drawnLabels struct {
	*Labels
	columns  []labelColumn
	ordered  bool      // columns are not in the order of the clients
	most     float64   // rows of a class of a column
	mostRows float64   // rows of a column
	values   interval  // of the body
	body     vg.Length // height
}

func newLabels(l *Labels) (*drawnLabels, error) {
	n := len(l.Clients)
	if n == 0 || len(l.Classes) > 0 && len(l.Rows) != n || len(l.Classes) == 0 && len(l.Targets) != n {
		return nil,
			fmt.Errorf("figure of labels: %d clients with %d rows and %d targets: must have labels or targets of each",
				n, len(l.Rows), len(l.Targets))
	}
	d := &drawnLabels{Labels: l, values: emptyInterval(), body: labelsBody, ordered: n > mostDiscs}
	for k := range n {
		var c labelColumn
		if len(l.Classes) > 0 {
			if len(l.Rows[k]) != len(l.Classes) {
				return nil,
					fmt.Errorf("figure of labels: client %q has %d classes: must have %d", l.Clients[k], len(l.Rows[k]),
						len(l.Classes))
			}
			for _, rows := range l.Rows[k] {
				c.classes = append(c.classes, float64(rows))
				c.rows += float64(rows)
			}
		} else {
			sorted := slices.Sorted(slices.Values(l.Targets[k]))
			if c.rows = float64(len(sorted)); len(sorted) > 0 {
				for i, share := range []float64{0.05, 0.25, 0.5, 0.75, 0.95} {
					c.quantiles[i] = quantile(sorted, share)
				}
			}
		}
		d.columns = append(d.columns, c)
	}
	if d.ordered {
		slices.SortStableFunc(d.columns, func(a, b labelColumn) int { return a.compare(&b) })
		d.group()
	}
	for i := range d.columns {
		c := &d.columns[i]
		d.mostRows = max(d.mostRows, c.rows)
		for _, rows := range c.classes {
			d.most = max(d.most, rows)
		}
		if len(l.Classes) == 0 && c.rows > 0 {
			d.values.cover(c.quantiles[0])
			d.values.cover(c.quantiles[4])
		}
	}
	if d.mostRows == 0 {
		return nil, fmt.Errorf("figure of labels: %d clients without rows: must have at least one", n)
	}
	if count := len(l.Classes); count > 0 {
		d.values = interval{0, float64(count)}
		d.body = min(vg.Length(count)*classRow, max(labelsBody, vg.Length(count)*classRowLow))
	} else {
		d.values = d.values.widened()
	}
	return d, nil
}

// compare orders columns by their largest class, and by its share from high to low; or by
// their median.
func (c *labelColumn) compare(other *labelColumn) int {
	if c.classes == nil {
		return cmp.Compare(c.quantiles[2], other.quantiles[2])
	}
	largest := func(c *labelColumn) (class int, share float64) {
		for i, rows := range c.classes {
			if rows > c.classes[class] {
				class = i
			}
		}
		return class, c.classes[class] / max(1, c.rows)
	}
	class, share := largest(c)
	otherClass, otherShare := largest(other)
	return cmp.Or(cmp.Compare(class, otherClass), cmp.Compare(otherShare, share))
}

// group replaces columns beyond the limit by means of adjacent ones.
func (d *drawnLabels) group() {
	n := len(d.columns)
	if n <= mostColumns {
		return
	}
	all := d.columns
	d.columns = make([]labelColumn, mostColumns)
	for i := range d.columns {
		part := all[int(int64(i)*int64(n)/mostColumns):int(int64(i+1)*int64(n)/mostColumns)]
		into := &d.columns[i]
		into.classes = make([]float64, len(d.Classes))
		for _, c := range part {
			into.rows += c.rows / float64(len(part))
			for j, rows := range c.classes {
				into.classes[j] += rows / float64(len(part))
			}
			for j, q := range c.quantiles {
				into.quantiles[j] += q / float64(len(part))
			}
		}
	}
}

// entries returns the legend: samples of numbers of rows, or the parts of a distribution.
func (d *drawnLabels) entries() []legendEntry {
	if len(d.Classes) == 0 {
		return []legendEntry{
			newEntry("median target", boxSample(ink, 0.6), labelsWidth),
			newEntry("quartiles", boxSample(quartileColor, 2.5), labelsWidth),
			newEntry("5 to 95 %", boxSample(wideColor, 0.5), labelsWidth),
		}
	}
	head := "rows of a class:"
	entries := []legendEntry{{text: head, width: legendStyle().Width(head)}}
	for _, share := range []float64{1, 0.25, 0.0625} {
		if rows := math.Round(share * d.most); rows >= 1 || share == 1 {
			sample := boxSample(shadeOf(d.level(max(1, rows))), 3)
			if !d.ordered {
				sample = func(c *draw.Canvas, x, y vg.Length) {
					d.disc(c, vg.Point{X: x + sampleWidth/2, Y: y}, max(1, rows))
				}
			}
			entries = append(entries, newEntry(numberText(max(1, rows), 1), sample, labelsWidth))
		}
	}
	return entries
}

// quartileColor and wideColor are the colors of the quartiles and of 5 to 95 % of real targets.
var quartileColor, wideColor = categoryColors[0], categoryColors[5]

// boxSample returns the sample of a color, with half its height.
func boxSample(fill color.Color, half vg.Length) sampler {
	return func(c *draw.Canvas, x, y vg.Length) { box(c, fill, x, x+sampleWidth, y-half, y+half) }
}

func box(c *draw.Canvas, fill color.Color, left, right, bottom, top vg.Length) {
	c.FillPolygon(fill, []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}})
}

// plot returns the plot: the body, and above it the strip of rows.
func (d *drawnLabels) plot() *plot.Plot {
	out := plot.New()
	out.BackgroundColor = nil
	n := len(d.Clients)
	out.X.Min, out.X.Max = 0, float64(n)
	high := d.values.length() / float64(d.body)
	out.Y.Min, out.Y.Max = d.values.min, d.values.max+float64(high*float64(stripGap+labelsStrip))
	out.X.Label.Text, out.Y.Label.Text = "client", "class"
	switch {
	case len(d.Classes) == 0:
		out.Y.Label.Text = "target"
		if d.ordered {
			out.X.Label.Text = "clients, by median target"
		}
	case d.ordered:
		out.X.Label.Text = "clients, by largest class"
	}
	out.X.Tick.Marker = d.clientTicks()
	out.Y.Tick.Marker = append(d.valueTicks(),
		plot.Tick{Value: out.Y.Max, Label: numberText(math.Round(d.mostRows), 1) + " rows"})
	styleAxes(out)
	if len(d.Classes) > 0 {
		out.Y.Tick.Length = 0
	}
	if !d.ordered {
		out.X.Tick.Length = 0
	}
	out.Add(d)
	return out
}

// clientTicks returns the names of the clients, as many as fit, or their number.
func (d *drawnLabels) clientTicks() ticks {
	n := len(d.Clients)
	if d.ordered {
		return linearTicks(interval{0, float64(n)}, unit{Size: 1}, 8)
	}
	short, widest := shortened(d.Clients)
	step := max(1, int(math.Ceil(float64((widest+2)*vg.Length(n)/labelsWidth))))
	var names ticks
	for k := 0; k < n; k += step {
		names = append(names, plot.Tick{Value: float64(k) + 0.5, Label: short[k]})
	}
	return names
}

// shortened returns names as on an axis, and the width of the widest.
func shortened(names []string) (short []string, widest vg.Length) {
	sty := textStyle(tickSize, false)
	for _, name := range names {
		name = fit(name, sty, classNameMax, 1)
		short, widest = append(short, name), max(widest, sty.Width(name))
	}
	return short, widest
}

// valueTicks returns the names of the classes, as many as fit, or numbers of targets.
func (d *drawnLabels) valueTicks() ticks {
	count := len(d.Classes)
	if count == 0 {
		return linearTicks(d.values, unit{Size: 1}, 6)
	}
	step := max(1, int(math.Ceil(7*float64(count)/float64(d.body))))
	short, _ := shortened(d.Classes)
	var names ticks
	for c := 0; c < count; c += step {
		names = append(names, plot.Tick{Value: float64(count-c) - 0.5, Label: short[c]})
	}
	return names
}

// level returns the shade of a number of rows of a class, by its square root: from 1 to shades, or 0 without rows.
func (d *drawnLabels) level(rows float64) int {
	return min(shades, int(math.Ceil(shades*math.Sqrt(rows/d.most))))
}

// shadeOf returns a shade from light to dark.
func shadeOf(level int) color.Color {
	return mixed(shadeLight, shadeDark, float64(level)/shades)
}

// width returns about the width of the body beside the names of the classes.
func (d *drawnLabels) width() vg.Length {
	_, widest := shortened(d.Classes)
	return labelsWidth - max(0, widest-yAxisWidth/2)
}

// disc draws a disc with an area in proportion to rows, and large enough to be seen.
func (d *drawnLabels) disc(c *draw.Canvas, at vg.Point, rows float64) {
	whole := min(d.width()/vg.Length(max(len(d.Clients), 20)), d.body/vg.Length(len(d.Classes)))
	radius := max(0.5, 0.48*float64(whole)*math.Sqrt(rows/d.most))
	outline := make([]vg.Point, 0, 24)
	for _, p := range polygon(24, 0, radius) {
		outline = append(outline, at.Add(p))
	}
	c.FillPolygon(categoryColors[0], outline)
}

// Plot draws the body and the strip.
func (d *drawnLabels) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	width := float64(len(d.Clients)) / float64(len(d.columns))
	left := func(i int) vg.Length { return toX(float64(float64(i) * width)) }
	base := toY(d.values.max) + stripGap
	c.StrokeLine2(gridLine, c.Min.X, base, c.Max.X, base)
	c.StrokeLine2(gridLine, c.Min.X, toY(d.values.max), c.Max.X, toY(d.values.max))
	gap := min(1, (left(1)-left(0))/8)
	if d.ordered {
		gap = -dot / 2 // no seams between columns
	}
	for i := range d.columns {
		if rows := d.columns[i].rows; rows > 0 {
			box(&c, categoryColors[0], left(i)+gap, left(i+1)-gap, base, base+(c.Max.Y-base)*vg.Length(rows/d.mostRows))
		}
	}
	switch {
	case len(d.Classes) == 0:
		d.spans(&c, left, toY, gap)
	case d.ordered:
		d.cells(&c, left, toY)
	default:
		for i := range d.columns {
			for j, rows := range d.columns[i].classes {
				if rows > 0 {
					d.disc(&c, vg.Point{X: (left(i) + left(i+1)) / 2, Y: toY(float64(len(d.Classes)-j) - 0.5)}, rows)
				}
			}
		}
	}
}

// cells draws the shades, one box for adjacent columns of the same.
func (d *drawnLabels) cells(c *draw.Canvas, left func(int) vg.Length, toY func(float64) vg.Length) {
	for j := range d.Classes {
		top := float64(len(d.Classes) - j)
		for from := 0; from < len(d.columns); {
			level, to := d.level(d.columns[from].classes[j]), from+1
			for to < len(d.columns) && d.level(d.columns[to].classes[j]) == level {
				to++
			}
			if level > 0 {
				box(c, shadeOf(level), left(from), left(to)+dot/2, toY(top-0.96), toY(top-0.04))
			}
			from = to
		}
	}
}

func (d *drawnLabels) spans(c *draw.Canvas, left func(int) vg.Length, toY func(float64) vg.Length, gap vg.Length) {
	for i := range d.columns {
		col := &d.columns[i]
		if col.rows == 0 {
			continue
		}
		from, to := left(i)+gap, left(i+1)-gap
		q := col.quantiles
		narrow := (to - from) / 3
		if d.ordered {
			narrow = 0
		}
		box(c, wideColor, from+narrow, to-narrow, toY(q[0]), toY(q[4]))
		box(c, quartileColor, from, to, toY(q[1]), toY(q[3]))
		box(c, ink, from, to, toY(q[2])-0.6, toY(q[2])+0.6)
	}
}

// dot is the width of a pixel of a PNG file.
const dot = vg.Inch / dpi

// plotAxis is the height of the horizontal axis with its label, in points.
const plotAxis = vg.Length(30)
