package compare

import (
	"fedsim/internal/tools/columns"
	"fedsim/results"
)

// clients returns a block per case and a row per directory with the statistics over clients
// at the end; none if no run has any.
func (c *Comparison) clients() columns.Sections {
	label, metrics := results.MainStatistics(c.allRuns())
	if len(metrics) == 0 {
		return nil
	}
	group := columns.Group{}
	for i := range metrics {
		group.Heads = append(group.Heads, metrics[i].Head())
	}
	t := columns.Table{Label: "directory", Groups: []columns.Group{group}}
	for n := range c.Cases {
		a := &c.Cases[n]
		block := columns.Block{Title: a.String()}
		for i := range a.Rows {
			runs := c.runs[n][i]
			row := []string{a.Rows[i].Directory}
			for k := range metrics {
				row = append(row, metrics[k].Format(metrics[k].AtEnd(runs).Mean, runs[0].Real))
			}
			block.Rows = append(block.Rows, row)
		}
		t.Blocks = append(t.Blocks, block)
	}
	return columns.Sections{{Title: label + " over clients at the end", Table: t}}
}

// addMetrics sets the metrics of all rows.
func (c *Comparison) addMetrics() {
	statistics := results.ClientStatistics(c.allRuns())
	for n := range c.Cases {
		for i := range c.Cases[n].Rows {
			r := &c.Cases[n].Rows[i]
			for _, m := range statistics {
				r.Metrics = append(r.Metrics, m.ValueAtEnd(c.runs[n][i]))
			}
		}
	}
}
