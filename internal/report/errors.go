package report

import (
	"strings"

	"fedsim/results"
)

// addErrors adds the tables of errors at the end of the runs, a table for each block.
func (r *Report) addErrors(runs []results.Run) {
	for _, t := range results.ErrorTables(runs) {
		for i := range t.Blocks {
			b := &t.Blocks[i]
			name := t.Caption()
			if len(b.Point) > 0 {
				name = results.SettingsText(b.Point) + ": " + name
			}
			name += "; " + strings.Join(append([]string{t.Note()}, b.Notes...), "; ")
			r.Tables = append(r.Tables, errorTable{Name: name, Head: append([]string{t.RowKey}, t.Heads()...), Rows: t.Cells(b)})
		}
	}
}
