package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/input"
)

// TakeOver moves an unfinished run directory, whose writer is lost, to another path, to resume it
// there. The writer may be alive, out of reach of its lock: it finds no directory any more at its path.
// The moved directory is a copy, without the open files of the writer. The directory to must not
// exist. Without a progress log in from, the error wraps fs.ErrNotExist.
func TakeOver(from, to string) (err error) {
	stage := filepath.Join(from, stageDir)
	if err := requireNoLinks(stage); err != nil {
		return fmt.Errorf("%s: %w: %w", from, ErrForeign, err)
	}
	if _, err := os.Stat(filepath.Join(stage, progressFile)); err != nil {
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
	// A run in the log has all its files, so the log is read first. It is in place last: a directory
	// without it is none. A store only grows, so the rows of a state are in the copy that comes later.
	log, err := input.ReadOwn(filepath.Join(source, progressFile), maxTable)
	if err != nil {
		return err
	}
	for _, dir := range []string{checkpointDir, rowsDir, modelsDir} {
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
	if err := os.MkdirAll(target, 0o777); err != nil {
		return err
	}
	err = atomicfile.WriteIn(target, progressFile, func(out io.Writer) error {
		_, err := out.Write(log)
		return err
	})
	if err == nil {
		_ = os.RemoveAll(aside) // remains do no harm
	}
	return err
}

// programFile returns the name of a file, 0 or 1, beside a file with a state.
func programFile(name string, number int) string {
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, stateExt), number, programExt)
}

// removeFiles removes files of a folder, if they are there.
func removeFiles(dir string, names ...string) error {
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
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

// linkFile links a file that nobody changes, or copies it where the file system has no links
// or the copy is on another one.
func linkFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(from, to)
}
