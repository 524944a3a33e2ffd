package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/rooms/report"
	"fedsim/results/rundir"
)

// Source is the data that a server shows. Its functions may be called from several goroutines.
type Source struct {
	Dir  string                         // the directory, which may not exist yet
	Stat func() (rundir.Info, error)    // its status; a few system calls
	Read func() (*report.Report, error) // called when the version of Stat has changed
}

// Directory returns a run directory as a source.
func Directory(dir string) Source {
	return Source{
		Dir:  dir,
		Stat: func() (rundir.Info, error) { return rundir.Stat(dir) },
		Read: func() (*report.Report, error) {
			if err := checkLinks(dir); err != nil {
				return nil, err
			}
			return report.Read(dir)
		},
	}
}

// mostListed is the maximum number of groups of a plan that the page lists in each condition.
const mostListed = 100

// PlanSource returns a plan directory as a source: its state, and all its runs so far.
func PlanSource(v *work.View) Source {
	return Source{Dir: v.Path(), Stat: v.Stat, Read: func() (*report.Report, error) {
		found, state, err := v.Live()
		if err != nil {
			return nil, err
		}
		r, err := report.Of(v.Path(), &found.Results)
		if err != nil {
			return nil, err
		}
		r.Plan = state.Listed(mostListed)
		return r, nil
	}}
}

// checkLinks returns an error if a file that a report reads is a symbolic link out of
// the run directory.
func checkLinks(dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, folder := range []string{".", ".unfinished", "tables"} {
		entries, err := fs.ReadDir(root.FS(), folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			if e.Type()&fs.ModeSymlink == 0 || folder == "." && !rundir.IsName(e.Name()) {
				continue // not read by a report
			}
			if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s: the link %s leads out of it: %w", dir, name, err)
			}
		}
	}
	return nil
}
