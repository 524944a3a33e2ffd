package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// draw draws the figures of all experiments to the run directory. The error says how to draw
// those that failed.
func draw(w *rundir.Writer, s *scenarios.Scenario) (files []string, err error) {
	dir, err := w.FiguresDir()
	if err != nil {
		return nil, err
	}
	runs := w.Runs()
	stage, err := w.Stage()
	if err != nil {
		return nil, err
	}
	if err := rundir.AddClients(stage, runs); err != nil {
		return nil, err
	}
	files, err = drawInto(dir, s, runs)
	if err != nil {
		err = errors.Join(err, fmt.Errorf("the results are saved; draw the figures with: fedsim plot %s", argument(w.Dir())))
	}
	return files, err
}

// redraw draws the figures of a complete run directory that are missing, and prints their
// paths. It reports whether there were any.
func redraw(out io.Writer, dir string, there *rundir.Results) (missing bool, err error) {
	s, err := scenarios.ParseRecorded(dir, there.Scenario)
	if err != nil {
		return false, err
	}
	if err := rundir.AddClients(dir, there.Runs); err != nil {
		return false, err
	}
	folder := filepath.Join(dir, "figures")
	for _, d := range drawings(s, there.Runs) {
		for _, extension := range plots.Extensions {
			_, err := os.Lstat(filepath.Join(folder, d.figure.File+extension))
			missing = missing || errors.Is(err, os.ErrNotExist)
		}
	}
	if !missing {
		return false, nil
	}
	return true, drawWithin(out, dir, s, there.Runs)
}

// drawWithin draws the figures of a run directory into it, and prints their paths.
func drawWithin(out io.Writer, dir string, s *scenarios.Scenario, runs []results.Run) error {
	if err := makeWithin(dir, "figures"); err != nil {
		return err
	}
	files, err := drawInto(filepath.Join(dir, "figures"), s, runs)
	if len(files) > 0 {
		err = errors.Join(err, rundir.AddFigures(dir, files))
	}
	return errors.Join(err, printFigures(out, filepath.Join(dir, "figures"), files))
}

// printFigures prints the paths of figures.
func printFigures(out io.Writer, folder string, files []string) error {
	for _, name := range files {
		if _, err := fmt.Fprintln(out, filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// drawing is a figure of an experiment and the runs that it shows.
type drawing struct {
	experiment string
	figure     results.Figure
	runs       []results.Run
}

// drawings returns the figures of all experiments that have runs, as [plots.Figures]
// completes them. The title says how many runs of the experiment there are, if some are absent.
func drawings(s *scenarios.Scenario, runs []results.Run) (all []drawing) {
	for _, e := range s.Experiments {
		own := slices.DeleteFunc(slices.Clone(runs), func(r results.Run) bool { return r.Experiment != e.Name })
		if len(own) == 0 && len(e.Figures) == 0 {
			continue
		}
		note := ""
		if has, whole := finishedOf(own), experiment.Total([]scenarios.Experiment{e}); has < whole {
			note = fmt.Sprintf(" (%d of %d runs)", has, whole)
		}
		for _, figure := range plots.Figures(e.Figures, own, s.Targets()) {
			if note != "" {
				figure.Title = strings.TrimSpace(figure.Title + note)
			}
			all = append(all, drawing{e.Name, figure, own})
		}
	}
	return all
}

// drawInto draws the figures of all experiments. The error has those that failed.
func drawInto(dir string, s *scenarios.Scenario, runs []results.Run) (files []string, err error) {
	for _, d := range drawings(s, runs) {
		var names []string
		failed := fmt.Errorf("figure %q: another figure has this file name", d.figure.File)
		if !slices.Contains(files, d.figure.File+plots.Extensions[0]) {
			names, failed = plots.Save(dir, d.figure, d.runs)
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("figure of experiment %s: %w", d.experiment, failed))
			continue
		}
		files = append(files, names...)
	}
	return files, err
}

// drawMissing draws the missing figures of a complete run directory, unless the flags exclude
// figures. It reports whether there were any.
func (f *runFlags) drawMissing(cmd *cobra.Command, dir string, there *rundir.Results) (bool, error) {
	if f.plain {
		return false, nil
	}
	return redraw(f.text(cmd), dir, there)
}
