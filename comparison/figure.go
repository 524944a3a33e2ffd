package comparison

import "fedsim/results"

// FigureFile is the name of the figure's files, without extension.
const FigureFile = "compare"

// Figure returns the figure of a comparison and the runs to draw it with:
// sub-optimality against virtual time, a panel per case, a line per directory, the mean
// over its seeds with their band.
func (c *Comparison) Figure() (results.Figure, []results.Run) {
	fig := results.DefaultFigure()
	fig.File, fig.Title = FigureFile, "sub-optimality against virtual time"
	fig.Panel, fig.Series = "case", "directory"
	several := false
	for i := range c.Cases {
		several = several || c.Cases[i].Experiment != c.Cases[0].Experiment
	}
	var all []results.Run
	// Lines have their colours in the order of the directories, whichever the
	// first case is in.
	for d := range c.Directories {
		for i := range c.Cases {
			title := c.Cases[i].short()
			if several {
				title = c.Cases[i].String()
			}
			for k, row := range c.Cases[i].Rows {
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
