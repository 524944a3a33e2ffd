package into

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
)

// figuresDir is the folder of the figures in a run directory.
const figuresDir = "figures"

// draw draws the figures of all experiments to the run directory.
func (d *Directory) draw() (files []string, err error) {
	dir, err := d.Writer.FiguresDir()
	if err != nil {
		return nil, err
	}
	runs := d.Writer.Runs()
	stage, err := d.Writer.Stage()
	if err != nil {
		return nil, err
	}
	if err := rundir.AddClients(stage, runs); err != nil {
		return nil, err
	}
	return Draw(dir, d.Scenario, runs)
}

// DrawMissing draws the figures of a complete run directory if some are missing, and returns
// their files; missing is false if there were all.
func DrawMissing(dir string, there *rundir.Results) (files []string, missing bool, err error) {
	s, err := scenario.ParseRecorded(dir, there.Scenario)
	if err != nil {
		return nil, false, err
	}
	if err := rundir.AddClients(dir, there.Runs); err != nil {
		return nil, false, err
	}
	for _, d := range drawings(s, there.Runs) {
		for _, extension := range plots.Extensions {
			_, err := os.Lstat(filepath.Join(dir, figuresDir, d.figure.File+extension))
			missing = missing || errors.Is(err, os.ErrNotExist)
		}
	}
	if !missing {
		return nil, false, nil
	}
	files, err = Redraw(dir, s, there.Runs)
	return files, true, err
}

// Redraw draws the figures of all experiments to a complete run directory, and returns their
// files. A folder that is a link out of the directory is an error.
func Redraw(dir string, s *scenario.Scenario, runs []results.Run) ([]string, error) {
	if err := makeWithin(dir, figuresDir); err != nil {
		return nil, err
	}
	files, err := Draw(filepath.Join(dir, figuresDir), s, runs)
	if len(files) > 0 {
		err = errors.Join(err, rundir.AddFigures(dir, files))
	}
	return files, err
}

// drawing is a figure of an experiment and the runs that it shows.
type drawing struct {
	experiment string
	figure     results.Figure
	runs       []results.Run
}

// drawings returns the figures of all experiments that have runs, as [plots.Figures]
// completes them. The title says how many runs of the experiment there are, if some are absent.
func drawings(s *scenario.Scenario, runs []results.Run) (all []drawing) {
	certain, err := Settle(s, runs)
	if err != nil {
		certain = nil // Complete has the error
	}
	for _, e := range s.Experiments {
		own := slices.DeleteFunc(slices.Clone(runs), func(r results.Run) bool { return r.Experiment != e.Name })
		if len(own) == 0 && len(e.Figures) == 0 {
			continue
		}
		note := ""
		if has, whole := Finished(own), experiment.Total([]scenario.Experiment{e}); has < whole {
			note = fmt.Sprintf(" (%d of %d runs)", has, whole)
		}
		caption := e.Description
		if certain != nil {
			caption = strings.TrimPrefix(caption+"; "+certain.Caption(e.Name), "; ")
		}
		for _, figure := range plots.Figures(e.Figures, own, s.Targets()) {
			figure.Caption = caption
			if note != "" {
				figure.Title = strings.TrimSpace(figure.Title + note)
			}
			all = append(all, drawing{e.Name, figure, own})
		}
	}
	return all
}

// Finished counts the runs that were not interrupted.
func Finished(runs []results.Run) (n int) {
	for i := range runs {
		if runs[i].Status == results.Done || runs[i].Status == results.Stalled {
			n++
		}
	}
	return n
}

// Draw draws the figures of all experiments to a directory and returns their files. The error
// has the figures that failed.
func Draw(dir string, s *scenario.Scenario, runs []results.Run) (files []string, err error) {
	source, err := Claim(s, runs)
	if err != nil {
		return nil, err
	}
	for _, d := range drawings(s, runs) {
		d.figure.Source = source
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

// Claim returns what lets a reader run a scenario again and get the same bits (docs/verify.md); empty
// while runs are absent.
func Claim(s *scenario.Scenario, runs []results.Run) (string, error) {
	if Finished(runs) < max(1, experiment.Total(s.Experiments)) {
		return "", nil
	}
	resolved, err := s.Resolved()
	if err != nil {
		return "", err
	}
	return rundir.ClaimOf(resolved, runs).String(), nil
}

// makeWithin creates a folder in a directory, unless it exists. A link to a place
// outside the directory is an error.
func makeWithin(dir, folder string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	err = root.MkdirAll(folder, 0o777)
	if err == nil {
		_, err = root.Stat(folder)
	}
	if err := errors.Join(err, root.Close()); err != nil {
		return fmt.Errorf("%s: cannot write figures here: %w: choose another directory with --out",
			filepath.Join(dir, folder), err)
	}
	return nil
}
