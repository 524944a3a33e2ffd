package plots

import (
	"bytes"
	"html"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"fedsim/internal/tools/atomicfile"
	"fedsim/results"
)

// dpi is the resolution of PNG files: three panels are 1980 pixels wide.
const dpi = 300

// Picture is a figure with its layout, independent of a file format.
type Picture struct {
	width, height vg.Length
	title         string
	panelTitles   vg.Length // height of the tallest
	legend        legend
	plots         [][]*plot.Plot // rows of panels; nil at the end of an incomplete row
	source        string         // Figure.Source
}

// Draw lays out fig with the runs of its experiment. It fails for an unknown quantity, for
// a key that no run has, and without runs. A panel without values shows a note.
func Draw(fig results.Figure, runs []results.Run) (*Picture, error) {
	m, err := newModel(fig, runs)
	if err != nil {
		return nil, err
	}
	pi := m.layOut()
	pi.source = fig.Source
	return pi, nil
}

func (f *figureContent) layOut() *Picture {
	y, ok := f.yLimits()
	if !ok {
		y = interval{0, 1}
	}
	x, a := make([]interval, len(f.panels)), &axes{y: y, styles: f.lineStyles()}
	titles := make([]string, len(f.panels))
	for i := range f.panels {
		x[i], _ = f.xLimits(&f.panels[i])
		titles[i] = f.panels[i].title
	}
	a.unit, a.powers = f.unitOf(x), f.inPowers(x, y)
	cols, size := arrangement(len(f.panels), f.fig.Width)
	legend := func(width vg.Length) legend { return f.newLegend(a.styles, width) }
	return newPicture(f.fig.Title, titles, cols, size, legend, func(i int, title string, size vg.Point) *plot.Plot {
		return f.newPlot(&f.panels[i], title, a, x[i], size, i%cols == 0)
	})
}

// newPicture lays out panels with titles in columns, above a legend of a width. panel returns the
// plot of a panel with the title that fits and the size without the gap.
func newPicture(title string, titles []string, cols int, size vg.Point, legend func(vg.Length) legend,
	panel func(i int, title string, size vg.Point) *plot.Plot) *Picture {
	rows := (len(titles) + cols - 1) / cols
	f := &Picture{width: yAxisWidth + vg.Length(cols)*size.X}
	f.title = fit(title, textStyle(titleSize, true), f.width-2*margin, 2)
	f.legend = legend(f.width - 2*margin)
	f.plots = make([][]*plot.Plot, rows)
	for i, title := range titles {
		title = fit(title, textStyle(panelSize, false), size.X-panelGap, 2)
		if title != "" {
			f.panelTitles = max(f.panelTitles, textStyle(panelSize, false).Height(title)+titleGap)
		}
		if i%cols == 0 {
			f.plots[i/cols] = make([]*plot.Plot, cols)
		}
		f.plots[i/cols][i%cols] = panel(i, title, vg.Point{X: size.X - panelGap, Y: size.Y - panelGap})
	}
	f.height = f.titleHeight() + vg.Length(rows)*(size.Y+f.panelTitles) + legendGap + f.legend.height() + 2*margin
	return f
}

// unitOf returns the unit of all horizontal axes: that of the shortest one, unless labels
// of the longest would need more than four digits; on logarithmic axes, that of the
// middle.
func (f *figureContent) unitOf(x []interval) unit {
	all, ends := emptyInterval(), emptyInterval()
	for _, r := range x {
		if r.min < r.max {
			all.join(r)
			ends.cover(f.xScale.value(r.max))
		}
	}
	if f.xScale == logarithmic {
		return f.x.unitFor(1.5 * f.xScale.value((all.min+all.max)/2))
	}
	u := f.x.unitFor(ends.min)
	if ends.max/u.Size >= 1e4 {
		u = f.x.unitFor(ends.max)
	}
	return u
}

// inPowers reports whether the logarithmic axes of a figure label decades as powers of
// ten. Plain numbers are easier to read beside a linear axis, and on an axis with labels
// between decades, unless they are very small or large.
func (f *figureContent) inPowers(x []interval, y interval) bool {
	shown := emptyInterval()
	short := f.yScale == linear
	see := func(r interval) {
		if !(r.min < r.max) {
			return
		}
		shown.join(r)
		short = short || !hasDecades(r)
	}
	if f.yScale == logarithmic {
		see(y)
	}
	if f.xScale == logarithmic {
		shift := math.Log10(f.unitOf(x).Size)
		for _, r := range x {
			see(interval{r.min - shift, r.max - shift})
		}
	}
	return !short || shown.min < -3 || shown.max > 4
}

