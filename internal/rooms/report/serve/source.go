package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"fedsim/internal/rooms/report"
	"fedsim/results/rundir"
)

// Source is the data that a server shows. Its functions may be called from several goroutines.
type Source struct {
	Dir  string                         // the directory, which may not exist yet
	Stat func() (rundir.Info, error)    // its status; a few system calls
	Read func() (*report.Report, error) // called when the version of Stat has changed
}

// ofRooms return the source of a directory of a room, if it is one. The file of each adds its own.
var ofRooms []func(dir, version string, clock func() time.Time) (s Source, is bool, err error)

// Open returns a directory of a room or a run directory as a source. Version is that of the program.
func Open(dir, version string, clock func() time.Time) (Source, error) {
	for _, of := range ofRooms {
		if s, is, err := of(dir, version, clock); is {
			return s, err
		}
	}
	return Directory(dir), nil
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
