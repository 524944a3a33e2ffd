package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrUnfinished is wrapped by the error of Create for a directory that holds what
// was kept of a run that did not come to its end, and was not to be overwritten.
var ErrUnfinished = errors.New("holds an unfinished run")

// requireNothingKept reports what would be lost if the stage were overwritten: how
// far the run in it has come, and when it was kept.
func requireNothingKept(dir string) error {
	const remedy = "use --force to start over, or --out for another directory"
	s := shelfIn(dir)
	underWay, kept, err := s.inspect()
	if err != nil || kept.IsZero() {
		return err
	}
	h, content, err := s.open(s.index(), remedy)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", dir, ErrUnfinished, err)
	}
	left, err := s.decode(h, content, remedy)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", dir, ErrUnfinished, err)
	}
	if len(left.Runs) == 0 && underWay == 0 {
		return nil // it was stopped before there was anything to keep
	}
	more := ""
	if underWay > 0 {
		more = " and more under way"
	}
	return fmt.Errorf("%s: %w, %d finished%s when it was kept on %s: go on with it by fedsim run --resume %s, %s",
		dir, ErrUnfinished, len(left.Runs), more, kept.Format("2006-01-02 at 15:04:05"), dir, remedy)
}

// inspect tells how many things besides the index are on the shelf, and when the
// last of all was put there; never when there is no index.
func (s *shelf) inspect() (things int, last time.Time, err error) {
	if _, err := os.Stat(s.index()); errors.Is(err, fs.ErrNotExist) {
		return 0, last, nil
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0, last, err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != stateExt || strings.HasPrefix(e.Name(), ".") { // a write that was killed
			continue
		}
		info, err := e.Info()
		if err != nil {
			return 0, last, err
		}
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
		if e.Name() != indexFile {
			things++
		}
	}
	return things, last, nil
}
