package compare

import (
	"math"
	"slices"

	"fedsim/internal/tools/certainty"
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
		for k := range c.Targets {
			var costs []*results.MeanCost
			for i := range rows {
				costs = append(costs, &rows[i].Cells[k].MeanCost)
			}
			results.Restrict(costs)
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
		row.Cells = append(row.Cells, Cell{target, results.MeanCostOf(runs, target), ratio(runs, base, target)})
	}
	return row
}

// ratio returns the ratio of the times to a target, paired if the sides have a seed in
// common. Interrupted runs are left out.
func ratio(runs, base []results.Run, target results.Target) Ratio {
	times, with := timesTo(runs, target), timesTo(base, target)
	var pairs [][2]certainty.Bounds
	for i := range runs {
		a, has := with[runs[i].Seed]
		if b, too := times[runs[i].Seed]; has && too {
			pairs = append(pairs, [2]certainty.Bounds{a, b})
		}
	}
	if len(pairs) > 0 {
		return pairedRatio(pairs)
	}
	known := func(of map[uint64]certainty.Bounds, runs []results.Run) (list []float64) {
		for i := range runs {
			if t, has := of[runs[i].Seed]; has && t.Known() {
				list = append(list, t.Low)
			} else if has {
				list = append(list, math.NaN())
			}
		}
		return list
	}
	return newRatio(known(times, runs), known(with, base), false)
}

// timesTo returns the times of runs to a target, exact or bounded, by seed.
func timesTo(runs []results.Run, target results.Target) map[uint64]certainty.Bounds {
	times := map[uint64]certainty.Bounds{}
	for i := range runs {
		if spent, state := runs[i].Spent(target); state != results.Uncounted {
			times[runs[i].Seed] = results.TimeOf(spent, state)
		}
	}
	return times
}
