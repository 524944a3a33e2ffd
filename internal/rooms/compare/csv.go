package compare

import (
	"strconv"

	"fedsim/internal/tools/columns"
	"fedsim/results"
	"fedsim/results/rundir"
)

// exact returns a row per case, directory and target, with floats in full precision.
// An undefined number is an empty cell. Column reached counts the seeds that reached the
// target, ratio_seeds the seeds of the ratio; paired is true if they form pairs.
func (c *Comparison) exact() [][]string {
	lines := [][]string{{
		"experiment", "method", "point", "directory", "compared_with", "target", "seeds", "reached", "rounds", "time_s",
		"energy_j", "ratio", "ratio_low", "ratio_high", "ratio_seeds", "paired", "metric", "value", "bytes",
		"ended", "never", "time_s_at_least", "censored", "ratio_median_low", "ratio_median_high",
	}}
	for i := range c.Cases {
		a := &c.Cases[i]
		for _, row := range a.Rows {
			for _, x := range row.Cells {
				lines = append(lines, []string{
					a.Experiment, rundir.NoFormula(a.Method), rundir.NoFormula(results.SettingsText(a.Point)),
					rundir.NoFormula(row.Directory), rundir.NoFormula(a.Rows[0].Directory), x.Target.Name(),
					strconv.Itoa(len(row.Seeds)), strconv.Itoa(x.ReachedSeeds), columns.Exact(x.Rounds),
					columns.Exact(x.TimeS), columns.Exact(x.EnergyJ), columns.Exact(x.Ratio.Value),
					columns.Exact(x.Ratio.Low), columns.Exact(x.Ratio.High), strconv.Itoa(x.Ratio.Seeds),
					strconv.FormatBool(x.Ratio.Paired), x.Metric, columns.Exact(x.Target.Value), columns.Exact(x.Bytes),
					strconv.Itoa(x.EndedSeeds), strconv.Itoa(x.NeverSeeds), columns.Exact(x.AtLeast.TimeS),
					strconv.FormatBool(x.Censored), columns.Exact(x.MedianLow), columns.Exact(x.MedianHigh),
				})
			}
		}
	}
	return lines
}
