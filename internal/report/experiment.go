package report

import (
	"math"
	"slices"
	"strings"

	"fedsim/plots"
	"fedsim/results"
	"fedsim/scenarios"
)

// unknown is null in JSON.
var unknown = results.Number(math.NaN())

// experimentPage is the part of the page for one experiment.
type experimentPage struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Figure      figurePage   `json:"figure"`
	Relative    bool         `json:"relative"` // times of a run are in relative units
	Caption     string       `json:"caption"`  // of the blocks
	Blocks      []block      `json:"blocks"`
	Below       []string     `json:"below"`   // sentences under the blocks: who was first, and what the cells mean
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
func (r *Report) addExperiments(s *scenarios.Scenario, runs []results.Run, targets results.Targets) error {
	tables := results.Summary(runs, targets).Experiments
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
		of := experimentPage{Name: e.Name, Description: e.Description, Blocks: []block{}, Groups: []group{}}
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

// tabulate sets the tables.
func (e *experimentPage) tabulate(t *results.ExperimentTable) {
	e.Caption, e.Seeds, e.RowKey = t.Caption(), t.Seeds, t.RowHead()
	e.Below = nonNil(slices.Concat(t.Verdicts(), t.Notes()))
	for _, g := range t.Columns() {
		e.Groups = append(e.Groups, group{g.Title, g.Heads})
	}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		e.Blocks = append(e.Blocks, block{Title: results.SettingsText(b.Point), Rows: t.Cells(b), Best: best(t, b.Rows, e.Groups), Notes: nonNil(t.Remarks(b))})
	}
}

// best returns the row and column of the smallest time, bytes and energy to each target,
// and of the best final sub-optimality, error and declared metrics. A column with equal
// values has none.
func best(t *results.ExperimentTable, rows []results.Row, groups []group) [][2]int {
	marks := [][2]int{}
	column, target := 0, -1
	for _, g := range groups {
		isTarget := strings.HasPrefix(g.Title, "to ")
		if isTarget {
			for target++; !t.Known[target]; target++ {
			}
		}
		for _, head := range g.Heads {
			column++
			value := measureOf(t, head, isTarget, target)
			least, most := math.Inf(1), math.Inf(-1)
			for i := range rows {
				if v := value(&rows[i]); !math.IsNaN(v) {
					least, most = math.Min(least, v), math.Max(most, v)
				}
			}
			for i := range rows {
				if least < most && value(&rows[i]) == least {
					marks = append(marks, [2]int{i, column})
				}
			}
		}
	}
	return marks
}

// measureOf returns the value of a row by which a column is compared; smaller is better.
// It is NaN for columns without an order. isTarget is true for the columns of a target.
func measureOf(t *results.ExperimentTable, head string, isTarget bool, target int) func(*results.Row) float64 {
	named := slices.IndexFunc(t.Named, func(m results.Metric) bool { return m.Label == head })
	switch {
	case isTarget && head == "time":
		return func(r *results.Row) float64 { return r.Cells[target].TimeS }
	case isTarget && head == "sent":
		return func(r *results.Row) float64 { return r.Cells[target].Bytes }
	case isTarget && head == "energy":
		return func(r *results.Row) float64 { return r.Cells[target].EnergyJ }
	case head == "sub-optimality":
		return func(r *results.Row) float64 { return r.Last }
	case head == "test error" || head == "test RMSE":
		return func(r *results.Row) float64 { return r.Totals.TestError }
	case head == "validation error" || head == "validation RMSE":
		return func(r *results.Row) float64 { return r.Totals.ValidationError }
	case !isTarget && named >= 0 && t.Named[named].Higher:
		return func(r *results.Row) float64 { return -r.Named[named] }
	case !isTarget && named >= 0:
		return func(r *results.Row) float64 { return r.Named[named] }
	default:
		return func(*results.Row) float64 { return math.NaN() }
	}
}

// nonNil returns an empty list for nil, which is null in JSON.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
