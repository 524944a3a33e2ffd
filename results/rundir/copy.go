package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/input"
)

// TakeOver moves an unfinished run directory, whose writer is lost, to another path, to resume it
// there. The writer may be alive, out of reach of its lock: it finds no directory any more at its path.
// The moved directory is a copy, without the open files of the writer. The directory to must not
// exist. Without a log in from, the error wraps fs.ErrNotExist.
func TakeOver(from, to string) (err error) {
	stage := filepath.Join(from, stageDir)
	if err := requireNoLinks(stage); err != nil {
		return fmt.Errorf("%s: %w: %w", from, ErrForeign, err)
	}
	if _, err := os.Stat(filepath.Join(stage, logFile)); err != nil {
		return err
	}
	aside := to + ".taken" // another process takes it over if this one is killed now
	if err := os.Rename(from, aside); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(to), os.Rename(aside, from))
		}
	}()
	source, target := filepath.Join(aside, stageDir), filepath.Join(to, stageDir)
	// A run in the log has all its files, so the log is copied first. It is in place last: a directory
	// without it is none.
	if err := copyFile(filepath.Join(source, logFile), filepath.Join(target, logFile+".tmp")); err != nil {
		return err
	}
	for _, dir := range []string{checkpointDir, modelsDir} {
		names, err := list(filepath.Join(source, dir))
		if err != nil {
			return err
		}
		for _, name := range names {
			if name[0] == '.' { // temporary
				continue
			}
			if err := copyFile(filepath.Join(source, dir, name), filepath.Join(target, dir, name)); err != nil {
				return err
			}
		}
	}
	if err = os.Rename(filepath.Join(target, logFile+".tmp"), filepath.Join(target, logFile)); err == nil {
		err = atomicfile.SyncDir(target)
	}
	if err == nil {
		_ = os.RemoveAll(aside) // remains do no harm
	}
	return err
}

// programFile returns the name of a file, 0 or 1, beside a file with a state.
func programFile(name string, number int) string {
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, stateExt), number, programExt)
}

// copyFile copies a file and makes the folder of the copy if necessary.
func copyFile(from, to string) error {
	in, err := input.OpenOwn(from, maxTable)
	if err != nil {
		return err
	}
	dir, name := filepath.Split(to)
	if err = os.MkdirAll(dir, 0o777); err == nil {
		err = atomicfile.WriteIn(dir, name, func(out io.Writer) error {
			_, err := io.Copy(out, io.LimitReader(in, maxTable))
			return err
		})
	}
	return errors.Join(err, in.Close())
}
