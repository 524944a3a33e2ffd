package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"time"

	"fedsim/experiment"
	"fedsim/internal/clusters/plan"
	"fedsim/results/rundir"
)

// Options set how a worker works. They do not change results.
type Options struct {
	Retry  bool         // try again what failed
	NoWait bool         // return when living workers do all that is left
	By     Claim        // who works: Worker, Host and Process
	About  rundir.About // of the scenario, for attempts

	// Run sets how items are computed: Workers, Queue, Memory, Stderr and Clock, which is required,
	// and Every and Clock of Checkpoints; without that clock, there are no checkpoints.
	Run experiment.Options

	// Note receives a line about each item that ends, and what the user should know; nil: none.
	Note func(string)

	DataFolder string // of the data sets of tables

	Stale time.Duration // the age of a claim that is taken over; 0: StaleAfter

	watch func(*experiment.Options) // changes the options of the runs of a group in tests; nil: nothing
}

// ErrFailed is wrapped by the error of Work if an item has failed. The error has a line for each.
var ErrFailed = errors.New("failed")

// worker does the items of a plan.
type worker struct {
	*Dir
	Options
	items  map[string]*plan.Item
	shares map[string]bool // the files of the states of all items
	shared shared
	live   *experiment.Preparation
	clock  *serverClock

	made   map[string]bool      // prerequisites whose states were there and right
	failed map[string]bool      // items that failed, or need one that did
	aside  string               // the ID of a group that cannot be done on this machine; empty: none
	local  error                // the reason
	beats  map[string]time.Time // the heartbeats of other workers that were seen first, by ID of their items
}

// Work does the groups that are not done, and the prerequisites that they need. It returns when all
// are done or have failed. When ctx ends, it saves checkpoints, and the error wraps that of ctx. An
// error that an item does not cause, such as a full disk, leaves the item to others; the second one
// ends the worker.
func (d *Dir) Work(ctx context.Context, o Options) error {
	for _, folder := range folders {
		if err := os.MkdirAll(filepath.Join(d.path, folder), 0o777); err != nil {
			return err
		}
	}
	w := &worker{
		Dir: d, Options: o, items: map[string]*plan.Item{},
		shares: map[string]bool{}, shared: shared{d.Shared(), filepath.Join(d.path, needsDir)}, live: &experiment.Preparation{},
		clock: d.clock(o.By.Worker, o.Run.Clock),
		made:  map[string]bool{}, failed: map[string]bool{}, beats: map[string]time.Time{},
	}
	if w.Stale == 0 {
		w.Stale = StaleAfter
	}
	if w.Note == nil {
		w.Note = func(string) {}
	}
	for i := range d.Plan.Items {
		it := &d.Plan.Items[i]
		w.items[it.ID] = it
		for _, name := range it.States {
			w.shares[name] = true
		}
	}
	if o.Retry {
		for id := range w.items {
			if err := d.Forget(id); err != nil {
				return err
			}
		}
	}
	if err := w.loop(ctx); err != nil {
		return err
	}
	return w.failures()
}

// outcome is what became of an item that a worker tried.
type outcome int

const (
	waits outcome = iota // it needs what is not done
	busy                 // another worker does it
	tried                // this worker has worked on it
	ended                // it was done, or it has failed
)

const (
	firstPoll = 50 * time.Millisecond
	lastPoll  = 5 * time.Second
)

