package work

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

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
	failedDir   = "failed"
)

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
	for _, folder := range []string{needsDir, attemptsDir, doneDir, claimsDir, failedDir} {
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

func isThere(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Done reports whether an item is done: its runs are in a directory, or all its states are there.
func (d *Dir) Done(it *plan.Item) (bool, error) {
	if it.Kind == experiment.KindRuns {
		return isThere(d.DoneDir(it.ID))
	}
	for _, name := range it.States {
		if there, err := isThere(d.needPath(name)); !there || err != nil {
			return false, err
		}
	}
	return true, nil
}

// needPath returns the path of a state of a prerequisite.
func (d *Dir) needPath(name string) string { return filepath.Join(d.path, needsDir, name) }

// Shared returns the states of the prerequisites.
func (d *Dir) Shared() *rundir.States {
	return rundir.NewStates(filepath.Join(d.path, needsDir), d.resolved)
}

// AttemptsDir returns the folder of the attempts at a group or a prerequisite, by worker.
func (d *Dir) AttemptsDir(id string) string { return filepath.Join(d.path, attemptsDir, id) }

// note returns the path of a note about a group or a prerequisite.
func (d *Dir) note(folder, id string) string { return filepath.Join(d.path, folder, id+".json") }

// Failure says why a group or a prerequisite failed.
type Failure struct {
	Reason string    `json:"reason"` // one line
	Host   string    `json:"host"`
	Time   time.Time `json:"time"`
	TookS  float64   `json:"took_s,omitempty"` // seconds that it took when it was over its budget; else 0
}

// continues reports whether a budget allows to continue; 0: no limit.
func (f *Failure) continues(budget time.Duration) bool {
	return f.TookS > 0 && (budget == 0 || budget.Seconds() > f.TookS)
}

// Failure returns why a group or a prerequisite failed, nil when it did not.
func (d *Dir) Failure(id string) (*Failure, error) {
	f := Failure{Reason: "unknown: " + d.note(failedDir, id) + " cannot be read"}
	if written, err := readNote(d.note(failedDir, id), &f); err != nil || written.IsZero() {
		return nil, err
	}
	return &f, nil
}

// Forget removes the failure of a group or a prerequisite, so that workers try it again.
func (d *Dir) Forget(id string) error { return remove(d.note(failedDir, id)) }

// Last returns the last claim of the worker that finished a group, nil when it is not known.
func (d *Dir) Last(id string) (*Claim, error) { return readClaim(d.note(doneDir, id)) }

// Now returns the time of the file server. It writes a file under the name of a worker to learn
// it; where that is not allowed, ages are not known.
func (d *Dir) Now(worker string) (time.Time, error) {
	return serverTime(filepath.Join(d.path, claimsDir), "."+worker)
}
