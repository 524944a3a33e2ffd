package report

import (
	"math"
	"slices"
	"strings"

	"fedsim/plots"
	"fedsim/results"
	"fedsim/scenarios"
)

// unknown is a number that is null.
var unknown = results.Number(math.NaN())

// Experiment is what the page shows of an experiment.
type Experiment struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Figure      Figure  `json:"figure"`
	Relative    bool    `json:"relative"` // times of some run are relative units
	Caption     string  `json:"caption"`  // of the blocks
	Blocks      []Block `json:"blocks"`
	Seeds       int     `json:"seeds"`   // most runs behind a row
	RowKey      string  `json:"row_key"` // what the labels of rows are of
	Keys        []Key   `json:"keys"`    // what its rows differ in
	Cells       []Cell  `json:"cells"`   // one per row of a block
	Groups      []Group `json:"groups"`  // of the columns of blocks, behind the label
}

// Figure says how the curves are drawn until the reader wants something else.
type Figure struct {
	Title   string       `json:"title"`
	X       string       `json:"x"`
	Y       string       `json:"y"`
	XLog    bool         `json:"x_log"`
	YLog    bool         `json:"y_log"`
	Panels  []string     `json:"panels"` // titles
	Lines   []plots.Line `json:"lines"`
	Legend  string       `json:"legend"` // what the lines are values of; empty for methods
	Ordered bool         `json:"ordered"`
}

// Group is columns under one title, which may be empty.
type Group struct {
	Title string   `json:"title"`
	Heads []string `json:"heads"`
}

// Block is rows that are compared with each other, as text: a label, then a cell for
// each column.
type Block struct {
	Title string     `json:"title"`
	Rows  [][]string `json:"rows"`
	Best  [][2]int   `json:"best"` // row and column of the best of each column that has one
}

// Key is what rows differ in: "method", or a swept key.
type Key struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Cell holds the numbers of a row, means over its seeds.
type Cell struct {
	At        []int          `json:"at"` // the value of each key, by index
	Last      results.Number `json:"last"`
	TestError results.Number `json:"test_error"`
	TimeS     results.Number `json:"time_s"`
	EnergyJ   results.Number `json:"energy_j"`
	Targets   []ToTarget     `json:"targets"`
}

// ToTarget is the way to a target; null where some seed did not get there.
type ToTarget struct {
	Rounds  results.Number `json:"rounds"`
	TimeS   results.Number `json:"time_s"`
	Bytes   results.Number `json:"bytes"`
	EnergyJ results.Number `json:"energy_j"`
	Ratio   results.Number `json:"ratio"`
}

// addExperiments adds the experiments that have runs. An experiment without a figure,
// or with one of a quantity that no run has, is drawn as plots.Default says.
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
		of := Experiment{Name: e.Name, Description: e.Description, Blocks: []Block{}, Groups: []Group{}}
		of.Relative = slices.ContainsFunc(own, func(r results.Run) bool { return r.Relative })
		places, err := of.arrange(e.Figure, own)
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
		r.Experiments = append(r.Experiments, of)
	}
	return nil
}

// arrange fills in the figure.
func (e *Experiment) arrange(figure *results.Figure, runs []results.Run) ([]plots.Place, error) {
	fig := plots.Default(runs)
	if figure != nil {
		fig = plots.Available(*figure, runs)
	}
	a, err := plots.Arrange(fig, runs)
	if err != nil {
		// While a run goes on, no run may have the figure's keys yet.
		plain := results.DefaultFigure()
		plain.X, plain.Y, plain.XScale, plain.YScale = fig.X, fig.Y, fig.XScale, fig.YScale
		if a, err = plots.Arrange(plain, runs); err != nil {
			return nil, err
		}
	}
	fig = a.Figure
	e.Figure = Figure{
		Title: fig.Title, X: fig.X, Y: fig.Y, XLog: fig.XScale == "log", YLog: fig.YScale == "log",
		Panels: a.Panels, Lines: a.Lines, Legend: a.Legend, Ordered: a.Ordered,
	}
	return a.Runs, nil
}

// tabulate fills in the tables and the numbers of their rows.
func (e *Experiment) tabulate(t *results.ExperimentTable) {
	e.Caption, e.Seeds, e.RowKey = t.Caption(), t.Seeds, t.RowKey
	for _, g := range t.Columns() {
		e.Groups = append(e.Groups, Group{g.Title, g.Heads})
	}
	e.Keys = []Key{}
	add := func(name, value string) int {
		k := 0
		for k < len(e.Keys) && e.Keys[k].Name != name {
			k++
		}
		if k == len(e.Keys) {
			e.Keys = append(e.Keys, Key{Name: name, Values: []string{}})
		}
		for v, have := range e.Keys[k].Values {
			if have == value {
				return v
			}
		}
		e.Keys[k].Values = append(e.Keys[k].Values, value)
		return len(e.Keys[k].Values) - 1
	}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		e.Blocks = append(e.Blocks, Block{Title: settingsText(b.Point), Rows: t.Cells(b), Best: best(b.Rows, e.Groups, t.Known)})
		for k := range b.Rows {
			row := &b.Rows[k]
			c := Cell{
				Last: results.Number(row.Last), TestError: results.Number(row.Totals.TestError),
				TimeS: results.Number(row.Totals.TimeS), EnergyJ: results.Number(row.Totals.EnergyJ), Targets: []ToTarget{},
			}
			for _, x := range row.Cells {
				c.Targets = append(c.Targets, ToTarget{results.Number(x.Rounds), results.Number(x.TimeS), results.Number(x.Bytes), results.Number(x.EnergyJ), results.Number(x.Ratio)})
			}
			c.At = append(c.At, add(t.RowKey, row.Label))
			for _, s := range b.Point {
				c.At = append(c.At, add(s.Key, s.Value))
			}
			e.Cells = append(e.Cells, c)
		}
	}
}

// best returns where the least time, bytes and energy to each target, and the least
// sub-optimality and error in the end, are in a block with groups of columns, of which
// those of targets are of the known ones. A column in which no two rows differ has no
// best.
func best(rows []results.Row, groups []Group, known []bool) [][2]int {
	marks := [][2]int{}
	column, target := 0, -1
	for _, g := range groups {
		way := strings.HasPrefix(g.Title, "to ")
		if way {
			for target++; !known[target]; target++ {
			}
		}
		for _, head := range g.Heads {
			column++
			value := measureOf(head, way, target)
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

// measureOf returns what rows are compared by in the column with a head, of the way to
// a target or of how runs ended: less is better. It is NaN where nothing is better.
func measureOf(head string, way bool, target int) func(*results.Row) float64 {
	switch {
	case way && head == "time":
		return func(r *results.Row) float64 { return r.Cells[target].TimeS }
	case way && head == "sent":
		return func(r *results.Row) float64 { return r.Cells[target].Bytes }
	case way && head == "energy":
		return func(r *results.Row) float64 { return r.Cells[target].EnergyJ }
	case head == "sub-optimality":
		return func(r *results.Row) float64 { return r.Last }
	case head == "test error" || head == "test RMSE":
		return func(r *results.Row) float64 { return r.Totals.TestError }
	default:
		return func(*results.Row) float64 { return math.NaN() }
	}
}

// settingsText writes settings as "key = value, key = value".
func settingsText(settings []results.Setting) string {
	var parts []string
	for _, s := range settings {
		parts = append(parts, s.Key+" = "+s.Value)
	}
	return strings.Join(parts, ", ")
}

// nonNil makes a missing list an empty one.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
