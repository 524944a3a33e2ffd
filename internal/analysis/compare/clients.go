package compare

import (
	"fedsim/internal/columns"
	"fedsim/results"
)

// clients returns a block per case and a row per directory with the statistics over clients
// at the end; ok is false if no run has any.
func (c *Comparison) clients() (t table, ok bool) {
	label, metrics := results.MainStatistics(c.allRuns())
	if len(metrics) == 0 {
		return t, false
	}
	group := columns.Group{}
	for i := range metrics {
		group.Heads = append(group.Heads, metrics[i].Head())
	}
	t = table{caption: label + " over clients at the end", Table: columns.Table{Label: "directory", Groups: []columns.Group{group}}}
	for n := range c.Cases {
		a := &c.Cases[n]
		block := columns.Block{Title: a.String()}
		for i := range a.Rows {
			runs := c.runs[n][i]
			row := []string{c.Directories[a.Rows[i].Directory]}
			for k := range metrics {
				row = append(row, metrics[k].Format(metrics[k].AtEnd(runs), runs[0].Real))
			}
			block.Rows = append(block.Rows, row)
		}
		t.Blocks = append(t.Blocks, block)
	}
	return t, true
}

// Statistic is a statistic over clients at the end of the runs of a row, the mean over its
// seeds.
type Statistic struct {
	Metric results.Metric
	Value  float64 // NaN: not known
}

// Statistics returns the statistics over clients of a row of a case, by their numbers.
func (c *Comparison) Statistics(of, row int) []Statistic {
	var all []Statistic
	for _, m := range results.ClientStatistics(c.allRuns()) {
		all = append(all, Statistic{m, m.AtEnd(c.runs[of][row])})
	}
	return all
}
