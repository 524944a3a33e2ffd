package plots

import (
	"fmt"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// A legend of many series names the first ones and counts the rest.
func TestLongLegends(t *testing.T) {
	for _, c := range []struct{ lines, entries int }{{mostEntries, mostEntries}, {mostEntries + 7, mostEntries}} {
		m := &figureContent{series: make([]Line, c.lines)}
		for i := range m.series {
			m.series[i].Label = fmt.Sprint(i)
		}
		l := m.newLegend(make([]lineStyle, c.lines), 400)
		named, note := 0, ""
		for _, row := range l.rows {
			for _, e := range row {
				if e.sample != nil {
					named++
				} else if e.text != "" {
					note = e.text
				}
			}
		}
		want := map[bool]string{true: "and 7 more lines"}[c.lines > c.entries]
		expect.That(t, named == c.entries && note == want, "%d lines: %d names and the note %q", c.lines, named, note)
	}
}

// A long text is cut to what fits, in few steps.
func TestLongTextsAreCutInFewSteps(t *testing.T) {
	sty := textStyle(legendSize, false)
	for _, s := range []string{strings.Repeat("x", 20000), strings.Repeat("ä b ", 5000)} {
		var cut string
		n := testing.AllocsPerRun(1, func() { cut = fit(s, sty, 100, 1) })
		expect.That(t, n <= 2000, "%.10s: %v allocations", s, n)
		expect.That(t, strings.HasSuffix(cut, "…") && sty.Width(cut) <= 100 && sty.Width(cut) >= 90,
			"%q has a width of %v, want at most 100 and no room for another letter", cut, sty.Width(cut))
	}
}
