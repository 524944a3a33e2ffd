package plots

import (
	"fmt"
	"strings"
	"testing"
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
		if want := map[bool]string{true: "and 7 more lines"}[c.lines > c.entries]; named != c.entries || note != want {
			t.Errorf("%d lines: %d names and the note %q", c.lines, named, note)
		}
	}
}

// A long text is cut to what fits, in few steps.
func TestLongTextsAreCutInFewSteps(t *testing.T) {
	sty := textStyle(legendSize, false)
	for _, s := range []string{strings.Repeat("x", 20000), strings.Repeat("ä b ", 5000)} {
		var cut string
		if n := testing.AllocsPerRun(1, func() { cut = fit(s, sty, 100, 1) }); n > 2000 {
			t.Errorf("%.10s: %v allocations", s, n)
		}
		if !strings.HasSuffix(cut, "…") || sty.Width(cut) > 100 || sty.Width(cut) < 90 {
			t.Errorf("%q has a width of %v, want at most 100 and no room for another letter", cut, sty.Width(cut))
		}
	}
}
