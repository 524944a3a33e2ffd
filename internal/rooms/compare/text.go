package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"fedsim/internal/tools/columns"
	"fedsim/results"
)

const none = "-"

// Sections returns the comparison, with the files compare.csv, .md and .tex: the settings that differ, the costs of
// each case, statistics over clients, the unmatched runs and notes.
func (c *Comparison) Sections() columns.Sections {
	first := c.settings()
	first.Name, first.Exact = "compare", c.exact()
	return append(append(columns.Sections{first, c.costs()}, c.clients()...), columns.Section{Notes: c.notes()})
}

// settings returns a row per setting that differs.
func (c *Comparison) settings() columns.Section {
	if len(c.Differing) == 0 {
		return columns.Section{Title: "no setting differs"}
	}
	t := columns.Table{Label: "setting"}
	for _, name := range c.Directories {
		t.Groups = append(t.Groups, columns.Group{Heads: []string{name}})
	}
	for _, d := range c.Differing {
		row := []string{d.Key}
		for _, v := range d.Values {
			row = append(row, *cmp.Or(v, new(none)))
		}
		t.Add(row...)
	}
	return columns.Section{Title: "settings that differ", Table: t}
}

// costs returns a block per case, a row per directory and a group of columns per target.
func (c *Comparison) costs() columns.Section {
	t := columns.Table{Label: "directory"}
	for _, x := range c.Targets {
		to, heads := "to "+x.Text(c.allRuns()...), []string{"rounds", "time", "ratio"}
		if c.seeds() == 0 {
			heads = append([]string{"seeds"}, heads...)
		}
		t.Groups = append(t.Groups, columns.Group{Title: to, Heads: heads},
			columns.Group{Title: to, Heads: []string{"sent", "energy"}})
	}
	relative := false
	for n := range c.Cases {
		a := &c.Cases[n]
		block := columns.Block{Title: a.String()}
		for i := range a.Rows {
			r := &a.Rows[i]
			relative = relative || r.Relative
			row := []string{r.Directory}
			for k := range r.Cells {
				if c.seeds() == 0 {
					row = append(row, strconv.Itoa(len(r.Seeds)))
				}
				row = append(row, r.Cells[k].text(r, a.ratio(i, k))...)
			}
			block.Rows = append(block.Rows, row)
		}
		t.Blocks = append(t.Blocks, block)
	}
	return columns.Section{Title: "virtual time, bytes and energy to each target" + results.RelativeNote(relative),
		Table: t}
}

// seeds returns the number of seeds of every row, 0 if they differ.
func (c *Comparison) seeds() int {
	n := len(c.Cases[0].Rows[0].Seeds)
	for i := range c.Cases {
		if slices.ContainsFunc(c.Cases[i].Rows, func(r Row) bool { return len(r.Seeds) != n }) {
			return 0
		}
	}
	return n
}

func (c *Comparison) allRuns() (all []results.Run) {
	for _, rows := range c.runs {
		for _, runs := range rows {
			all = append(all, runs...)
		}
	}
	return all
}

// text returns the cells rounds, time, ratio, bytes and energy.
func (c *Cell) text(r *Row, ratio string) []string {
	at := &c.AtLeast
	return []string{
		c.Format(results.CountText(at.Rounds)), c.Format(results.TimeText(at.TimeS, r.Relative)), ratio,
		c.Format(results.Scaled(at.Bytes, "B")), c.Format(results.EnergyText(at.EnergyJ, r.Relative)),
	}
}

// ratio returns a ratio with its interval, and with the number of seeds if it does not
// use all seeds of the row.
func (c *Case) ratio(row, cell int) string {
	r := &c.Rows[row].Cells[cell].Ratio
	text := r.text()
	switch {
	case text == none:
		return none
	case row == 0:
		return "1x"
	}
	if !math.IsNaN(r.Low) {
		text += fmt.Sprintf(" [%s, %s]", end(r.Low), end(r.High))
	}
	seeds := len(c.Rows[row].Seeds)
	switch {
	case !r.Paired:
		text += " unpaired"
	case r.Seeds == 1 && seeds == 1:
		text += " (1 seed)"
	case r.Seeds == 1:
		text += " (1 pair)"
	case r.Seeds < seeds || r.Seeds < len(c.Rows[0].Seeds):
		text += fmt.Sprintf(" (%d pairs)", r.Seeds)
	}
	return text
}

