package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fedsim/internal/tools/filelock"
	"fedsim/internal/tools/input"
	"fedsim/results"
)

// Status says whether a run directory has a run, and whether a process writes to it.
type Status string

const (
	Absent   Status = "absent"   // there is no run, or none that can be read yet
	Writing  Status = "writing"  // a process writes to the directory
	Stopped  Status = "stopped"  // the run is unfinished and no process writes to it
	Finished Status = "finished" // the run is complete or was interrupted, and its results are in place
)

// Info is what [Stat] finds.
type Info struct {
	Status  Status
	Version string // changes whenever ReadLive would return something else
}

// Stat returns the status of a run directory, which need not exist. It takes a few system
// calls. The error of a path that is not a directory, or of a directory with other files
// than those of a run, wraps ErrForeign.
func Stat(dir string) (Info, error) {
	g := Info{Status: Absent}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		_, err := inspect(dir)
		return g, err
	}
	info, err := os.Stat(filepath.Join(dir, manifestFile))
	switch {
	case err == nil:
		g.Status = Finished
	case !absent(err):
		return g, err
	}
	g.Version = version(info)
	stage := filepath.Join(dir, stageDir)
	f, err := input.OpenOwn(filepath.Join(stage, logFile), maxTable)
	switch {
	case absent(err):
		if g.Status == Absent {
			_, err := inspect(dir) // it may have other files
			return g, err
		}
		return g, nil
	case err != nil:
		return g, err
	}
	if info, err = f.Stat(); err != nil {
		return g, errors.Join(err, f.Close())
	}
	switch {
	case isAlive(stage):
		g.Status = Writing
	case g.Status == Absent:
		g.Status = Stopped
	}
	g.Version += string(g.Status) + version(info)
	return g, f.Close()
}

// absent reports whether an error says that a file does not exist.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// version distinguishes two versions of a file.
func version(info fs.FileInfo) string {
	if info == nil {
		return "-;"
	}
	return fmt.Sprintf("%d,%d;", info.Size(), info.ModTime().UnixNano())
}

// isAlive reports whether a process writes to a stage. It is true where that is not
// known.
func isAlive(stage string) bool {
	alive := filelock.New(filepath.Join(stage, aliveFile), filelock.SetFlag(os.O_RDONLY))
	got, err := alive.TryRLock()
	if got {
		err = alive.Unlock()
		return err != nil
	}
	return !absent(err)
}

// Live is the content of a run directory, finished or not.
type Live struct {
	Results        // Manifest.State is Running while Status is Writing, Incomplete when it is Stopped
	Status  Status // never Absent
	Total   int    // runs of the scenario; 0: not known
}

// ReadLive reads a run directory at any time: the finished runs and those under way, up
// to the last round that was written. The status of a run under way is UnderWay while a
// process writes to the directory, else Interrupted. Rows by device are not read. The
// error of a directory without a run wraps fs.ErrNotExist or ErrForeign.
func ReadLive(dir string) (*Live, error) {
	const attempts = 5 // a writer may move the files to their place meanwhile
	for i := 1; ; i++ {
		before, err := Stat(dir)
		if err != nil {
			return nil, err
		}
		l, err := readLive(dir, before.Status)
		if err == nil || i == attempts {
			return l, err
		}
		if after, e := Stat(dir); e != nil || after == before {
			return nil, err
		}
	}
}

func readLive(dir string, status Status) (*Live, error) {
	if status != Writing && status != Stopped {
		r, err := Read(dir)
		if err != nil {
			return nil, err
		}
		l := &Live{Results: *r, Status: status}
		if r.Manifest.State == Complete {
			l.Total = len(r.Runs)
		}
		return l, nil
	}
	stage := filepath.Join(dir, stageDir)
	p, err := readLog(stage)
	if absent(err) {
		return nil, fmt.Errorf("%s: its files are being moved to their place", dir)
	}
	if err != nil {
		return nil, err
	}
	var runs []results.Run
	for _, run := range p.inOrder() {
		runs = append(runs, run.live(status == Writing))
	}
	l := &Live{Results: p.results(stage, runs), Status: status, Total: p.head.Runs}
	if status == Stopped {
		l.Manifest.State = Incomplete
	}
	return l, nil
}
