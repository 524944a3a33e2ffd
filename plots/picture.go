package plots

import (
	"bytes"
	"image/color"
	"image/png"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
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
}

// Draw lays out fig with the runs of its experiment. It fails for an unknown quantity, for
// a key that no run has, and without runs. A panel without values shows a note.
func Draw(fig results.Figure, runs []results.Run) (*Picture, error) {
	m, err := newModel(fig, runs)
	if err != nil {
		return nil, err
	}
	return m.layOut(), nil
}

func (m *figureContent) layOut() *Picture {
	y, ok := m.yLimits()
	if !ok {
		y = interval{0, 1}
	}
	x, a := make([]interval, len(m.panels)), &axes{y: y, styles: m.lineStyles()}
	titles := make([]string, len(m.panels))
	for i := range m.panels {
		x[i], _ = m.xLimits(&m.panels[i])
		titles[i] = m.panels[i].title
	}
	a.unit, a.powers = m.unitOf(x), m.inPowers(x, y)
	cols, size := arrangement(len(m.panels))
	legend := func(width vg.Length) legend { return m.newLegend(a.styles, width) }
	return newPicture(m.fig.Title, titles, cols, size, legend, func(i int, title string, size vg.Point) *plot.Plot {
		return m.newPlot(&m.panels[i], title, a, x[i], size, i%cols == 0)
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
func (m *figureContent) unitOf(x []interval) unit {
	all, ends := emptyInterval(), emptyInterval()
	for _, r := range x {
		if r.min < r.max {
			all.join(r)
			ends.cover(m.xScale.value(r.max))
		}
	}
	if m.xScale == logarithmic {
		return m.x.unitFor(1.5 * m.xScale.value((all.min+all.max)/2))
	}
	u := m.x.unitFor(ends.min)
	if ends.max/u.Size >= 1e4 {
		u = m.x.unitFor(ends.max)
	}
	return u
}

// inPowers reports whether the logarithmic axes of a figure label decades as powers of
// ten. Plain numbers are easier to read beside a linear axis, and on an axis with labels
// between decades, unless they are very small or large.
func (m *figureContent) inPowers(x []interval, y interval) bool {
	shown := emptyInterval()
	short := m.yScale == linear
	see := func(r interval) {
		if !(r.min < r.max) {
			return
		}
		shown.join(r)
		short = short || !hasDecades(r)
	}
	if m.yScale == logarithmic {
		see(y)
	}
	if m.xScale == logarithmic {
		shift := math.Log10(m.unitOf(x).Size)
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

// arrangement returns the number of columns, and the size of a panel with its axes. Three
// columns have the text width of a paper.
func arrangement(panels int) (cols int, size vg.Point) {
	switch {
	case panels <= 1:
		return 1, vg.Point{X: 280, Y: 200}
	case panels == 2, panels == 4:
		return 2, vg.Point{X: 190, Y: 165}
	default:
		return 3, vg.Point{X: 144, Y: 150}
	}
}

func (f *Picture) titleHeight() vg.Length {
	if f.title == "" {
		return 0
	}
	return textStyle(titleSize, true).Height(f.title) + 5
}

// draw draws the figure: title, panels, legend.
func (f *Picture) draw(canvas vg.CanvasSizer) {
	c := draw.New(canvas)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	if f.title != "" {
		sty := textStyle(titleSize, true)
		sty.YAlign = draw.YTop
		c.FillText(sty, vg.Point{X: c.Center().X, Y: c.Max.Y}, f.title)
		c.Max.Y -= f.titleHeight()
	}
	f.legend.draw(draw.Crop(c, 0, 0, 0, f.legend.height()-c.Size().Y))
	c.Min.Y += f.legend.height() + legendGap
	tiles := draw.Tiles{Rows: len(f.plots), Cols: len(f.plots[0]), PadX: panelGap, PadY: panelGap + f.panelTitles, PadTop: f.panelTitles}
	for r, row := range plot.Align(f.plots, tiles, c) {
		for i, tile := range row {
			if p := f.plots[r][i]; p != nil {
				p.Draw(tile)
			}
		}
	}
}

// WritePNG writes the figure as PNG, at 300 dots per inch.
func (f *Picture) WritePNG(w io.Writer) error { return f.writePNG(w, dpi) }

func (f *Picture) writePNG(w io.Writer, resolution int) error {
	c := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(resolution))
	f.draw(c)
	return png.Encode(w, c.Image())
}

// WriteSVG writes the figure as SVG. It names the font without embedding it; Arial, the
// fallback, has the same metrics.
func (f *Picture) WriteSVG(w io.Writer) error {
	c := vgsvg.New(f.width, f.height)
	f.draw(c)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(),
		[]byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")))
	return err
}

// Save draws fig, writes File.png and File.svg to the existing directory dir and returns
// the names of the files.
func Save(dir string, fig results.Figure, runs []results.Run) ([]string, error) {
	f, err := Draw(fig, runs)
	if err != nil {
		return nil, err
	}
	return f.Save(dir, fig.File)
}

// Extensions are those of the files of a figure.
var Extensions = []string{".png", ".svg"}

// Writer returns the function that writes the figure in the format of an extension.
func (f *Picture) Writer(extension string) func(io.Writer) error {
	if extension == Extensions[0] {
		return f.WritePNG
	}
	return f.WriteSVG
}

// Save writes file.png and file.svg to the existing directory dir and returns their names.
func (f *Picture) Save(dir, file string) (names []string, err error) {
	for _, extension := range Extensions {
		if err := atomicfile.WriteIn(dir, file+extension, f.Writer(extension)); err != nil {
			return names, err
		}
		names = append(names, file+extension)
	}
	return names, nil
}
