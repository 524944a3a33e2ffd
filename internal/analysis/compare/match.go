package compare

import (
	"slices"

	"fedsim/results"
	"fedsim/results/rundir"
)

// group is the runs of one label, by directory.
type group struct {
	label Label
	runs  map[int][]results.Run
}

// match sets the cases and the unmatched runs.
func (c *Comparison) match(dirs []*rundir.Results) {
	var groups []*group
	groupOf := map[string]*group{}
	for d := range dirs {
		for _, r := range dirs[d].Runs {
			label := Label{Experiment: r.Experiment, Method: r.Method, Point: r.Point}
			g := groupOf[label.key()]
			if g == nil {
				g = &group{label: label, runs: map[int][]results.Run{}}
				groupOf[label.key()] = g
				groups = append(groups, g)
			}
			g.runs[d] = append(g.runs[d], r)
		}
	}
	for _, g := range groups {
		var rows []Row
		var runs [][]results.Run
		for d := range dirs {
			if own := g.runs[d]; own != nil {
				runs = append(runs, own)
				rows = append(rows, c.row(dirs[d].Dir, own, runs[0]))
			}
		}
		if len(rows) == 1 {
			c.Unmatched = append(c.Unmatched, Unmatched{Directory: rows[0].Directory, Label: g.label})
			continue
		}
		c.Cases = append(c.Cases, Case{Label: g.label, Rows: rows})
		c.runs = append(c.runs, runs)
	}
	at := func(a Unmatched) int { return slices.Index(c.Directories, a.Directory) }
	slices.SortStableFunc(c.Unmatched, func(a, b Unmatched) int { return at(a) - at(b) })
}

// row returns the row of a directory; base holds the runs of the first row.
func (c *Comparison) row(directory string, runs, base []results.Run) Row {
	row := Row{Directory: directory}
	for i := range runs {
		row.Seeds, row.Relative = append(row.Seeds, runs[i].Seed), runs[i].Relative
	}
	for _, target := range c.Targets {
		cost, reached := results.MeanCost(runs, target)
		row.Cells = append(row.Cells, Cell{target, cost, reached, ratio(runs, base, target)})
	}
	return row
}

// ratio returns the ratio of the times to a target, paired if the sides have a seed in
// common.
func ratio(runs, base []results.Run, target results.Target) Ratio {
	var times, with []float64
	for i := range runs {
		if j := slices.IndexFunc(base, func(r results.Run) bool { return r.Seed == runs[i].Seed }); j >= 0 {
			times = append(times, runs[i].CostTo(target).TimeS)
			with = append(with, base[j].CostTo(target).TimeS)
		}
	}
	if len(times) > 0 {
		return newRatio(times, with, true)
	}
	for i := range runs {
		times = append(times, runs[i].CostTo(target).TimeS)
	}
	for i := range base {
		with = append(with, base[i].CostTo(target).TimeS)
	}
	return newRatio(times, with, false)
}
