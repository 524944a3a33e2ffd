package results

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/columns"
)

// GridSpec is how the errors of an experiment are laid out as a table of methods by points.
type GridSpec struct {
	Name, Title string
	Published   map[string]map[string]Estimate // by PointText and method: printed beside the errors
}

// ErrorGrid has a row for each method and a column for each point, with the errors at the end of the runs: their
// mean over the seeds and its standard error.
type ErrorGrid struct {
	GridSpec
	Methods []string
	Points  []string
	Notes   []string // a sentence on each point
	Cells   [][]GridCell

	of ErrorTable
}

// GridCell is the errors of a method at a point.
type GridCell struct {
	Point     string   `json:"point"`
	Method    string   `json:"method"`
	Metric    string   `json:"metric"`
	Error     Estimate `json:"error"`
	Published Estimate `json:"published"` // N is 0 without one
}

// PointText returns the labels of a point.
func PointText(point []Setting) string {
	labels := make([]string, len(point))
	for i, s := range point {
		labels[i] = s.Value
	}
	return strings.Join(labels, ", ")
}

// NewErrorGrid lays out the runs of an experiment.
func NewErrorGrid(runs []Run, spec GridSpec, notes []string) *ErrorGrid {
	g := &ErrorGrid{GridSpec: spec, Notes: notes, of: errorTable(runs)}
	values := map[[2]string][]float64{}
	for i := range runs {
		r := &runs[i]
		at := [2]string{PointText(r.Point), r.Method}
		if !slices.Contains(g.Points, at[0]) {
			g.Points = append(g.Points, at[0])
		}
		if !slices.Contains(g.Methods, at[1]) {
			g.Methods = append(g.Methods, at[1])
		}
		values[at] = append(values[at], r.AtEnd(&g.of.Metric).Mean)
	}
	for _, method := range g.Methods {
		var row []GridCell
		for _, point := range g.Points {
			at := [2]string{point, method}
			cell := GridCell{Point: point, Method: method, Metric: g.of.Metric.Name, Error: EstimateOf(values[at]),
				Published: EstimateOf(nil)}
			if published, ok := spec.Published[point][method]; ok {
				cell.Published = published
			}
			row = append(row, cell)
		}
		g.Cells = append(g.Cells, row)
	}
	return g
}

// title returns the name and the title.
func (g *ErrorGrid) title() string {
	if g.Title == "" {
		return g.Name
	}
	return g.Name + ": " + g.Title
}

// caption describes the numbers.
func (g *ErrorGrid) caption() string {
	of := g.of
	of.Experiment = ""
	return of.caption()
}

// text formats an error, empty where there is none.
func (g *ErrorGrid) text(e Estimate) string {
	if e.N == 0 {
		return ""
	}
	return g.of.withSE(e, "")
}

// Section lays out the cells. A point with published errors has a second column for them.
func (g *ErrorGrid) Section() Section {
	s := Section{Title: g.title(), Name: g.Name, Exact: g.exact(), Notes: append([]string{g.caption()}, g.Notes...),
		Table: columns.Table{Label: "method"}}
	block := columns.Block{Rows: make([][]string, len(g.Methods))}
	rows := block.Rows
	for i, method := range g.Methods {
		rows[i] = []string{method}
	}
	for k, point := range g.Points {
		group := columns.Group{Title: point, Heads: []string{"fedsim"}}
		published := slices.ContainsFunc(g.Cells, func(row []GridCell) bool { return row[k].Published.N > 0 })
		if published {
			group.Heads = append(group.Heads, "published")
		}
		s.Table.Groups = append(s.Table.Groups, group)
		lowest := -1
		for i := range rows {
			x := g.Cells[i][k].Error.Mean
			if lowest < 0 && !math.IsNaN(x) || lowest >= 0 && g.of.Metric.Better(x, g.Cells[lowest][k].Error.Mean) {
				lowest = i
			}
		}
		block.Best = append(block.Best, [2]int{lowest, len(rows[0])})
		for i := range rows {
			rows[i] = append(rows[i], g.text(g.Cells[i][k].Error))
			if published {
				rows[i] = append(rows[i], g.text(g.Cells[i][k].Published))
			}
		}
	}
	s.Table.Blocks = []columns.Block{block}
	return s
}

// exact returns a row for each point and method. Unknown values are empty.
func (g *ErrorGrid) exact() [][]string {
	rows := [][]string{{"point", "method", "metric", "mean", "standard_error", "seeds", "published_mean",
		"published_standard_error"}}
	for k := range g.Points {
		for i := range g.Methods {
			c := &g.Cells[i][k]
			rows = append(rows,
				[]string{c.Point, c.Method, c.Metric, columns.Exact(c.Error.Mean), columns.Exact(c.Error.SE),
					strconv.Itoa(c.Error.N), columns.Exact(c.Published.Mean), columns.Exact(c.Published.SE)})
		}
	}
	return rows
}
