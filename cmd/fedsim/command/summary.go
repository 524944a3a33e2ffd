package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/results"
	"fedsim/results/rundir"
)

// summary is the JSON output of fedsim run (docs/json.md). Fields are added, and never
// renamed or removed.
type summary struct {
	Scenario    string               `json:"scenario"`
	State       rundir.State         `json:"state"`
	Directory   string               `json:"directory"`
	Figures     []string             `json:"figures"`
	Experiments []experimentSummary  `json:"experiments"`
	Tables      []tableSummary       `json:"tables"`
	Edges       []results.TunedEdges `json:"edges"`
	Searched    []results.Searched   `json:"searched"`
	Absent      []string             `json:"absent"`
}

// experimentSummary is the summary of an experiment.
type experimentSummary struct {
	Name   string         `json:"name"`
	Vary   results.Vary   `json:"vary"`
	Rows   []rowSummary   `json:"rows"`
	Errors []errorSummary `json:"errors"`
}

// rowSummary is a method at a point, or a value of a swept key. Numbers are means over
// the seeds.
type rowSummary struct {
	Point         []results.Setting `json:"point"`
	Label         string            `json:"label"`
	LabelOf       string            `json:"label_of"`
	Algorithm     string            `json:"algorithm"`
	Seeds         int               `json:"seeds"`
	Stalled       int               `json:"stalled"`
	Interrupted   int               `json:"interrupted"`
	Suboptimality number            `json:"suboptimality"`
	Primal        number            `json:"primal"`
	TestError     number            `json:"test_error"`
	Validation    number            `json:"validation_error"`
	Metrics       []metricSummary   `json:"metrics"`
	Rounds        number            `json:"rounds"`
	TimeS         number            `json:"time_s"`
	Relative      bool              `json:"relative"`
	EnergyJ       number            `json:"energy_j"`
	Bytes         number            `json:"bytes"`
	Participants  number            `json:"participants"`
	Targets       []targetSummary   `json:"targets"`
	Warnings      []string          `json:"warnings"`
}

// metricSummary is the last value of a metric that a learner declares, or of a statistic over
// clients.
type metricSummary struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Higher bool   `json:"higher"`
	Value  number `json:"value"`
}

// targetSummary is the cost of a target.
type targetSummary struct {
	Metric  string `json:"metric"`
	Target  number `json:"target"`
	Reached bool   `json:"reached"`
	Rounds  number `json:"rounds"`
	TimeS   number `json:"time_s"`
	Bytes   number `json:"bytes"`
	EnergyJ number `json:"energy_j"`
	Ratio   number `json:"ratio"`
}

// tableSummary is a table of prediction errors.
type tableSummary struct {
	Name  string        `json:"name"`
	Files []string      `json:"files"`
	Cells []cellSummary `json:"cells"`
}

// cellSummary is the error of a model on a data set.
type cellSummary struct {
	Set           string `json:"set"`
	Generated     bool   `json:"generated"`
	Model         string `json:"model"`
	Mean          number `json:"mean"`
	StandardError number `json:"standard_error"`
	Shuffles      int    `json:"shuffles"`
}

// gridSummary is the tuning grid of a method at a point.
type gridSummary struct {
	Experiment string            `json:"experiment"`
	Method     string            `json:"method"`
	Point      []results.Setting `json:"point"`
	Metric     string            `json:"metric"`
	Target     number            `json:"target"`
	Relative   bool              `json:"relative"`
	Winner     int               `json:"winner"`
	Trials     []trialSummary    `json:"trials"`
	Listed     int               `json:"listed"`
	Edges      []results.Edge    `json:"edges"`
	Ranges     []results.Range   `json:"ranges"`
	Curves     []curveSummary    `json:"curves"`
}

// curveSummary is an option along which the results of a grid have several local optima.
type curveSummary struct {
	Key    string `json:"key"`
	Trials []int  `json:"trials"`
	Optima []int  `json:"optima"`
}

// trialSummary is a candidate of a grid.
type trialSummary struct {
	Options       []results.Setting `json:"options"`
	Reached       bool              `json:"reached"`
	GivenUp       bool              `json:"given_up"`
	Rounds        int               `json:"rounds"`
	TimeS         number            `json:"time_s"`
	Value         number            `json:"value"`
	Suboptimality number            `json:"suboptimality"`
}

// number is null in JSON if it is undefined.
type number = results.Number

