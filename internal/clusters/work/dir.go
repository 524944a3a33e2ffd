package work

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/clusters/plan"
	"fedsim/internal/input"
	"fedsim/results/rundir"
)

// Folders of a plan directory.
const (
	needsDir    = "needs"
	attemptsDir = "attempts"
	doneDir     = "done"
	claimsDir   = "claims"
	endedDir    = "ended"
)

var folders = []string{needsDir, attemptsDir, doneDir, claimsDir, endedDir}

// Dir is the directory of a plan.
type Dir struct {
	Plan     *plan.Plan
	Scenario *scenario.Scenario
	path     string
	resolved []byte // the scenario
}

// ErrNoPlan is wrapped by the error of Open for a path without a plan.
var ErrNoPlan = errors.New("is not a plan directory")

// Open reads the plan of a directory. It refuses a plan that was changed, or that another version
// of fedsim made.
func Open(path, version string) (*Dir, error) {
	p, s, resolved, err := plan.Read(path, version)
	if (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) && !plan.Is(path) {
		return nil, fmt.Errorf("%s: %w: make one with fedsim plan SCENARIO -o DIR", path, ErrNoPlan)
	}
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		if err := input.RequireFolder(filepath.Join(path, folder)); err != nil {
			return nil, err
		}
	}
	return &Dir{p, s, path, resolved}, nil
}

// Path returns the directory.
func (d *Dir) Path() string { return d.path }

// DoneDir returns the directory of a finished group: an unfinished run directory of the whole
// scenario that holds the runs of the group.
func (d *Dir) DoneDir(id string) string { return filepath.Join(d.path, doneDir, id) }

// AttemptsDir returns the folder of the attempts at an item, by worker.
func (d *Dir) AttemptsDir(id string) string { return filepath.Join(d.path, attemptsDir, id) }

// Done reports whether an item is done: its states are there, or its runs are.
func (d *Dir) Done(it *plan.Item) (bool, error) {
	if it.Kind == experiment.KindRuns {
		return isThere(d.DoneDir(it.ID))
	}
	for _, name := range it.States {
		if there, err := isThere(d.statePath(name)); !there || err != nil {
			return false, err
		}
	}
	return true, nil
}

func isThere(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// statePath returns the path of a state of a prerequisite.
func (d *Dir) statePath(name string) string { return filepath.Join(d.path, needsDir, name) }

// Shared returns the states of the prerequisites.
func (d *Dir) Shared() *rundir.States {
	return rundir.NewStates(filepath.Join(d.path, needsDir), d.resolved)
}

func (d *Dir) claimPath(id string) string { return filepath.Join(d.path, claimsDir, id+".json") }
func (d *Dir) endedPath(id string) string { return filepath.Join(d.path, endedDir, id+".json") }

// Claim returns the claim of an item, nil when nobody works on it.
func (d *Dir) Claim(id string) (*Claim, error) { return readClaim(d.claimPath(id)) }

// Ended returns the claim of the last worker that no longer works on an item, nil when there is none.
// One that cannot be read counts as a failure.
func (d *Dir) Ended(id string) (*Claim, error) {
	c, err := readClaim(d.endedPath(id))
	if c != nil && c.Worker == "" && c.Failure == "" {
		c.Failure = "unknown: " + d.endedPath(id) + " cannot be read"
	}
	return c, err
}

// Forget removes the failure of an item, so that workers try it again.
func (d *Dir) Forget(id string) error {
	c, err := d.Ended(id)
	if c == nil || c.Failure == "" || err != nil {
		return err
	}
	c.Failure = ""
	if c.Worker == "" {
		return remove(d.endedPath(id))
	}
	return c.write(d.endedPath(id))
}
