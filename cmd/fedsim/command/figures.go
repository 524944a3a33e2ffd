package command

import (
	"errors"
	"io"
	"path/filepath"

	"fedsim/experiment/into"
	"fedsim/results/rundir"
)

func printFigures(out io.Writer, folder string, files []string) error {
	for _, name := range files {
		if err := printText(out, filepath.Join(folder, name)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// drawMissing draws the missing figures of a complete run directory, unless the flags exclude
// figures, and prints their paths. It reports whether there were any.
func (f *directoryFlags) drawMissing(out io.Writer, dir string, there *rundir.Results) (bool, error) {
	if f.noFigures {
		return false, nil
	}
	files, missing, err := into.DrawMissing(dir, there)
	return missing, errors.Join(err, printFigures(out, filepath.Join(dir, "figures"), files))
}