// text formats what is known of the ratio: "1.74x"; or of the median ratio: "1.74x median", "> 1.74x median",
// or "1.2 to 1.74x median".
func (r *Ratio) text() string {
	unit := "x median"
	if r.Seeds == 1 {
		unit = "x"
	}
	low, high := columns.Significant(r.MedianLow), columns.Significant(r.MedianHigh)+unit
	switch {
	case !r.Censored && math.IsNaN(r.Value),
		r.Censored &&
			(r.MedianHigh == 0 || math.IsInf(r.MedianLow, 1) || r.MedianLow == 0 && math.IsInf(r.MedianHigh, 1)):
		return none
	case !r.Censored:
		return columns.Significant(r.Value) + "x"
	case r.MedianLow == r.MedianHigh:
		return high
	case math.IsInf(r.MedianHigh, 1):
		return "> " + low + unit
	case r.MedianLow == 0:
		return "< " + high
	default:
		return low + " to " + high
	}
}

// end formats an end of an interval.
func end(x float64) string {
	if math.IsInf(x, 1) {
		return "inf"
	}
	return columns.Significant(x)
}

// notes returns the unmatched runs and how to read the numbers.
func (c *Comparison) notes() []string {
	var lines []string
	for _, a := range c.Unmatched {
		lines = append(lines, fmt.Sprintf("only in %s: %s", a.Directory, a.Label))
	}
	over := "the seeds of a directory"
	switch n := c.seeds(); n {
	case 0:
	case 1:
		over = "the one seed of every directory"
	default:
		over = fmt.Sprintf("the %d seeds of every directory", n)
	}
	lines = append(lines, "rounds, time, bytes and energy: means over "+over+"; time is virtual")
	if c.has(func(r *Ratio) bool { return !r.Censored }) {
		lines = append(lines, "ratio: mean time divided by that of the first directory, over common seeds")
	}
	if c.has(func(r *Ratio) bool { return !r.Censored && !math.IsNaN(r.Low) }) {
		lines = append(lines,
			fmt.Sprintf("[low, high]: %g %% bootstrap interval, expanded percentiles of %d resamples", 100*level,
				resamples))
	}
	if c.has(func(r *Ratio) bool { return r.Censored && r.Seeds > 1 }) {
		lines = append(lines, "median: a run did not reach the target, so that this is the median of the ratios of "+
			"common seeds; its interval drops "+
			"the same number of them at both ends, holds after any number of seeds with 95 %, "+
			"and needs seven (docs/results.md)")
	}
	if c.censored() {
		lines = append(lines, ">: mean, unknown costs taken at the end of the run; never: a run stalled")
	}
	if c.has(func(r *Ratio) bool { return r.Seeds == 1 }) {
		lines = append(lines,
			"a ratio over one seed has no interval: run more, such as --set 'run.seeds=[1,2,3,4,5,6]'")
	}
	if c.has((*Ratio).narrow) {
		lines = append(lines,
			fmt.Sprintf("intervals over so few seeds cover less than %g %% (docs/results.md)", 100*level))
	}
	if c.has(func(r *Ratio) bool { return !r.Paired }) {
		lines = append(lines, "unpaired: the directories have no common seed; the ratio uses all seeds of both")
	}
	return lines
}

// has reports whether a defined ratio has a property.
func (c *Comparison) has(property func(*Ratio) bool) bool {
	for i := range c.Cases {
		for _, row := range c.Cases[i].Rows[1:] {
			if slices.ContainsFunc(row.Cells,
				func(x Cell) bool { return x.Ratio.text() != none && property(&x.Ratio) }) {
				return true
			}
		}
	}
	return false
}

// censored reports whether a cost is not known.
func (c *Comparison) censored() bool {
	return slices.ContainsFunc(c.Cases, func(a Case) bool {
		return slices.ContainsFunc(a.Rows, func(r Row) bool {
			return slices.ContainsFunc(r.Cells, func(x Cell) bool { return x.EndedSeeds+x.NeverSeeds > 0 })
		})
	})
}
