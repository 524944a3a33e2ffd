package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fedsim/internal/crossval"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// dataFolder is the environment variable with the folder of data files.
const dataFolder = "FEDSIM_DATA"

// makeTables makes the tables of a scenario, with checkpoints; see addTables.
func (f *runFlags) makeTables(ctx context.Context, w *rundir.Writer, s *scenarios.Scenario, p *progress) ([]*crossval.Result, error) {
	keep := f.policy(w)
	if keep.Store != nil && len(s.Tables) > 0 { // tables can take longer than the runs
		if err := w.Checkpoint(); err != nil {
			return nil, err
		}
	}
	return addTables(ctx, w, s, crossval.Options{Workers: f.workers, Progress: p.table, Checkpoint: keep})
}

// addTables computes the tables of a scenario in order and writes each to the run directory
// when it is complete. After an error it returns the complete tables too.
func addTables(ctx context.Context, w *rundir.Writer, s *scenarios.Scenario, o crossval.Options) ([]*crossval.Result, error) {
	o.Folder = os.Getenv(dataFolder)
	var made []*crossval.Result
	for i := range s.Tables {
		r, err := s.Tables[i].Run(ctx, s.Settings.Problem, o)
		if err != nil {
			return made, err
		}
		for _, file := range r.Files() {
			if err := w.AddTable(file.Name, file.Write); err != nil {
				return made, err
			}
		}
		made = append(made, r)
	}
	return made, nil
}

// printTables prints tables, each after a blank line; the first only if below is true.
func printTables(out io.Writer, made []*crossval.Result, below bool) error {
	for _, r := range made {
		if below {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		if err := r.WriteText(out, textWidth()); err != nil {
			return err
		}
		below = true
	}
	return nil
}

// printTablePaths prints the files of tables.
func printTablePaths(out io.Writer, w *rundir.Writer, made []*crossval.Result) error {
	for _, r := range made {
		for _, file := range r.Files() {
			if _, err := fmt.Fprintf(out, "table:   %s\n", filepath.Join(w.Dir(), "tables", file.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// tableSources describes the sources of the data of tables.
func tableSources(s *scenarios.Scenario) ([]string, error) {
	var all []string
	for i := range s.Tables {
		for k := range s.Tables[i].Sets {
			set := &s.Tables[i].Sets[k]
			from, err := set.Locate(os.Getenv(dataFolder))
			if err != nil {
				return nil, err
			}
			all = append(all, fmt.Sprintf("%s: %s", set.Label, from.Text))
		}
	}
	return all, nil
}
