package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	xfont "golang.org/x/image/font"
)

// Colors of Okabe and Ito, "Color Universal Design" (2008), without yellow, which is too
// light on white. Green is for the emphasized line.
var (
	categoryColors = []color.NRGBA{
		{0x00, 0x72, 0xb2, 0xff}, // blue
		{0xd5, 0x5e, 0x00, 0xff}, // vermilion
		{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
		{0x00, 0x00, 0x00, 0xff}, // black
		{0xe6, 0x9f, 0x00, 0xff}, // orange
		{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	}
	emphasisColor = color.NRGBA{0x00, 0x9e, 0x73, 0xff} // bluish green
)

// rampColors are colors of Matplotlib's "plasma" (van der Walt and Smith, 2015), with
// uniform steps in lightness, without the ones that are too light on white.
var rampColors = []color.NRGBA{
	{0x0d, 0x08, 0x87, 0xff},
	{0x5c, 0x01, 0xa6, 0xff},
	{0x9c, 0x17, 0x9e, 0xff},
	{0xcc, 0x47, 0x78, 0xff},
	{0xed, 0x79, 0x53, 0xff},
	{0xfd, 0xb4, 0x2f, 0xff},
}

// Lengths of dashes and gaps in points; nil: a solid line.
var categoryDashes = [][]vg.Length{
	nil,
	{5, 2},
	{6, 1.7, 1.3, 1.7},
	{2.6, 1.6},
	{9, 2.2},
	{5, 1.5, 1.3, 1.5, 1.3, 1.5},
	{1.3, 1.3, 3.5, 1.3},
}

var (
	// the first one, unless lines differ in other keys
	emphasisDashes = [][]vg.Length{{1.3, 1.9}, {3, 1.9}, {1.3, 1.9, 3, 1.9}}
	categoryMarks  = []mark{disc, square, triangle, diamond, pentagon, flipped, star}
)

// mostColors is the largest number of colors of lines; more lines differ in their dashes.
const mostColors = 8

// lineStyle is the style of a series in all panels and in the legend.
type lineStyle struct {
	line draw.LineStyle
	band color.Color
	mark mark // zero: none
}

func (f *figureContent) lineStyles() []lineStyle {
	plain := 0 // number of series without emphasis; they come first
	for _, s := range f.series {
		if !s.Emphasis {
			plain++
		}
	}
	styles := make([]lineStyle, len(f.series))
	for i := range styles {
		s := &styles[i]
		var c color.NRGBA
		s.line.Width = 1.1
		switch {
		case f.series[i].Emphasis:
			c = emphasisColor
			s.line.Width = 1.6
			s.line.Dashes = emphasisDashes[(i-plain)%len(emphasisDashes)]
		case f.ordered:
			each := (plain + mostColors - 1) / mostColors // lines of a color
			c = ramp(float64(i/each) / float64(max((plain-1)/each, 1)))
			s.line.Dashes = categoryDashes[i%each%len(categoryDashes)]
			s.mark = categoryMarks[i%len(categoryMarks)]
		default:
			// Seven dashes and six colors: the pair repeats after 42 series.
			c = categoryColors[i%len(categoryColors)]
			s.line.Dashes = categoryDashes[i%len(categoryDashes)]
			s.mark = categoryMarks[i%len(categoryMarks)]
		}
		s.line.Color = c
		c.A = 0x30
		if plain > 4 {
			c.A = 0x18 // several bands lie on each other
		}
		s.band = c
	}
	return styles
}

// ramp returns the color at t in [0, 1], from dark to light.
func ramp(t float64) color.NRGBA {
	at := t * float64(len(rampColors)-1)
	i := min(int(at), len(rampColors)-2)
	return mixed(rampColors[i], rampColors[i+1], at-float64(i))
}

// mixed returns the color at a share of the way from a to b.
func mixed(a, b color.NRGBA, share float64) color.NRGBA {
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + share*(float64(b)-float64(a)))) }
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

// mark is the outline of a marker around the origin, for a radius of one. The zero mark
// draws nothing.
type mark []vg.Point

var (
	disc     = polygon(24, 0, 1)
	square   = polygon(4, math.Pi/4, 1.15)
	triangle = polygon(3, math.Pi/2, 1.3)
	flipped  = polygon(3, -math.Pi/2, 1.3)
	diamond  = polygon(4, 0, 1.25)
	pentagon = polygon(5, math.Pi/2, 1.15)
	star     = starOutline()
)

func polygon(corners int, start, radius float64) mark {
	m := make(mark, corners)
	for i := range m {
		sin, cos := math.Sincos(start + 2*math.Pi*float64(i)/float64(corners))
		m[i] = vg.Point{X: vg.Length(radius * cos), Y: vg.Length(radius * sin)}
	}
	return m
}

func starOutline() mark {
	outer, inner := polygon(5, math.Pi/2, 1.5), polygon(5, math.Pi/2+math.Pi/5, 0.6)
	var m mark
	for i := range outer {
		m = append(m, outer[i], inner[i])
	}
	return m
}

const markRadius = vg.Length(1.9) // points

// draw draws the marker at p, with a white rim that separates it from lines.
func (m mark) draw(c *draw.Canvas, p vg.Point, fill color.Color) {
	if len(m) == 0 {
		return
	}
	outline := make([]vg.Point, len(m))
	for i, q := range m {
		outline[i] = p.Add(q.Scale(markRadius))
	}
	c.FillPolygon(fill, outline)
	c.StrokeLines(draw.LineStyle{Color: color.White, Width: 0.4}, append(outline, outline[0]))
}

// Styles of text, grid and axes.
var (
	ink      = color.Gray{0x20}
	gridLine = draw.LineStyle{Color: color.Gray{0xe4}, Width: 0.4}
	axisLine = draw.LineStyle{Color: ink, Width: 0.5}
)

// textStyle returns a sans serif style with a size in points.
func textStyle(size vg.Length, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: ink, Font: f, XAlign: draw.XCenter, YAlign: draw.YBottom, Handler: plot.DefaultTextHandler}
}
