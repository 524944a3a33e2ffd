package command

import (
	"cmp"
	"path/filepath"
	"slices"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/results"
	"fedsim/results/rundir"
)

// summary is the JSON output of fedsim run (docs/reference/json.md). Fields are added, and never
// renamed or removed.
type summary struct {
	Scenario    string               `json:"scenario"`
	State       rundir.State         `json:"state"`
	Directory   string               `json:"directory"`
	Figures     []string             `json:"figures"`
	Messages    []results.Message    `json:"messages"`
	Experiments []experimentSummary  `json:"experiments"`
	Tables      []tableSummary       `json:"tables"`
	Edges       []results.TunedEdges `json:"edges"`
	Searched    []results.Searched   `json:"searched"`
	Absent      []string             `json:"absent"`
}

type experimentSummary struct {
	Name   string             `json:"name"`
	Vary   results.Vary       `json:"vary"`
	Rows   []results.Row      `json:"rows"`
	Errors []results.ErrorRow `json:"errors"`
	First  []results.First    `json:"first"`
}

type tableSummary struct {
	Name  string             `json:"name"`
	Files []string           `json:"files"`
	Cells []results.GridCell `json:"cells"`
}

// gridSummary is the tuning grid of a method at a point.
type gridSummary struct {
	experiment.Grid
	Ranges []results.Range    `json:"ranges"`
	Curves []experiment.Curve `json:"curves"`
}

func newSummary(s *scenario.Scenario, state rundir.State, dir string, runs []results.Run,
	absent, tables, figures []string) summary {
	sum := summary{
		Scenario: s.Name, State: state, Directory: dir, Absent: absent,
		Edges: results.EdgesOf(runs), Searched: results.SearchedOf(runs),
	}
	for _, name := range figures {
		sum.Figures = append(sum.Figures, filepath.Join(dir, "figures", name))
	}
	errors, all := results.ErrorTables(runs), into.Summarize(s, runs)
	sum.Messages = all.Messages()
	for _, e := range all.Experiments {
		of := experimentSummary{Name: e.Experiment, Vary: cmp.Or(e.Vary, results.VarySystem), First: e.Firsts()}
		for _, b := range e.Blocks {
			of.Rows = append(of.Rows, b.Rows...)
		}
		for _, t := range errors {
			if t.Experiment == e.Experiment {
				for _, b := range t.Blocks {
					of.Errors = append(of.Errors, b.Rows...)
				}
			}
		}
		sum.Experiments = append(sum.Experiments, of)
	}
	for _, g := range into.Tables(s, runs) {
		t := tableSummary{Name: g.Name, Cells: slices.Concat(g.Cells...)}
		for _, file := range (results.Sections{g.Section()}).Files() {
			if slices.Contains(tables, file.Name) {
				t.Files = append(t.Files, filepath.Join(dir, "tables", file.Name))
			}
		}
		if len(t.Files) > 0 {
			sum.Tables = append(sum.Tables, t)
		}
	}
	return sum
}

func newGridSummaries(grids []experiment.Grid) []gridSummary {
	var all []gridSummary
	for _, g := range grids {
		all = append(all, gridSummary{g, g.Ranges(), g.Curves()})
	}
	return all
}
