package plots

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedsim/results"
)

// ending says how a curve ends. Beyond the last of its points, its value is the last one, unless
// it cuts its line.
type ending int

const (
	given    ending = iota // not a run
	atTarget               // the run reached run.stop_at
	atBudget               // the run ended for another reason: its value would have gone on changing
	stalled
	unfinished // interrupted or under way: drawn without a mark
)

// endings are the names of those with marks in the legend.
var endings = map[ending]string{atTarget: "target reached", atBudget: "budget spent", stalled: "stalled"}

func endingOf(r *results.Run) ending {
	switch {
	case r.Status == results.Interrupted || r.Status == results.UnderWay:
		return unfinished
	case r.Status == results.Stalled:
		return stalled
	case r.AtStop():
		return atTarget
	default:
		return atBudget
	}
}

// Ended says how a run ended, as figures mark it: "target", "budget" or "stalled"; empty for a run
// that was interrupted or is under way.
func Ended(r *results.Run) string {
	word, _, _ := strings.Cut(endings[endingOf(r)], " ")
	return word
}

// cuts reports whether the mean of several curves ends with the curve.
func (e ending) cuts() bool { return e > atTarget }

// end is a place on a line where one of its runs ends.
type end struct {
	x, y float64
	of   ending
}

// endsOf returns where curves end on the line of the band.
func (b *band) endsOf(curves []curve) (ends []end) {
	for _, c := range curves {
		x := c.x[len(c.x)-1]
		if _, marked := endings[c.end]; marked && len(b.x) > 0 && x >= b.x[0] && x <= b.x[len(b.x)-1] {
			line := curve{x: b.x, y: b.mean}
			ends = append(ends, end{x, line.at(x, math.Inf(-1), b.steps), c.end})
		}
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.x, b.x) })
	return ends
}

const endRadius = vg.Length(2.4) // of the mark at an end

// draw draws the mark of an ending: a filled dot, an open circle or a cross.
func (e ending) draw(c *draw.Canvas, at vg.Point, ink color.Color) {
	around := func(m mark, radius vg.Length) []vg.Point {
		outline := make([]vg.Point, 0, len(m)+1)
		for _, q := range append(m, m[0]) {
			outline = append(outline, at.Add(q.Scale(radius)))
		}
		return outline
	}
	pen := draw.LineStyle{Color: ink, Width: 1}
	switch e {
	case atTarget:
		c.FillPolygon(color.White, around(disc, endRadius+0.5))
		c.FillPolygon(ink, around(disc, endRadius))
	case atBudget:
		c.FillPolygon(color.White, around(disc, endRadius))
		c.StrokeLines(pen, around(disc, endRadius-pen.Width/2))
	case stalled:
		for _, pen := range []draw.LineStyle{{Color: color.White, Width: 2.4}, {Color: ink, Width: 1.3}} {
			for _, up := range []vg.Length{endRadius, -endRadius} {
				c.StrokeLine2(pen, at.X-endRadius, at.Y-up, at.X+endRadius, at.Y+up)
			}
		}
	}
}

// drawEnds draws the marks of series i, from the last one, without those on another of their kind.
func (d *drawing) drawEnds(c *draw.Canvas, toX, toY func(float64) vg.Length, i int) {
	last := map[ending]vg.Point{}
	for _, e := range slices.Backward(d.ends[i]) {
		p := vg.Point{X: toX(e.x), Y: toY(e.y)}
		if before, drawn := last[e.of]; c.Contains(p) && !(drawn && distance(before, p) < float64(2*endRadius)) {
			e.of.draw(c, p, d.styles[i].line.Color)
			last[e.of] = p
		}
	}
}

// endEntries returns the entries of a legend for the marks in the figure.
func (f *figureContent) endEntries(width vg.Length) (entries []legendEntry) {
	seen := map[ending]bool{}
	for i := range f.panels {
		f.panels[i].each(func(c curve) { seen[c.end] = true })
	}
	for e := atTarget; e <= stalled; e++ {
		if seen[e] {
			entries = append(entries, newEntry(endings[e], func(c *draw.Canvas, x, y vg.Length) {
				e.draw(c, vg.Point{X: x + sampleWidth - endRadius, Y: y}, ink)
			}, width))
		}
	}
	return entries
}
