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
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/tools/input"
	"fedsim/results/rundir"
)

// Folders of a plan directory.
const (
	needsDir    = "needs"
	attemptsDir = "attempts"
	doneDir     = "done"
	claimsDir   = "claims"
)

var folders = []string{needsDir, attemptsDir, doneDir, claimsDir}

// Dir is the directory of a plan.
type Dir struct {
	Plan     *plan.Plan
	Scenario *scenario.Scenario
	path     string
	resolved []byte // the scenario
}

// ErrNoPlan is wrapped by the error of Open for a path without a plan.
var ErrNoPlan = errors.New("is not a plan directory")

// Open reads the plan of a directory, the last one of batches. It refuses a plan that was changed, or that a version of
// fedsim with another format or numeric version made.
func Open(path, version string) (*Dir, error) {
	if batches := plan.Batches(path); batches != nil {
		path = batches[len(batches)-1]
	}
	p, s, resolved, err := plan.Read(path, version)
	if (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) && !plan.Is(path) {
		return nil, fmt.Errorf("%s: %w: make one with fedsim plan make SCENARIO -o DIR", path, ErrNoPlan)
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

// Inherit links the states of the prerequisites of an earlier batch, so that they are not made again.
func (d *Dir) Inherit(earlier *Dir) error {
	from, to := filepath.Join(earlier.path, needsDir), filepath.Join(d.path, needsDir)
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		err := os.Link(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
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

// Claim returns the claim of an item, nil when nobody has begun it.
func (d *Dir) Claim(id string) (*Claim, error) { return readClaim(d.claimPath(id)) }