// Lengths of the layout, in points.
const (
	margin     = vg.Length(6)
	yAxisWidth = vg.Length(42)
	panelGap   = vg.Length(8)
	titleGap   = vg.Length(3) // between a panel and its title
	legendGap  = vg.Length(5)
)

// leastPanel is the least width of a panel with its axes.
const leastPanel = vg.Length(110)

// arrangement returns the number of columns, and the size of a panel with its axes. Three
// columns have the text width of a paper. A width of the figure makes panels narrower or wider, and
// columns fewer if they would be too narrow; texts keep their size.
func arrangement(panels int, width results.Width) (cols int, size vg.Point) {
	switch {
	case panels <= 1:
		cols, size = 1, vg.Point{X: 280, Y: 200}
	case panels == 2, panels == 4:
		cols, size = 2, vg.Point{X: 190, Y: 165}
	default:
		cols, size = 3, vg.Point{X: 144, Y: 150}
	}
	if width > 0 {
		inside := vg.Length(width)*vg.Millimeter - yAxisWidth
		cols = max(1, min(cols, int(inside/leastPanel)))
		each := inside / vg.Length(cols)
		size = vg.Point{X: each, Y: min(max(size.Y*each/size.X, leastPanel), 1.2*size.Y)}
	}
	return cols, size
}

func (pi *Picture) titleHeight() vg.Length {
	if pi.title == "" {
		return 0
	}
	return textStyle(titleSize, true).Height(pi.title) + 5
}

// draw draws the figure: title, panels, legend.
func (pi *Picture) draw(canvas vg.CanvasSizer) {
	c := draw.New(canvas)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	if pi.title != "" {
		sty := textStyle(titleSize, true)
		sty.YAlign = draw.YTop
		c.FillText(sty, vg.Point{X: c.Center().X, Y: c.Max.Y}, pi.title)
		c.Max.Y -= pi.titleHeight()
	}
	pi.legend.draw(draw.Crop(c, 0, 0, 0, pi.legend.height()-c.Size().Y))
	c.Min.Y += pi.legend.height() + legendGap
	tiles := draw.Tiles{Rows: len(pi.plots), Cols: len(pi.plots[0]), PadX: panelGap, PadY: panelGap + pi.panelTitles,
		PadTop: pi.panelTitles}
	for r, row := range plot.Align(pi.plots, tiles, c) {
		for i, tile := range row {
			if p := pi.plots[r][i]; p != nil {
				p.Draw(tile)
			}
		}
	}
}

// WriteSVG writes the figure as SVG. It names the font without embedding it; Arial, the
// fallback, has the same metrics. Its metadata is Figure.Source.
func (pi *Picture) WriteSVG(w io.Writer) error {
	c := vgsvg.New(pi.width, pi.height)
	pi.draw(c)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	text := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	if pi.source != "" {
		begin := bytes.Index(text, []byte("<svg"))
		begin += bytes.IndexByte(text[begin:], '>') + 1
		metadata := "\n<metadata>" + html.EscapeString(pi.source) + "</metadata>"
		text = slices.Insert(text, begin, []byte(metadata)...)
	}
	_, err := w.Write(text)
	return err
}

// Save draws fig, writes File with each of Extensions to the existing directory dir and returns
// the names of the files.
func Save(dir string, fig results.Figure, runs []results.Run) ([]string, error) {
	f, err := Draw(fig, runs)
	if err != nil {
		return nil, err
	}
	return f.Save(dir, fig.File)
}

// Save writes file with each of Extensions to the existing directory dir and returns the names in order.
func (pi *Picture) Save(dir, file string) (names []string, err error) {
	for _, extension := range Extensions {
		if err := atomicfile.WriteIn(dir, file+extension, pi.Writer(extension)); err != nil {
			return names, err
		}
		names = append(names, file+extension)
	}
	slices.Sort(names)
	return names, nil
}
