package compare

import (
	"fmt"
	"strings"

	"fedsim/results"
)

// FigureFile is the name of the figure's files, without extension.
const FigureFile = "compare"

// mostPanels bounds the panels of a figure: sixty are a picture of 2000 by 16 000
// pixels, and nobody reads more.
const mostPanels = 60

// Figure returns the figure of a comparison and the runs to draw it with: the metric
// of the last target against virtual time, a panel per case, a line per directory, the mean
// over its seeds with their band. When there are more than sixty cases it shows the first
// sixty, and its title says so.
func (c *Comparison) Figure() (results.Figure, []results.Run) {
	fig := results.DefaultFigure()
	last := c.Targets[len(c.Targets)-1].Metric
	if last != results.Suboptimality {
		fig.Y, fig.YScale = last, "linear"
	}
	metric, _ := results.MetricNamed(last)
	label := metric.LabelFor(c.real())
	fig.File, fig.Title = FigureFile, strings.ToUpper(label[:1])+label[1:]+" against virtual time"
	fig.Panel, fig.Series = "case", "directory"
	shown := c.Cases[:min(len(c.Cases), mostPanels)]
	if len(shown) < len(c.Cases) {
		fig.Title += fmt.Sprintf(": the first %d of %d cases", len(shown), len(c.Cases))
	}
	several := false
	for i := range shown {
		several = several || shown[i].Experiment != shown[0].Experiment
	}
	var all []results.Run
	// Lines have their colours in the order of the directories, whichever the
	// first case is in.
	for d := range c.Directories {
		for i := range shown {
			title := shown[i].short()
			if several {
				title = shown[i].String()
			}
			for k, row := range shown[i].Rows {
				if row.Directory != d {
					continue
				}
				for _, r := range c.runs[i][k] {
					r.Method, r.Algorithm = "", ""
					r.Point = []results.Setting{{Key: fig.Panel, Value: title}, {Key: fig.Series, Value: c.Directories[d]}}
					all = append(all, r)
				}
			}
		}
	}
	return fig, all
}
