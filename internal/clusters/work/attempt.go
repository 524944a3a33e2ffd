package work

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"fedsim/experiment"
	"fedsim/internal/atomicfile"
	"fedsim/internal/clusters/plan"
	"fedsim/internal/input"
	"fedsim/internal/quote"
	"fedsim/results/rundir"
)

// Reasons, beside an interruption, to stop an item under way.
var (
	errElsewhere = errors.New("another worker has done it")
	errBudget    = errors.New("over its budget")
)

// do does an item under its claim and its budget. It returns nil when the item is done.
func (w *worker) do(ctx context.Context, it *item, h *hold) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &attempt{worker: w, item: it, hold: h, cancel: cancel, dir: filepath.Join(w.AttemptsDir(it.ID), w.By.Worker)}
	err := input.RequireFolder(w.AttemptsDir(it.ID))
	if err != nil {
		return err
	}
	if it.Kind != experiment.KindRuns {
		err = a.make(ctx)
	} else {
		err = a.run(ctx)
	}
	w.limitMemory()
	if errors.Is(context.Cause(ctx), errBudget) {
		return errBudget
	}
	return err
}

// attempt is the work of this worker on an item.
type attempt struct {
	*worker
	*item
	hold   *hold
	cancel context.CancelCauseFunc
	dir    string  // a run directory; of a group
	before float64 // seconds of the attempts that this one continues
	began  time.Time
	share  atomic.Uint64 // bits of the share that is done
}

// options returns the options of the computation of an item.
func (a *attempt) options() experiment.Options {
	o := a.Run
	o.Shared, o.Shares, o.Preparation, o.DataFolder = a.shared, a.shares, a.live, a.DataFolder
	o.Progress = func(p experiment.Progress) { a.share.Store(math.Float64bits(p.Share)) }
	return o
}

// run makes the runs of a group that are not finished, and puts the group into the done ones.
func (a *attempt) run(ctx context.Context) error {
	w, err := a.open()
	if err != nil {
		return err
	}
	o := a.options()
	if o.Recorder = w; o.Checkpoints.Clock != nil {
		o.Checkpoints.Store = w
	}
	if a.watch != nil {
		a.watch(&o)
	}
	err = a.watched(func() error { return experiment.Do(ctx, a.Scenario, a.Kind, a.Of, o) })
	if ctx.Err() != nil {
		return errors.Join(w.Suspend(), context.Cause(ctx))
	}
	if err != nil {
		return errors.Join(err, w.Discard())
	}
	if err := w.Suspend(); err != nil {
		return err
	}
	if n := len(w.Runs()); n != len(a.Of) {
		return fmt.Errorf("%d of %d runs are finished", n, len(a.Of))
	}
	return a.install()
}

// install moves the attempt to the done groups, unless the group is there.
func (a *attempt) install() error {
	if err := os.Rename(a.dir, a.DoneDir(a.ID)); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(filepath.Join(a.path, doneDir)); err != nil {
		return err
	}
	return writeNote(a.note(doneDir, a.ID), &a.hold.claim)
}

// open starts an attempt at a group: a copy of the newest attempt of a worker with work in it,
// or a new one. The copied attempt stays: its worker may be alive.
func (a *attempt) open() (*rundir.Writer, error) {
	last, dirs := a.attempts()
	for _, of := range last {
		w, err := a.resume(dirs[of])
		switch {
		case errors.Is(err, rundir.ErrCheckpoint):
			a.Note(fmt.Sprintf("%s: an attempt is not continued: %v", a.name, err))
		case w != nil:
			a.before = of.TookS
			return w, err
		case err != nil:
			return nil, err
		}
	}
	return rundir.Create(a.dir, false, a.About)
}

// attempts returns the last claims of the workers that tried the item, the latest first, and
// their attempts.
func (a *attempt) attempts() (last []*Claim, dirs map[*Claim]string) {
	notes, _ := filepath.Glob(filepath.Join(a.AttemptsDir(a.ID), "*.json")) // no error: the pattern is valid
	dirs = map[*Claim]string{}
	for _, path := range notes {
		if c, err := readClaim(path); err == nil && c != nil {
			last, dirs[c] = append(last, c), strings.TrimSuffix(path, ".json")
		}
	}
	slices.SortFunc(last, func(x, y *Claim) int { return y.written.Compare(x.written) })
	return last, dirs
}