// loop does what is pending. After a pass without work it waits for other workers.
func (w *worker) loop(ctx context.Context) error {
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		pending, err := w.pending()
		if len(pending) == 0 || err != nil {
			return errors.Join(err, w.local)
		}
		var count [ended + 1]int
		for _, it := range pending {
			out, err := w.try(ctx, it)
			if err != nil {
				return err
			}
			count[out]++
		}
		switch {
		case count[tried]+count[ended] > 0:
			poll = firstPoll / 2
			continue
		case w.NoWait && count[waits] == 0 && w.othersLive(pending):
			return w.local
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}

// othersLive reports whether the workers of all items have written a heartbeat since they were seen
// first.
func (w *worker) othersLive(items []*plan.Item) bool {
	live := true
	for _, it := range items {
		c, err := w.Claim(it.ID)
		if c == nil || err != nil {
			return false
		}
		first, seen := w.beats[it.ID]
		if !seen {
			w.beats[it.ID] = c.written
		}
		live = live && seen && c.written.After(first)
	}
	return live
}

// pending returns the groups that are neither done nor failed, and before each what it needs.
// Workers begin with different groups.
func (w *worker) pending() (all []*plan.Item, err error) {
	seen := map[string]bool{}
	var add func(it *plan.Item) error
	add = func(it *plan.Item) error {
		if seen[it.ID] || w.failed[it.ID] || w.aside == it.ID {
			return nil
		}
		seen[it.ID] = true
		if done, err := w.done(it); done || err != nil {
			return err
		}
		for _, id := range it.Needs {
			if err := add(w.items[id]); err != nil {
				return err
			}
		}
		all = append(all, it)
		return nil
	}
	hash := fnv.New32a()
	hash.Write([]byte(w.By.Worker))
	groups := w.Plan.Groups()
	for i := range groups {
		if err := add(groups[(i+int(hash.Sum32()>>2))%len(groups)]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// try does an item unless it is done, has failed, waits for others, or another worker does it.
func (w *worker) try(ctx context.Context, it *plan.Item) (out outcome, err error) {
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	if ready, err := w.ready(it); !ready || err != nil {
		if w.failed[it.ID] {
			return ended, err
		}
		return waits, err
	}
	by := w.By
	by.Started = w.Run.Clock()
	l, ok, err := w.acquire(it.ID, by, w.Stale, w.clock.now)
	if !ok || err != nil {
		return busy, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	if done, err := w.done(it); done || err != nil { // since it was looked at
		return ended, err
	}
	began := w.Run.Clock()
	err = w.do(ctx, it, l)
	done, failed := w.done(it)
	switch {
	case failed != nil:
		return tried, errors.Join(err, failed)
	case done: // by whomever
		_ = os.RemoveAll(w.AttemptsDir(it.ID)) // another worker may write there
		w.Note(fmt.Sprintf("%s: done in %s", nameOf(it), w.Run.Clock().Sub(began).Round(100*time.Millisecond)))
	case errors.Is(err, errTaken):
		return busy, nil
	case err == nil: // its states were in memory, or are corrupt
		w.live = &experiment.Preparation{}
	case ctx.Err() != nil:
		return tried, context.Cause(ctx)
	case isLocal(err):
		if w.local != nil || it.IsNeed() { // a second one, or others wait for it
			return tried, cmp.Or(w.local, err)
		}
		w.aside, w.local = it.ID, err
	default:
		w.fail(it, l, err)
	}
	return tried, nil
}

// done reports whether an item is done. It moves corrupt states of a prerequisite aside: they
// are made again.
func (w *worker) done(it *plan.Item) (bool, error) {
	if w.made[it.ID] {
		return true, nil
	}
	if done, err := w.Done(it); !done || err != nil {
		return false, err
	}
	for _, name := range it.States {
		err := w.shared.Check(name)
		if errors.Is(err, rundir.ErrCheckpoint) {
			aside := w.statePath(name) + ".corrupt"
			if err := os.Rename(w.statePath(name), aside); err != nil && !errors.Is(err, os.ErrNotExist) {
				return false, err
			}
			w.Note(fmt.Sprintf("%s: it is corrupt; moved to %s, and %s is made again", w.statePath(name), filepath.Base(aside), nameOf(it)))
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
func (w *worker) ready(it *plan.Item) (bool, error) {
	last, err := w.Ended(it.ID)
	if err != nil {
		return false, err
	}
	if last != nil && last.Failure != "" {
		w.failed[it.ID] = true
		return false, nil
	}
	ready := true
	for _, id := range it.Needs {
		done, err := w.done(w.items[id])
		if err != nil {
			return false, err
		}
		ready = ready && done
		w.failed[it.ID] = w.failed[it.ID] || w.failed[id]
	}
	return ready, nil
}

// failures returns the error of what failed.
func (w *worker) failures() error {
	var all []error
	blocked := 0
	for i := range w.Plan.Items {
		it := &w.Plan.Items[i]
		if !w.failed[it.ID] {
			continue
		}
		switch last, err := w.Ended(it.ID); {
		case err != nil:
			return err
		case last != nil && last.Failure != "":
			all = append(all, fmt.Errorf("%s: %w on %s: %s", nameOf(it), ErrFailed, last.Host, last.Failure))
		case !it.IsNeed():
			blocked++
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

// nameOf names an item for people.
func nameOf(it *plan.Item) string {
	if !it.IsNeed() {
		return fmt.Sprintf("group %s (%s)", it.ID, several(it))
	}
	return fmt.Sprintf("prerequisite %s (%s of %s)", it.ID, it.Kind, several(it))
}

// several returns the first name of what an item is of, and how many others there are.
func several(it *plan.Item) string {
	if it.Kind == experiment.KindTable {
		return it.Of[0] + ", " + it.Of[1]
	}
	text := it.Of[0]
	if letters := []rune(text); len(letters) > 80 { // the names of a sweep differ at both ends
		text = string(letters[:38]) + "..." + string(letters[len(letters)-39:])
	}
	if n := len(it.Of) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
