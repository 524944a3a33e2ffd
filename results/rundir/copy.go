package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fedsim/internal/atomicfile"
	"fedsim/internal/input"
)

// CopyUnfinished copies an unfinished run directory, to resume the copy. The original may
// be under way elsewhere, out of reach of its lock: what it writes meanwhile is copied whole
// or not at all. The directory to must not exist. Without a progress log in from, the error
// wraps fs.ErrNotExist.
func CopyUnfinished(from, to string) (err error) {
	source, target := filepath.Join(from, stageDir), filepath.Join(to, stageDir)
	if err := requireNoLinks(source); err != nil {
		return fmt.Errorf("%s: %w: %w", from, ErrForeign, err)
	}
	// A run in the log has all its files, so the log comes first. It is in place last: a copy
	// without it is none.
	log, err := input.ReadOwn(filepath.Join(source, progressFile), maxTable)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o777); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(to))
		}
	}()
	// A store only grows, so the rows of its state are in the copy that comes later.
	if err := copyStates(filepath.Join(source, checkpointDir), filepath.Join(target, checkpointDir)); err != nil {
		return err
	}
	for _, dir := range []string{rowsDir, modelsDir} {
		names, err := list(filepath.Join(source, dir))
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := copyFile(filepath.Join(source, dir, name), filepath.Join(target, dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return atomicfile.WriteIn(target, progressFile, func(out io.Writer) error {
		_, err := out.Write(log)
		return err
	})
}

// copyStates copies the states of computations under way, each with the files that programs
// write beside it.
func copyStates(from, to string) error {
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	names, err := list(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		if filepath.Ext(name) != stateExt || name[0] == '.' {
			continue
		}
		if err := copyState(from, to, name); err != nil {
			return err
		}
	}
	return nil
}

// copyState copies a state until it is the same before and after the files beside it.
func copyState(from, to, name string) error {
	beside := []string{programFile(name, 0), programFile(name, 1)}
	const tries = 100 // one fails only when a state is saved meanwhile
	for range tries {
		before, err := input.ReadOwn(filepath.Join(from, name), maxTable)
		if errors.Is(err, fs.ErrNotExist) { // its run has finished
			return removeFiles(to, append(beside, name)...)
		}
		if err != nil {
			return err
		}
		for _, file := range beside {
			if err := copyFile(filepath.Join(from, file), filepath.Join(to, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		err = atomicfile.WriteIn(to, name, func(out io.Writer) error { _, err := out.Write(before); return err })
		if err != nil {
			return err
		}
		if after, err := input.ReadOwn(filepath.Join(from, name), maxTable); err == nil && bytes.Equal(before, after) {
			return nil
		}
	}
	return fmt.Errorf("copy %s: it is replaced again and again", filepath.Join(from, name))
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