// resume continues a copy of an attempt. It returns nil if there is no work in it.
func (a *attempt) resume(from string) (w *rundir.Writer, err error) {
	if err := rundir.CopyUnfinished(from, a.dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // it was removed
		}
		return nil, err
	}
	left, err := rundir.OpenCheckpoint(a.dir)
	if err == nil && !left.Empty() {
		w, err = left.Resume(a.About, a.place)
	}
	if left != nil {
		err = errors.Join(err, left.Close())
	}
	if w == nil {
		return nil, errors.Join(err, os.RemoveAll(a.dir))
	}
	return w, err
}

// make makes a prerequisite. All workers share the checkpoints: they have the same content.
func (a *attempt) make(ctx context.Context) error {
	dir := a.AttemptsDir(a.ID)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	last, _ := a.attempts()
	for _, of := range last {
		a.before = max(a.before, of.TookS)
	}
	o := a.options()
	if o.Checkpoints.Clock != nil {
		o.Checkpoints.Store = rundir.NewStates(dir, a.resolved)
	}
	return a.watched(func() error { return experiment.Do(ctx, a.Scenario, a.Kind, a.Of, o) })
}

// shares reports whether an item of the plan makes a state: what a single item needs is made in it.
func (w *worker) shares(state string) bool {
	file := rundir.StateFile(state)
	return slices.ContainsFunc(w.Plan.Items, func(it plan.Item) bool { return slices.Contains(it.States, file) })
}

// watched computes under heartbeats. It cancels the computation when another worker has done the
// item, and when the item is over its budget.
func (a *attempt) watched(compute func() error) error {
	a.began = a.Run.Clock()
	if a.MaxTime > 0 {
		left := a.MaxTime - time.Duration(a.before*float64(time.Second))
		timer := time.AfterFunc(max(0, left), func() { a.cancel(errBudget) })
		defer timer.Stop()
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(a.Beat)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				a.beat()
			}
		}
	}()
	a.beat()
	err := compute()
	close(stop)
	<-stopped
	a.beat()
	return err
}

// beat writes a heartbeat, and cancels work that another worker has done. Errors cost no more
// than a duplicate: a claim without heartbeats becomes stale.
func (a *attempt) beat() {
	a.hold.claim.Share = math.Float64frombits(a.share.Load())
	a.hold.claim.TookS = a.before + a.Run.Clock().Sub(a.began).Seconds()
	_ = a.hold.beat()
	_ = writeNote(a.dir+".json", &a.hold.claim)
	if a.Kind != experiment.KindRuns {
		return // it may be this worker who has just made it
	}
	if done, err := a.Dir.Done(a.Item); done && err == nil {
		a.cancel(errElsewhere)
	}
}

// limitMemory forgets prepared data and problems that take more than a quarter of the memory.
func (w *worker) limitMemory() {
	if w.Run.Memory == 0 {
		return
	}
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(sample); float64(sample[0].Value.Uint64()) > w.Run.Memory/4 {
		w.live = &experiment.Preparation{}
	}
}

// isLocal reports whether an error comes from this machine, not from the item: from its files,
// its disk or its memory.
func isLocal(err error) bool {
	if errors.Is(err, errOtherData) || errors.Is(err, fs.ErrNotExist) {
		return true
	}
	number, ok := errors.AsType[syscall.Errno](err)
	return ok && number != syscall.EPIPE // of a learner that has ended
}

// errOtherData is wrapped by the error of a prerequisite that was made of other data.
var errOtherData = errors.New("the data files of this machine differ from those of other workers")

// shared are the states of prerequisites, which other machines may have made.
type shared struct {
	*rundir.States
	dir string
}

// Reject returns the error of a state that does not fit the data of this machine.
func (s shared) Reject(name string, why error) error {
	return fmt.Errorf("%s: %w: %w: give every machine the same files", filepath.Join(s.dir, rundir.StateFile(name)), errOtherData, why)
}

// fail records the failure of an item.
func (w *worker) fail(it *item, h *hold, why error) error {
	f := Failure{Reason: quote.Line(why.Error()), Host: w.By.Host, Time: w.Run.Clock()}
	if errors.Is(why, errBudget) {
		f.TookS = max(h.claim.TookS, w.MaxTime.Seconds())
		f.Reason = fmt.Sprintf("over its budget of %s after %s: continue with --max-time", w.MaxTime, time.Duration(f.TookS*1e9).Round(time.Second/10))
	}
	w.failed[it.ID] = true
	w.Note(fmt.Sprintf("%s: failed: %s", it.name, f.Reason))
	return writeNote(w.note(failedDir, it.ID), &f)
}
