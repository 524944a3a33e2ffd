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
	"sync/atomic"
	"syscall"
	"time"

	"fedsim/experiment"
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/input"
	"fedsim/results/rundir"
)

// errTaken is the reason, beside an interruption, to stop an item under way.
var errTaken = errors.New("another worker has claimed it")

type attempt struct {
	*worker
	*plan.Item
	lease  *lease
	cancel context.CancelCauseFunc
	dir    string // the run directory of a group
	began  time.Time
	share  atomic.Uint64 // the bits of the share that is done
}

// do does an item under its claim. It returns nil when the item is done.
func (w *worker) do(ctx context.Context, it *plan.Item, l *lease) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	folder := w.AttemptsDir(it.ID)
	if err := input.RequireFolder(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	a := &attempt{worker: w, Item: it, lease: l, cancel: cancel, dir: filepath.Join(folder, w.By.Worker)}
	var err error
	if it.Kind == experiment.KindRuns {
		err = a.run(ctx)
	} else {
		err = a.make(ctx)
	}
	w.limitMemory()
	return err
}

// run makes the runs of a group that are not finished, and puts the group into the done ones.
func (a *attempt) run(ctx context.Context) error {
	w, err := a.open()
	if err != nil {
		return err
	}
	err = a.compute(ctx, w, w)
	taken := !a.isMine()
	if err == nil || ctx.Err() != nil {
		err = errors.Join(w.Suspend(), context.Cause(ctx))
		taken = taken || !a.isMine()
	} else {
		err = errors.Join(err, w.Discard())
	}
	if taken || errors.Is(err, errTaken) {
		_ = os.RemoveAll(a.dir) // files that were made there since
		return errTaken
	}
	if err != nil {
		return err
	}
	if n := len(w.Runs()); n != len(a.Of) {
		return fmt.Errorf("%d of %d runs are finished", n, len(a.Of))
	}
	if err := os.Rename(a.dir, a.DoneDir(a.ID)); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Join(a.path, doneDir))
}

// isMine reports whether the run directory is there: who takes an attempt over moves it.
func (a *attempt) isMine() bool {
	_, err := rundir.StatStage(a.dir)
	return err == nil
}

// open starts an attempt at a group: it takes over that of another worker, or makes a new one.
func (a *attempt) open() (*rundir.Writer, error) {
	attempts, err := os.ReadDir(a.AttemptsDir(a.ID))
	if err != nil {
		return nil, err
	}
	for _, e := range attempts {
		if !e.IsDir() {
			continue
		}
		w, err := a.takeOver(filepath.Join(a.AttemptsDir(a.ID), e.Name()))
		if errors.Is(err, rundir.ErrCheckpoint) {
			a.Note(fmt.Sprintf("group %s: an attempt is not continued: %v", a.ID, err))
		} else if w != nil || err != nil {
			return w, err
		}
	}
	return rundir.Create(a.dir, false, a.About)
}

// takeOver continues the attempt of a worker that no longer works on it. It returns nil if there is no
// work in it.
func (a *attempt) takeOver(from string) (w *rundir.Writer, err error) {
	if err := rundir.TakeOver(from, a.dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // it was removed, or is none
		}
		return nil, err
	}
	left, err := rundir.OpenCheckpoint(a.dir)
	if err == nil && left.Cut > 0 {
		a.Note(fmt.Sprintf("group %s: the log of its attempt ends within a block: its last %s are computed again", a.ID,
			columns.Count(int(left.Cut), "byte")))
	}
	if err == nil && !left.Empty() {
		w, err = left.Resume(a.About, experiment.Places(a.Scenario.Experiments))
	}
	if left != nil {
		err = errors.Join(err, left.Close())
	}
	if w == nil {
		return nil, errors.Join(err, os.RemoveAll(a.dir))
	}
	return w, err
}

// make makes a prerequisite or a table. All workers share the checkpoints: they have the same content.
func (a *attempt) make(ctx context.Context) error {
	return a.compute(ctx, nil, rundir.NewStates(a.AttemptsDir(a.ID), a.resolved))
}

// compute computes the item under heartbeats. It cancels the computation when another worker has claimed
// the item.
func (a *attempt) compute(ctx context.Context, to *rundir.Writer, checkpoints experiment.CheckpointStore) error {
	o := a.Run
	shared := experiment.Shared{
		Store: a.shared, Needs: func(state string) bool { return a.shares[rundir.StateFile(state)] },
		Preparation: a.live,
	}
	o.Progress = func(p experiment.Progress) { a.share.Store(math.Float64bits(p.Share)) }
	if o.Checkpoints.Clock != nil {
		o.Checkpoints.Store = checkpoints
	}
	if to != nil {
		if o.Recorder = to; a.watch != nil {
			a.watch(&o)
		}
	}
	a.began = a.Run.Clock()
	a.beat()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(a.stale / 6)
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
	err := experiment.Do(ctx, a.Scenario, a.Kind, a.Of, o, shared)
	close(stop)
	<-stopped
	a.measure()
	return err
}

// measure notes the share and the time in the claim.
func (a *attempt) measure() {
	a.lease.claim.Share = math.Float64frombits(a.share.Load())
	a.lease.claim.TookS = a.lease.last.TookS + a.Run.Clock().Sub(a.began).Seconds()
}

// beat writes a heartbeat, and cancels work on an item that another worker has claimed since. Errors cost
// no more than work done twice: a claim without heartbeats is free.
func (a *attempt) beat() {
	a.measure()
	if mine, _ := a.lease.beat(); !mine {
		a.cancel(errTaken)
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
	return fmt.Errorf("%s: %w: %w: give every machine the same files", filepath.Join(s.dir, rundir.StateFile(name)),
		errOtherData, why)
}
