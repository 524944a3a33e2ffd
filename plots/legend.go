package plots

import (
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Lengths within the legend, in points.
const (
	sampleWidth = vg.Length(24) // the piece of line
	sampleGap   = vg.Length(4)  // between it and its text
	entryGap    = vg.Length(14)
	legendRow   = vg.Length(13) // height
)

// legend lists the series in centred rows below the panels.
type legend struct {
	style text.Style
	rows  [][]legendEntry
}

// legendEntry is a sample of a line and its name, or a text alone that says
// what the names are values of.
type legendEntry struct {
	text  string
	line  *lineStyle
	width vg.Length
}

// newLegend breaks the entries into rows of at most the width. Every row but
// the last is as full as it gets.
func (m *model) newLegend(styles []lineStyle, width vg.Length) legend {
	sty := textStyle(legendSize, false)
	sty.XAlign, sty.YAlign = draw.XLeft, draw.YCenter
	l := legend{style: sty}
	var row []legendEntry
	var used vg.Length
	add := func(e legendEntry) {
		if len(row) > 0 && used+entryGap+e.width > width {
			l.rows = append(l.rows, row)
			row, used = nil, 0
		}
		if len(row) > 0 {
			used += entryGap
		}
		row, used = append(row, e), used+e.width
	}
	if m.legend != "" {
		name := fit(m.legend+":", sty, width, 1)
		add(legendEntry{text: name, width: sty.Width(name)})
	}
	for i, s := range m.series {
		name := fit(s.label, sty, width-sampleWidth-sampleGap, 1)
		add(legendEntry{text: name, line: &styles[i], width: sampleWidth + sampleGap + sty.Width(name)})
	}
	l.rows = append(l.rows, row)
	return l
}

func (l *legend) height() vg.Length { return legendRow * vg.Length(len(l.rows)) }

// draw draws the rows from the top of the canvas on.
func (l *legend) draw(c draw.Canvas) {
	y := c.Max.Y - legendRow/2
	for _, row := range l.rows {
		total := entryGap * vg.Length(len(row)-1)
		for _, e := range row {
			total += e.width
		}
		x := c.Center().X - total/2
		for _, e := range row {
			start := x
			if e.line != nil {
				c.StrokeLine2(e.line.line, x, y, x+sampleWidth, y)
				e.line.mark.draw(&c, vg.Point{X: x + sampleWidth/2, Y: y}, e.line.line.Color)
				x += sampleWidth + sampleGap
			}
			c.FillText(l.style, vg.Point{X: x, Y: y}, e.text)
			x = start + e.width + entryGap
		}
		y -= legendRow
	}
}

// fit breaks a text between words into at most the given number of lines of a
// width, and ends it with an ellipsis where it does not fit.
func fit(s string, sty text.Style, width vg.Length, lines int) string {
	var out []string
	rest := strings.Fields(s)
	for len(rest) > 0 && len(out) < lines {
		n := 1
		for n < len(rest) && sty.Width(strings.Join(rest[:n+1], " ")) <= width {
			n++
		}
		if len(out) == lines-1 {
			n = len(rest)
		}
		out = append(out, shorten(strings.Join(rest[:n], " "), sty, width))
		rest = rest[n:]
	}
	return strings.Join(out, "\n")
}

// shorten cuts a line to a width.
func shorten(s string, sty text.Style, width vg.Length) string {
	if sty.Width(s) <= width {
		return s
	}
	runes := []rune(s)
	for len(runes) > 0 && sty.Width(string(runes)+"…") > width {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " ") + "…"
}
