package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fedsim/internal/tools/filelock"
	"fedsim/internal/tools/input"
)

// ErrBusy is wrapped by the errors of Create and OpenCheckpoint for a directory to which
// another process writes.
var ErrBusy = errors.New("is being written to by another fedsim")

// lockFile is in the stage and holds the process number of the writer, which locks it. The
// kernel releases the lock when the process ends. A file without a process locks nothing.
const lockFile = "lock"

// lock is the writer's lock of the stage of a run directory.
type lock struct {
	file *filelock.Lock // nil: released
}

// lockStage creates the stage of a run directory if necessary, and locks it.
func lockStage(dir string) (*lock, error) {
	path := filepath.Join(dir, stageDir, lockFile)
	if err := requireNoLinks(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", dir, ErrForeign, err)
	}
	const tries = 100 // one fails only when another process has just removed its stage
	for range tries {
		if err := os.Mkdir(filepath.Dir(path), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		file := filelock.New(path, filelock.SetFlag(os.O_CREATE|os.O_RDWR), filelock.SetPermissions(0o666))
		locked, err := file.TryLock()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("lock %s: %w", path, err)
		case !locked:
			return nil, busy(dir, path)
		case !stillAt(file, path):
			if err := file.Unlock(); err != nil {
				return nil, fmt.Errorf("unlock %s: %w", path, err)
			}
			continue
		}
		l := &lock{file}
		if err := os.WriteFile(path, fmt.Appendln(nil, os.Getpid()), 0o666); err != nil {
			return nil, errors.Join(err, l.release())
		}
		return l, nil
	}
	return nil, fmt.Errorf("lock %s: another process removes it again and again", path)
}

// requireNoLinks reports links in a stage, and a stage that is a link: writes would follow
// them.
func requireNoLinks(stage string) error {
	return filepath.WalkDir(stage, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // there is no stage, or another process has just removed the file
		case err != nil:
			return err
		case e.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link, and no run makes links: remove it", path)
		}
		return nil
	})
}

// stillAt reports whether the locked file is still the one at its path: the previous
// writer may have removed it.
func stillAt(file *filelock.Lock, path string) bool {
	mine, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// busy names the process that has the lock.
func busy(dir, path string) error {
	who := ""
	if text, err := input.ReadOwn(path, 64); err == nil { // it may no longer exist
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			who = fmt.Sprintf(", process %d", pid)
		}
	}
	return fmt.Errorf("%s: %w%s: wait until it is done", dir, ErrBusy, who)
}

// release unlocks the stage, and removes it when it is empty. A second call does nothing.
func (l *lock) release() error {
	if l == nil || l.file == nil {
		return nil
	}
	path := l.file.Path()
	_ = os.Remove(path) // while it is locked; a file that cannot be removed locks nothing
	err := l.file.Unlock()
	l.file = nil
	_ = os.Remove(filepath.Dir(path)) // it stays unless it is empty
	return err
}

// clearStage removes everything from the stage of a run directory except the lock and the
// named entries.
func clearStage(dir string, stay ...string) error {
	stage := filepath.Join(dir, stageDir)
	names, err := list(stage)
	if err != nil {
		return err
	}
	stays := map[string]bool{lockFile: true}
	for _, name := range stay {
		stays[name] = true
	}
	for _, name := range names {
		if stays[name] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(stage, name)); err != nil {
			return err
		}
	}
	return nil
}
