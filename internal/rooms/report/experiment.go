package report

import (
	"slices"

	"fedsim/experiment/scenario"
	"fedsim/plots"
	"fedsim/results"
)

// experimentPage is the part of the page for one experiment.
type experimentPage struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Figure      figurePage   `json:"figure"`
	Relative    bool         `json:"relative"` // times of a run are in relative units
	Metric      string       `json:"metric"`   // results.Main
	Caption     string       `json:"caption"`  // of the blocks
	Blocks      []block      `json:"blocks"`
	Below       []string     `json:"below"`   // sentences under the blocks: the fastest method, the cells
	Seeds       int          `json:"seeds"`   // largest number of runs in a row
	RowKey      string       `json:"row_key"` // key of the row labels
	Swept       sweptPage    `json:"swept"`
	Groups      []group      `json:"groups"` // columns of the blocks after the label
	Left        []leftBehind `json:"left"`   // one per metric by client
}

// figurePage is the initial figure of the curves.
type figurePage struct {
	Title   string       `json:"title"`
	X       string       `json:"x"`
	Y       string       `json:"y"`
	XLog    bool         `json:"x_log"`
	YLog    bool         `json:"y_log"`
	Panels  []string     `json:"panels"` // titles
	Lines   []plots.Line `json:"lines"`
	Legend  string       `json:"legend"` // name of the key of the lines; empty for methods
	Ordered bool         `json:"ordered"`
}

// group is a set of columns with a title, which may be empty.
type group struct {
	Title string   `json:"title"`
	Heads []string `json:"heads"`
}

// block is a set of comparable rows. A row has a label and a cell per column.
type block struct {
	Title string     `json:"title"`
	Rows  [][]string `json:"rows"`
	Best  [][2]int   `json:"best"`  // row and column of the best cells
	Notes []string   `json:"notes"` // sentences below the rows
}

// addExperiments adds the experiments with runs. plots.Default replaces a missing figure,
// and the quantity of a figure if no run records it.
func (r *Report) addExperiments(s *scenario.Scenario, runs []results.Run, targets results.Targets) error {
	summary := results.Summarize(runs, targets)
	for _, m := range summary.Messages() {
		r.Messages = append(r.Messages, m.String())
	}
	tables := summary.Experiments
	for i := range s.Experiments {
		e := &s.Experiments[i]
		var own []results.Run
		var index []int
		for k := range runs {
			if runs[k].Experiment == e.Name {
				own, index = append(own, runs[k]), append(index, k)
			}
		}
		if len(own) == 0 {
			continue
		}
		of := experimentPage{Name: e.Name, Description: e.Description}
		of.Relative = slices.ContainsFunc(own, func(r results.Run) bool { return r.Relative })
		places, err := of.arrange(e.Figures, own, targets)
		if err != nil {
			return err
		}
		for k, at := range places {
			run := &r.Runs[index[k]]
			run.Experiment, run.Panel, run.Line = len(r.Experiments), at.Panel, at.Line
		}
		for k := range tables {
			if tables[k].Experiment == e.Name {
				of.tabulate(&tables[k])
			}
		}
		of.addLeft(own, places)
		of.Swept = sweptOf(e, own, targets)
		r.Experiments = append(r.Experiments, of)
	}
	return nil
}

// arrange sets the figure: the first of the experiment that shows lines.
func (e *experimentPage) arrange(figures []results.Figure, runs []results.Run, targets results.Targets) ([]plots.Place, error) {
	fig := plots.Default(runs, targets)
	if i := slices.IndexFunc(figures, func(f results.Figure) bool { return f.Kind == results.Lines }); i >= 0 {
		fig = plots.Available(figures[i], runs, targets)
	}
	a, err := plots.Arrange(fig, runs)
	if err != nil {
		// During a run, there may be no run with the keys of the figure yet.
		plain := results.DefaultFigure()
		plain.X, plain.Y, plain.XScale, plain.YScale = fig.X, fig.Y, fig.XScale, fig.YScale
		if a, err = plots.Arrange(plain, runs); err != nil {
			return nil, err
		}
	}
	fig = a.Figure
	e.Figure = figurePage{
		Title: fig.Title, X: fig.X, Y: fig.Y, XLog: fig.XScale == "log", YLog: fig.YScale == "log",
		Panels: a.Panels, Lines: a.Lines, Legend: a.Legend, Ordered: a.Ordered,
	}
	return a.Runs, nil
}

func (e *experimentPage) tabulate(t *results.ExperimentSummary) {
	e.Caption, e.Metric, e.Seeds, e.RowKey = t.Caption(), t.Metric.Name, t.Seeds, t.RowHead()
	e.Below = slices.Concat(t.Verdicts(), t.Notes())
	for _, g := range t.Columns() {
		e.Groups = append(e.Groups, group{g.Title, g.Heads})
	}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		e.Blocks = append(e.Blocks, block{
			Title: results.SettingsText(b.Point), Rows: t.Cells(b), Best: t.BestCells(b), Notes: t.Remarks(b),
		})
	}
}