// newSummary summarizes the runs and tables of a scenario.
func newSummary(s *scenario.Scenario, state rundir.State, dir string, runs []results.Run, absent []string, made []*into.Table, figures []string) summary {
	sum := summary{
		Scenario: s.Name, State: state, Directory: dir,
		Figures: []string{}, Experiments: []experimentSummary{}, Tables: []tableSummary{},
		Edges: results.EdgesOf(runs), Searched: results.SearchedOf(runs), Absent: append([]string{}, absent...),
	}
	for _, name := range figures {
		sum.Figures = append(sum.Figures, filepath.Join(dir, "figures", name))
	}
	targets := s.Targets()
	for _, e := range results.Summary(runs, targets).Experiments {
		of := experimentSummary{Name: e.Experiment, Vary: cmp.Or(e.Vary, results.VarySystem), Rows: []rowSummary{}, Errors: []errorSummary{}}
		for _, b := range e.Blocks {
			for i := range b.Rows {
				of.Rows = append(of.Rows, newRowSummary(&e, &b.Rows[i], b.Point))
			}
		}
		of.addErrors(runs)
		sum.Experiments = append(sum.Experiments, of)
	}
	for _, r := range made {
		sum.Tables = append(sum.Tables, newTableSummary(r, dir))
	}
	return sum
}

func newRowSummary(e *results.ExperimentTable, r *results.Row, point []results.Setting) rowSummary {
	t := &r.Totals
	row := rowSummary{
		Point: append(append([]results.Setting{}, point...), r.Sampled...), Label: r.Label, LabelOf: e.RowKey, Algorithm: r.Algorithm,
		Seeds: r.Seeds, Stalled: r.Stalled, Interrupted: r.Interrupted,
		Suboptimality: number(r.Last), Primal: number(t.Primal), TestError: number(t.TestError), Validation: number(t.ValidationError),
		Rounds: number(t.Rounds), TimeS: number(t.TimeS), Relative: t.Relative, EnergyJ: number(t.EnergyJ), Bytes: number(t.Bytes),
		Participants: number(t.Answers), Metrics: []metricSummary{}, Targets: []targetSummary{},
		Warnings: append([]string{}, r.Warnings...),
	}
	for i, m := range e.Named {
		row.Metrics = append(row.Metrics, metricSummary{m.Name, m.Unit, m.Higher, number(r.Named[i])})
	}
	for i, m := range e.Clients {
		row.Metrics = append(row.Metrics, metricSummary{m.Name, m.Unit, m.Higher, number(r.Clients[i])})
	}
	for i, c := range r.Cells {
		row.Targets = append(row.Targets, targetSummary{
			Metric: e.Targets[i].Metric, Target: number(e.Targets[i].Value), Reached: c.Reached,
			Rounds: number(c.Rounds), TimeS: number(c.TimeS), Bytes: number(c.Bytes), EnergyJ: number(c.EnergyJ), Ratio: number(c.Ratio),
		})
	}
	return row
}

func newTableSummary(r *into.Table, dir string) tableSummary {
	t := tableSummary{Name: r.Name, Files: []string{}, Cells: []cellSummary{}}
	for _, file := range r.Files() {
		t.Files = append(t.Files, filepath.Join(dir, "tables", file.Name))
	}
	for i := range r.Columns {
		c := &r.Columns[i]
		for _, m := range c.Models {
			t.Cells = append(t.Cells, cellSummary{
				Set: c.Label, Generated: c.Generated, Model: m.Name,
				Mean: number(m.Mean), StandardError: number(m.StandardError), Shuffles: len(m.Shuffles),
			})
		}
	}
	return t
}

func newGridSummaries(grids []experiment.Grid) []gridSummary {
	all := []gridSummary{}
	for _, g := range grids {
		of := gridSummary{
			Experiment: g.Experiment, Method: g.Method, Point: append([]results.Setting{}, g.Point...),
			Metric: g.Target.Metric, Target: number(g.Target.Value), Relative: g.Relative, Winner: g.Winner, Trials: []trialSummary{},
			Listed: g.Listed, Edges: append([]results.Edge{}, g.Edges...),
			Ranges: g.Ranges(), Curves: []curveSummary{},
		}
		for _, c := range g.Curves() {
			of.Curves = append(of.Curves, curveSummary(c))
		}
		for _, t := range g.Trials {
			trial := trialSummary{
				Options: t.Options, Reached: t.Reached, GivenUp: t.GivenUp,
				Rounds: t.Rounds, TimeS: number(t.TimeS), Value: number(t.Last), Suboptimality: number(math.NaN()),
			}
			if g.Target.Metric == results.Suboptimality {
				trial.Suboptimality = trial.Value
			}
			of.Trials = append(of.Trials, trial)
		}
		all = append(all, of)
	}
	return all
}

// writeJSON prints a value as JSON.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
