package plots

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedsim/results"
)

// Lengths within the legend, in points.
const (
	sampleWidth = vg.Length(21) // of a line sample
	sampleGap   = vg.Length(4)  // between a sample and its text
	entryGap    = vg.Length(12)
	legendRow   = vg.Length(13) // height
)

// legend lists the series in centered rows below the panels.
type legend struct {
	style text.Style
	rows  [][]legendEntry
}

// legendEntry is a sample with its name, or a text without a sample.
type legendEntry struct {
	text   string
	sample sampler // nil: none
	width  vg.Length
}

// sampler draws a sample that is sampleWidth wide, starting at x, centered at y.
type sampler func(c *draw.Canvas, x, y vg.Length)

func (s *lineStyle) sample(c *draw.Canvas, x, y vg.Length) {
	c.StrokeLine2(s.line, x, y, x+sampleWidth, y)
	s.mark.draw(c, vg.Point{X: x + sampleWidth/2, Y: y}, s.line.Color)
}

// legendStyle returns the style of the text in a legend.
func legendStyle() text.Style {
	sty := textStyle(legendSize, false)
	sty.XAlign, sty.YAlign = draw.XLeft, draw.YCenter
	return sty
}

// newEntry returns the entry of a sample, with its name cut to a width.
func newEntry(name string, of sampler, width vg.Length) legendEntry {
	sty := legendStyle()
	name = fit(name, sty, width-sampleWidth-sampleGap, 1)
	return legendEntry{text: name, sample: of, width: sampleWidth + sampleGap + sty.Width(name)}
}

// mostEntries is the number of series in a legend. Further ones are only counted: nobody tells
// apart so many lines, and a thousand names make a figure of two meters.
const mostEntries = 120

// newLegend returns the legend of the series. The name of their key precedes them, in
// the same row if it fits. Notes on further series and on the bands follow in their own rows.
func (f *figureContent) newLegend(styles []lineStyle, width vg.Length) legend {
	var entries []legendEntry
	for i, s := range f.series {
		if f.fig.X == results.Epsilon &&
			!slices.ContainsFunc(f.panels, func(p panel) bool { return len(p.curves[i]) > 0 }) {
			continue // runs without privacy
		}
		entries = append(entries, newEntry(s.Label, styles[i].sample, width))
	}
	var notes []string
	if more := len(entries) - mostEntries; more > 0 {
		entries, notes = entries[:mostEntries], []string{fmt.Sprintf("and %d more lines", more)}
	}
	sty := legendStyle()
	head := legendEntry{text: f.legend + ":", width: sty.Width(f.legend + ":")}
	l := setLegend(entries, width)
	switch withHead := append([]legendEntry{head}, entries...); {
	case f.legend == "":
	case rowWidth(withHead) <= width:
		l = setLegend(withHead, width)
	default:
		name := fit(f.legend, sty, width, 1)
		l.rows = append([][]legendEntry{{{text: name, width: sty.Width(name)}}}, l.rows...)
	}
	if ends := f.endEntries(width); len(ends) > 0 {
		l.rows = append(l.rows, setLegend(ends, width).rows...)
	}
	return l.withNotes(slices.Concat(notes, []string{f.bands}, f.notes, []string{f.fig.Caption}), width)
}

// withNotes returns the legend with rows of notes; empty ones are none.
func (l legend) withNotes(notes []string, width vg.Length) legend {
	for _, note := range notes {
		if note == "" {
			continue
		}
		for line := range strings.SplitSeq(fit(note, l.style, width, 3), "\n") {
			l.rows = append(l.rows, []legendEntry{{text: line, width: l.style.Width(line)}})
		}
	}
	return l
}

// setLegend arranges entries in one row, or in columns if the row is too wide.
func setLegend(entries []legendEntry, width vg.Length) legend {
	l := legend{style: legendStyle()}
	if rowWidth(entries) <= width {
		l.rows = append(l.rows, entries)
	} else {
		l.rows = inColumns(entries, width)
	}
	return l
}

func rowWidth(row []legendEntry) vg.Length {
	total := entryGap * vg.Length(len(row)-1)
	for _, e := range row {
		total += e.width
	}
	return total
}

// inColumns arranges entries in columns of equal width and in as few rows as possible.
// Empty entries fill the last row.
func inColumns(entries []legendEntry, width vg.Length) (rows [][]legendEntry) {
	var widest vg.Length
	for _, e := range entries {
		widest = max(widest, e.width)
	}
	columns := max(1, int((width+entryGap)/(widest+entryGap)))
	n := (len(entries) + columns - 1) / columns
	columns = (len(entries) + n - 1) / n
	for i := range n * columns {
		if i%columns == 0 {
			rows = append(rows, nil)
		}
		var e legendEntry
		if i < len(entries) {
			e = entries[i]
		}
		e.width = widest
		rows[i/columns] = append(rows[i/columns], e)
	}
	return rows
}

func (l *legend) height() vg.Length { return legendRow * vg.Length(len(l.rows)) }

// draw draws the rows from the top of the canvas.
func (l *legend) draw(c draw.Canvas) {
	y := c.Max.Y - legendRow/2
	for _, row := range l.rows {
		x := c.Center().X - rowWidth(row)/2
		for _, e := range row {
			start := x
			if e.sample != nil {
				e.sample(&c, x, y)
				x += sampleWidth + sampleGap
			}
			c.FillText(l.style, vg.Point{X: x, Y: y + centerShift*legendSize}, e.text)
			x = start + e.width + entryGap
		}
		y -= legendRow
	}
}

// fit breaks a text between words into at most the given number of lines, and cuts lines
// that are too wide with an ellipsis.
func fit(s string, sty text.Style, width vg.Length, lines int) string {
	var out []string
	runes := []rune(s)
	rest := strings.Fields(string(runes[:min(len(runes), mostRunes)]))
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

// shorten cuts a text that is too wide, with an ellipsis.
func shorten(s string, sty text.Style, width vg.Length) string {
	if sty.Width(s) <= width {
		return s
	}
	runes := []rune(s)
	fits := sort.Search(len(runes), func(n int) bool { return sty.Width(string(runes[:n+1])+"…") > width })
	return strings.TrimRight(string(runes[:fits]), " ") + "…"
}

// mostRunes is more characters than fit anywhere in a figure.
const mostRunes = 2000
