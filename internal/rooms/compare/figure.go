package compare

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/results"
)

// maxPanels is the maximum number of panels of a figure: sixty make a picture of 2000 by
// 16,000 pixels.
const maxPanels = 60

// Figure returns the figure of a comparison and its runs: the metric of the last target
// against virtual time, with a panel per case and a line per directory. A figure of more
// than sixty cases shows the first sixty, and says so in its title.
func (c *Comparison) Figure() (results.Figure, []results.Run) {
	fig := results.DefaultFigure()
	last := c.Targets[len(c.Targets)-1].Metric
	if last != results.Suboptimality {
		fig.Y = last
	}
	metric, _ := results.MetricOf(c.allRuns(), last)
	label := metric.LabelFor(slices.ContainsFunc(c.allRuns(), func(r results.Run) bool { return r.Real }))
	fig.File, fig.Title = "compare", strings.ToUpper(label[:1])+label[1:]+" against virtual time"
	fig.Panel, fig.Series = "case", "directory"
	shown := c.Cases[:min(len(c.Cases), maxPanels)]
	if len(shown) < len(c.Cases) {
		fig.Title += fmt.Sprintf(": the first %d of %d cases", len(shown), len(c.Cases))
	}
	several := false
	for i := range shown {
		several = several || shown[i].Experiment != shown[0].Experiment
	}
	var all []results.Run
	// The order of the runs gives each directory the same color in every figure.
	for _, directory := range c.Directories {
		for i := range shown {
			title := shown[i].short()
			if several {
				title = shown[i].String()
			}
			for k, row := range shown[i].Rows {
				if row.Directory != directory {
					continue
				}
				for _, r := range c.runs[i][k] {
					r.Method, r.Algorithm = "", ""
					r.Point = []results.Setting{{Key: fig.Panel, Value: title}, {Key: fig.Series, Value: directory}}
					all = append(all, r)
				}
			}
		}
	}
	return fig, all
}
