package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"fedsim/internal/input"
)

// ErrBusy is wrapped by the errors of Create and OpenCheckpoint for a directory that
// another process is writing to.
var ErrBusy = errors.New("is being written to by another fedsim")

// lockFile is in the stage. It is locked, and holds the number of the process, as
// long as someone writes the stage. The lock is the kernel's: it ends with the
// process, however that ends, and a file that stays behind locks nothing.
const lockFile = "lock"

// lock is held by the one who may write the stage of a run directory.
type lock struct {
	file *flock.Flock // nil: released
}

// lockStage makes the stage of a run directory if need be, and locks it.
func lockStage(dir string) (*lock, error) {
	path := filepath.Join(dir, stageDir, lockFile)
	if err := requireNoLinks(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", dir, ErrForeign, err)
	}
	const tries = 100 // each fails only when another has just removed its stage
	for range tries {
		if err := os.Mkdir(filepath.Dir(path), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o666))
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
	return nil, fmt.Errorf("lock %s: it is removed as soon as it is there", path)
}

// requireNoLinks reports links in a stage, and a stage that is one: what is written
// there would be written wherever they lead to.
func requireNoLinks(stage string) error {
	return filepath.WalkDir(stage, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // there is no stage, or another has just removed the file
		case err != nil:
			return err
		case e.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link, and no run makes links: remove it", path)
		}
		return nil
	})
}

// stillAt reports whether the file that was locked is the one at its path: the one
// who had the lock may have removed it in between.
func stillAt(file *flock.Flock, path string) bool {
	mine, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// busy says who has the lock.
func busy(dir, path string) error {
	who := ""
	if text, err := input.ReadFile(path, 64); err == nil { // it may be gone by now
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			who = fmt.Sprintf(", process %d", pid)
		}
	}
	return fmt.Errorf("%s: %w%s: wait until it is done", dir, ErrBusy, who)
}

// release gives the stage back, and removes it when nothing is left in it. A
// second call does nothing.
func (l *lock) release() error {
	if l == nil || l.file == nil {
		return nil
	}
	path := l.file.Path()
	_ = os.Remove(path) // while nobody else may have it; where it must stay it locks nothing
	err := l.file.Unlock()
	l.file = nil
	_ = os.Remove(filepath.Dir(path)) // stays when something is kept, or another has come
	return err
}

// clearStage removes all from the stage of a run directory but the lock and what is
// to stay.
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
