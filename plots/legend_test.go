package plots

import (
	"fmt"
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
