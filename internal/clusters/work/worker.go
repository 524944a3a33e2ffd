package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fedsim/experiment"
	"fedsim/internal/clusters/plan"
	"fedsim/results/rundir"
)

// Options set how a worker works. They do not change results.
type Options struct {
	Part    Part
	MaxTime time.Duration // of a group or a prerequisite; 0: no limit
	Retry   bool          // try again what failed
	By      Claim         // who works: Worker, Host and Process
	About   rundir.About  // of the scenario, for attempts

	// Run sets how runs are computed: Workers, Queue, Memory, Stderr and Clock, which is required,
	// and Every and Clock of Checkpoints; without that clock, there are no checkpoints.
	Run experiment.Options

	// Note receives a line about each group or prerequisite that ends, and what the user should
	// know; nil: none.
	Note func(string)

	DataFolder string // of the data sets of tables

	Stale time.Duration // age of a claim that is taken over; 0: StaleAfter
	Beat  time.Duration // between two heartbeats; 0: a sixth of Stale

	watch func(*experiment.Options) // changes the options of the runs of a group in tests; nil: nothing
}

// ErrFailed is wrapped by the error of Work if a group of the part, or a prerequisite of one,
// has failed. The error has a line for each.
var ErrFailed = errors.New("failed")

// item is an item of the plan.
type item struct {
	*plan.Item
	name string // for people
}

// worker does the items of a part.
type worker struct {
	*Dir
	Options
	items  map[string]*item
	place  func(id string) (int, bool)
	shared shared
	live   *experiment.Preparation
	plan   os.FileInfo // of the file of the plan
	now    func() (time.Time, error)

	made   map[string]bool // prerequisites whose states were there and right
	failed map[string]bool // items that failed, or need one that did
}

// Work does the groups of a part that are not done, and the prerequisites that they need. It
// returns when all are done or have failed. When ctx ends, it saves checkpoints, and the error
// wraps that of ctx. What a group does not cause, such as a full disk, ends the worker with an
// error and leaves the group to others.
func (d *Dir) Work(ctx context.Context, o Options) error {
	for _, folder := range []string{needsDir, attemptsDir, doneDir, claimsDir, failedDir} {
		if err := os.MkdirAll(filepath.Join(d.path, folder), 0o777); err != nil {
			return err
		}
	}
	w := &worker{
		Dir: d, Options: o, items: map[string]*item{}, place: experiment.Places(d.Scenario.Experiments),
		shared: shared{d.Shared(), filepath.Join(d.path, needsDir)},
		live:   &experiment.Preparation{}, made: map[string]bool{}, failed: map[string]bool{},
	}
	if w.Stale == 0 {
		w.Stale = StaleAfter
	}
	if w.Beat == 0 {
		w.Beat = w.Stale / 6
	}
	w.By.EveryS = w.Beat.Seconds()
	if w.Note == nil {
		w.Note = func(string) {}
	}
	w.now = w.clock()
	if err := w.samePlan(); err != nil {
		return err
	}
	defer func() { _ = os.Remove(filepath.Join(d.path, claimsDir, "."+o.By.Worker)) }() // of Now
	pending := w.part()
	if o.Retry {
		if err := w.forget(pending); err != nil {
			return err
		}
	}
	if err := w.loop(ctx, slices.Clone(pending)); err != nil {
		return err
	}
	return w.failures(pending)
}

// part lists the items of the plan and returns the groups of the part.
func (w *worker) part() (mine []*item) {
	var groups []*item
	for i := range w.Plan.Items {
		of := &w.Plan.Items[i]
		it := &item{of, fmt.Sprintf("group %s (%s)", of.ID, several(of.Of))}
		switch {
		case of.IsNeed():
			it.name = fmt.Sprintf("prerequisite %s (%s of %s)", of.ID, of.Kind, several(of.Of))
		case of.Kind == experiment.KindTable:
			it.name = fmt.Sprintf("group %s (table of %s)", of.ID, of.Subject())
		}
		if w.items[of.ID] = it; !of.IsNeed() {
			groups = append(groups, it)
		}
	}
	part := make([]int, len(groups))
	if w.Part.Of > 0 {
		part = Parts(w.Plan, w.Part.Of)
	}
	for i, it := range groups {
		if part[i] == max(0, w.Part.Index-1) {
			mine = append(mine, it)
		}
	}
	return mine
}

