package ranking

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/columns"
	"fedsim/results"
	"fedsim/results/rundir"
)

// Section returns the table, with the files NAME-ranks.csv, .md and .tex.
func (t *Table) Section() results.Section {
	return results.Section{Title: t.caption(), Table: t.table(), Notes: []string{t.note()},
		Name: t.Experiment + "-ranks", Exact: t.exact()}
}

func (t *Table) caption() string {
	return fmt.Sprintf("%s: ranks as far as they are certain, and means over %s (standard error)%s", t.Experiment,
		t.Vary.Repetitions(t.Seeds), t.data)
}

func (t *Table) note() string {
	note := fmt.Sprintf("rank: the ranges of a column of ranks hold together with a probability of %g %% (paired "+
		"t-tests of all pairs, "+
		"corrected by Holm; docs/reference/examples.md); standard errors of costs are in %% of the mean", 100*(1-level))
	if t.some(func(c *Cell) bool { return c.Cost.EndedSeeds > 0 && c.Cost.NeverSeeds == 0 }) {
		note += fmt.Sprintf(
			"; >: mean, unknown costs taken at the end of the run; (1 of %d): runs that reached the target", t.Seeds)
	}
	if t.some(func(c *Cell) bool { return c.Cost.NeverSeeds > 0 }) {
		note += "; never: runs that stalled before the target"
	}
	if slices.ContainsFunc(t.blocks, func(b Block) bool { return b.overlap > 0 }) {
		note += "; splits of the same rows are not independent: tests take the variance of Nadeau and Bengio"
	}
	return note
}

// some reports whether any cell has a property.
func (t *Table) some(property func(*Cell) bool) bool {
	for _, b := range t.blocks {
		for _, r := range b.Rows {
			for i := range r.Cells {
				if property(&r.Cells[i]) {
					return true
				}
			}
		}
	}
	return false
}

// table returns a group of columns for each error, and two for each target.
func (t *Table) table() columns.Table {
	table := columns.Table{Label: "method"}
	for i := range t.measures {
		m := &t.measures[i]
		group := columns.Group{Title: m.title, Heads: []string{m.head, "rank"}}
		if n := len(table.Groups); n > 0 && table.Groups[n-1].Title == group.Title &&
			len(table.Groups[n-1].Heads) == 2 {
			table.Groups[n-1].Heads = append(table.Groups[n-1].Heads, group.Heads...)
			continue
		}
		table.Groups = append(table.Groups, group)
	}
	for i := range t.blocks {
		b := &t.blocks[i]
		block := columns.Block{Title: results.SettingsText(b.Point)}
		for k := range b.Rows {
			row := []string{b.Rows[k].Label}
			for c := range b.Rows[k].Cells {
				row = append(row, b.Rows[k].Cells[c].text(&t.measures[c]), b.Rows[k].Cells[c].Rank())
			}
			block.Rows = append(block.Rows, row)
		}
		table.Blocks = append(table.Blocks, block)
	}
	return table
}

// text formats the mean with its standard error, or a bound of it and how many seeds reached a target.
func (c *Cell) text(m *Measure) string {
	switch x := &c.Cost; {
	case x.NeverSeeds > 0 || x.EndedSeeds > 0:
		text := x.Format(m.text(m.amount(&x.AtLeast)))
		if x.NeverSeeds == 0 && x.Seeds() > 1 {
			text += fmt.Sprintf(" (%d of %d)", x.ReachedSeeds, x.Seeds())
		}
		return text
	case c.Known < c.Seeds:
		return "-"
	case math.IsNaN(c.SE):
		return m.text(c.Mean)
	case m.total == nil:
		return m.text(c.Mean) + " (" + strings.TrimSuffix(m.text(c.SE), " %") + ")"
	default:
		return fmt.Sprintf("%s (%.0f %%)", m.text(c.Mean), 100*c.SE/c.Mean)
	}
}

// Rank formats the range of the rank: "1", or "2-5".
func (c *Cell) Rank() string {
	if c.Low == c.High {
		return strconv.Itoa(c.Low)
	}
	return fmt.Sprintf("%d-%d", c.Low, c.High)
}

// exact returns a row for each point, method and measure, with floats in full precision. Column reached counts
// the seeds with a value; mean is empty unless all have one, and at_least is not where some ended.
func (t *Table) exact() [][]string {
	lines := [][]string{{"experiment", "point", "method", "measure", "seeds", "reached", "mean", "standard_error",
		"difference_to_lowest", "difference_standard_error", "rank_low", "rank_high", "at_least"}}
	for _, b := range t.blocks {
		for _, r := range b.Rows {
			for i, c := range r.Cells {
				lines = append(lines, []string{
					t.Experiment, rundir.NoFormula(results.SettingsText(b.Point)), rundir.NoFormula(r.Label),
					t.measures[i].Name, strconv.Itoa(c.Seeds), strconv.Itoa(c.Known), columns.Exact(c.Mean),
					columns.Exact(c.SE), columns.Exact(c.Difference.Mean), columns.Exact(c.Difference.SE),
					strconv.Itoa(c.Low), strconv.Itoa(c.High), columns.Exact(c.atLeast(&t.measures[i])),
				})
			}
		}
	}
	return lines
}

// atLeast returns the mean, or a bound of it.
func (c *Cell) atLeast(m *Measure) float64 {
	if m.amount == nil {
		return c.Mean
	}
	return m.amount(&c.Cost.AtLeast)
}