// several returns the first of several names, and how many others there are.
func several(names []string) string {
	text := names[0]
	if letters := []rune(text); len(letters) > 80 { // the names of a sweep differ at both ends
		text = string(letters[:38]) + "..." + string(letters[len(letters)-39:])
	}
	if n := len(names) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// forget removes the failures of items and of what they need.
func (w *worker) forget(items []*item) error {
	for _, it := range items {
		if err := w.Forget(it.ID); err != nil {
			return err
		}
		var needs []*item
		for _, id := range it.Needs {
			needs = append(needs, w.items[id])
		}
		if err := w.forget(needs); err != nil {
			return err
		}
	}
	return nil
}

// outcome is what became of an item that a worker tried.
type outcome int

const (
	waits outcome = iota // for prerequisites
	busy                 // another worker does it
	ended                // it is done, or it failed
)

const (
	firstPoll = 50 * time.Millisecond
	lastPoll  = 5 * time.Second
)

// loop does the pending items. Between passes it makes a prerequisite that they wait for, or
// waits for other workers.
func (w *worker) loop(ctx context.Context, pending []*item) error {
	for poll := firstPoll; ; {
		var left []*item
		worked := false
		for _, it := range pending {
			out, did, err := w.try(ctx, it)
			if err != nil {
				return err
			}
			if worked = worked || did; out != ended {
				left = append(left, it)
			}
		}
		if pending = left; len(pending) == 0 {
			return nil
		}
		if !worked {
			var err error
			if worked, err = w.prepare(ctx, pending, map[string]bool{}); err != nil {
				return err
			}
		}
		if worked {
			poll = firstPoll
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(poll):
		}
		poll = min(2*poll, lastPoll)
	}
}

// prepare makes the prerequisites of the first item that waits for one which nobody makes. It
// reports whether it made one or found that one was made or failed.
func (w *worker) prepare(ctx context.Context, items []*item, seen map[string]bool) (worked bool, err error) {
	for _, it := range items {
		for _, id := range it.Needs {
			if seen[id] {
				continue
			}
			seen[id] = true
			need := w.items[id]
			if done, err := w.done(need); done || err != nil {
				if err != nil {
					return false, err
				}
				continue
			}
			first, err := w.prepare(ctx, []*item{need}, seen)
			if err != nil {
				return false, err
			}
			out, did, err := w.try(ctx, need)
			if err != nil {
				return false, err
			}
			worked = worked || first || did || out == ended
			if w.failed[id] {
				w.failed[it.ID] = true
				break
			}
		}
		if worked {
			return true, nil
		}
	}
	return false, nil
}

// try does an item unless it is done, has failed, waits for others, or another worker does it.
func (w *worker) try(ctx context.Context, it *item) (out outcome, did bool, err error) {
	if ctx.Err() != nil {
		return out, false, context.Cause(ctx)
	}
	if done, err := w.done(it); done || err != nil {
		return ended, false, err
	}
	if ready, err := w.ready(it); !ready || err != nil {
		if w.failed[it.ID] {
			return ended, false, err
		}
		return waits, false, err
	}
	if err := w.samePlan(); err != nil {
		return out, false, err
	}
	by := w.By
	by.Started = w.Run.Clock()
	h, ok, err := w.hold(it.ID, by, w.Stale, w.now)
	if !ok || err != nil {
		return busy, false, err
	}
	defer func() { err = errors.Join(err, h.release()) }()
	if done, err := w.done(it); done || err != nil { // since it was looked at
		return ended, false, err
	}
	if err := w.Forget(it.ID); err != nil { // that it was over a smaller budget
		return out, false, err
	}
	began := w.Run.Clock()
	err = w.do(ctx, it, h)
	done, failed := w.done(it)
	switch {
	case failed != nil:
		return out, true, errors.Join(err, failed)
	case done: // by whomever
		_ = os.RemoveAll(w.AttemptsDir(it.ID)) // another worker may write there
		w.Note(fmt.Sprintf("%s: done in %s", it.name, w.Run.Clock().Sub(began).Round(100*time.Millisecond)))
		return ended, true, nil
	case err == nil: // its states were in memory, or are corrupt
		w.live = &experiment.Preparation{}
		return waits, true, nil
	case ctx.Err() != nil:
		return out, true, context.Cause(ctx)
	case isLocal(err):
		return out, true, err
	default:
		return ended, true, w.fail(it, h, err)
	}
}

// done reports whether an item is done. It moves corrupt states of a prerequisite aside: they
// are made again.
func (w *worker) done(it *item) (bool, error) {
	if w.made[it.ID] {
		return true, nil
	}
	if done, err := w.Done(it.Item); !done || err != nil || it.Kind == experiment.KindRuns {
		return done, err
	}
	for _, name := range it.States {
		err := w.shared.Check(name)
		if errors.Is(err, rundir.ErrCheckpoint) {
			aside := w.needPath(name) + ".corrupt"
			if err := os.Rename(w.needPath(name), aside); err != nil && !errors.Is(err, os.ErrNotExist) {
				return false, err
			}
			w.Note(fmt.Sprintf("%s: it is corrupt; moved to %s, and %s is made again", w.needPath(name), filepath.Base(aside), it.name))
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	w.made[it.ID] = true
	return true, nil
}

// ready reports whether an item can be done now. It marks one that has failed, or needs one that
// has.
func (w *worker) ready(it *item) (bool, error) {
	if w.failed[it.ID] {
		return false, nil
	}
	f, err := w.Failure(it.ID)
	if err != nil {
		return false, err
	}
	if f != nil && !f.continues(w.MaxTime) {
		w.failed[it.ID] = true
		return false, nil
	}
	for _, id := range it.Needs {
		need := w.items[id]
		if done, err := w.done(need); err != nil {
			return false, err
		} else if done {
			continue
		}
		if _, err := w.ready(need); err != nil {
			return false, err
		}
		w.failed[it.ID] = w.failed[id]
		return false, nil // there may be more: they are looked at after this one
	}
	return true, nil
}

// samePlan returns an error if the file of the plan holds another plan now.
func (w *worker) samePlan() error {
	info, err := os.Stat(filepath.Join(w.path, plan.File))
	if err != nil {
		return err
	}
	if w.plan != nil && os.SameFile(info, w.plan) && info.ModTime().Equal(w.plan.ModTime()) && info.Size() == w.plan.Size() {
		return nil
	}
	now, _, _, err := plan.Read(w.path, w.Plan.Version)
	if err != nil {
		return err
	}
	if now.Sum != w.Plan.Sum {
		return fmt.Errorf("%s: another plan was written here while this worker ran: start it again", filepath.Join(w.path, plan.File))
	}
	w.plan = info
	return nil
}

// clock returns the clock of the file server, which it asks once a second at most.
func (w *worker) clock() func() (time.Time, error) {
	var asked, was time.Time
	return func() (time.Time, error) {
		since := w.Run.Clock().Sub(asked)
		if !was.IsZero() && since < time.Second {
			return was.Add(since), nil
		}
		var err error
		was, err = w.Now(w.By.Worker)
		asked = w.Run.Clock()
		return was, err
	}
}

// failures returns the error of groups that failed, and of prerequisites that they need.
func (w *worker) failures(groups []*item) error {
	var all []error
	seen := map[string]bool{}
	blocked := 0
	var visit func(*item) error
	visit = func(it *item) error {
		if seen[it.ID] || !w.failed[it.ID] {
			return nil
		}
		seen[it.ID] = true
		f, err := w.Failure(it.ID)
		switch {
		case err != nil:
			return err
		case f != nil:
			all = append(all, fmt.Errorf("%s: %w on %s: %s", it.name, ErrFailed, f.Host, f.Reason))
		case !it.IsNeed():
			blocked++
		}
		for _, id := range it.Needs {
			if err := visit(w.items[id]); err != nil {
				return err
			}
		}
		return nil
	}
	for _, it := range groups {
		if err := visit(it); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	if blocked > 0 {
		text := "groups were not tried, since they need"
		if blocked == 1 {
			text = "group was not tried, since it needs"
		}
		all = append(all, fmt.Errorf("%d %s what %w", blocked, text, ErrFailed))
	}
	return errors.Join(append(all, fmt.Errorf("try again what %w with: fedsim work %s --retry", ErrFailed, w.path))...)
}
