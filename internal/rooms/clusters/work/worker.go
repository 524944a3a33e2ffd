package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fedsim/experiment"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/quote"
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

	Stale time.Duration // the age of a claim that is taken over; 0: StaleAfter

	watch func(*experiment.Options) // changes the options of the runs of a group in tests; nil: nothing
}

// ErrFailed is wrapped by the error of Work if an item has failed.
var ErrFailed = errors.New("failed")

// worker does the items of a plan.
type worker struct {
	*View
	Options
	at     map[string]int  // the places of items in the plan, by ID
	shares map[string]bool // the files of the states of all items
	shared shared
	live   *experiment.Preparation

	right map[string]bool      // items whose states were read and are not corrupt
	aside string               // the ID of a group that cannot be done on this machine; empty: none
	local error                // the reason
	beats map[string]time.Time // the heartbeats of other workers that were seen first, by ID of their items
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
		View: d.View(o.Run.Clock), Options: o, at: map[string]int{}, shares: map[string]bool{},
		shared: shared{d.Shared(), filepath.Join(d.path, needsDir)}, live: &experiment.Preparation{},
		right: map[string]bool{}, beats: map[string]time.Time{},
	}
	w.stale = cmp.Or(o.Stale, StaleAfter)
	if w.Note == nil {
		w.Note = func(string) {}
	}
	for i := range d.Plan.Items {
		w.at[d.Plan.Items[i].ID] = i
		for _, name := range d.Plan.Items[i].States {
			w.shares[name] = true
		}
	}
	if o.Retry {
		if err := w.View.Retry(); err != nil {
			return err
		}
	}
	return w.loop(ctx)
}

const (
	firstPoll = 50 * time.Millisecond
	lastPoll  = 5 * time.Second
)

// loop does one item after the other. Without one that it can do, it waits for other workers.
func (w *worker) loop(ctx context.Context) error {
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		s, err := w.State()
		if err != nil {
			return err
		}
		pending, err := w.pending(s)
		if err != nil {
			return err
		}
		if len(pending) == 0 {
			return errors.Join(w.local, w.failures(s))
		}
		tried := false
		for _, item := range pending {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if item.Condition == Running || len(item.WaitsFor) > 0 {
				continue
			}
			if tried, err = w.try(ctx, item); err != nil {
				return err
			}
			if tried {
				break
			}
		}
		switch {
		case tried:
			poll = firstPoll / 2
			continue
		case w.NoWait && w.othersLive(pending):
			return w.local
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}

// othersLive reports whether others work on all items, and have written a heartbeat on each since it
// was seen first.
func (w *worker) othersLive(items []*Item) bool {
	live := true
	for _, item := range items {
		c, err := w.Claim(item.ID)
		if item.Condition != Running || c == nil || err != nil {
			return false
		}
		first, seen := w.beats[item.ID]
		if !seen {
			w.beats[item.ID] = c.written
		}
		live = live && seen && c.written.After(first)
	}
	return live
}

// pending returns the groups that are neither done nor failed, and before each what it needs. An item
// whose states are corrupt is not done. Workers begin with different groups.
func (w *worker) pending(s *State) (all []*Item, err error) {
	seen := map[string]bool{}
	var add func(id string)
	add = func(id string) {
		item := &s.Items[w.at[id]]
		if seen[id] || item.Condition == Failed || w.aside == id || err != nil {
			return
		}
		seen[id] = true
		if item.Condition == Done {
			var right bool
			if right, err = w.check(id); right || err != nil {
				return
			}
			item.Condition = Waiting
		}
		for _, need := range w.Plan.Items[w.at[id]].Needs {
			add(need)
			if s.Items[w.at[need]].Condition != Done {
				item.WaitsFor = append(item.WaitsFor, need)
			}
		}
		all = append(all, item)
	}
	hash := fnv.New32a()
	hash.Write([]byte(w.By.Worker))
	groups := w.Plan.Groups()
	for i := range groups {
		add(groups[(i+int(hash.Sum32()>>2))%len(groups)].ID)
	}
	return all, err
}

// try does an item. It reports false if another worker does it.
func (w *worker) try(ctx context.Context, item *Item) (tried bool, err error) {
	it := &w.Plan.Items[w.at[item.ID]]
	l, ok, err := w.acquire(it.ID, w.By, w.stale, w.fileTime)
	if !ok || err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	if done, err := w.Done(it); done || err != nil { // since it was looked at
		return true, err
	}
	began := w.Run.Clock()
	err = w.do(ctx, it, l)
	done, failed := w.Done(it)
	switch {
	case failed != nil:
		return true, errors.Join(err, failed)
	case done: // by whomever
		_ = os.RemoveAll(w.AttemptsDir(it.ID)) // another worker may write there
		w.note(item, "done in "+w.Run.Clock().Sub(began).Round(100*time.Millisecond).String())
	case errors.Is(err, errTaken):
	case err == nil: // its states were in memory
		w.live = &experiment.Preparation{}
	case ctx.Err() != nil:
		return true, context.Cause(ctx)
	case isLocal(err):
		if w.local != nil || it.IsNeed() { // a second one, or others wait for it
			return true, cmp.Or(w.local, err)
		}
		w.aside, w.local = it.ID, err
	default:
		l.claim.Failure = quote.Line(err.Error())
		w.note(item, "failed: "+l.claim.Failure)
	}
	return true, nil
}

// check reports whether the states of an item that is done are right. It moves corrupt ones aside: they
// are made again.
func (w *worker) check(id string) (bool, error) {
	if w.right[id] {
		return true, nil
	}
	for _, name := range w.Plan.Items[w.at[id]].States {
		err := w.shared.Check(name)
		if errors.Is(err, rundir.ErrCheckpoint) {
			path := w.statePath(name)
			if err := os.Rename(path, path+".corrupt"); err != nil && !errors.Is(err, os.ErrNotExist) {
				return false, err
			}
			w.Note(fmt.Sprintf("%s: it is corrupt; moved to %s.corrupt, and made again", path, filepath.Base(path)))
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	w.right[id] = true
	return true, nil
}

// failures returns an error that counts the failed items and has the first reason.
func (w *worker) failures(s *State) error {
	i := slices.IndexFunc(s.Items, func(item Item) bool { return item.Condition == Failed })
	if i < 0 || s.Complete() {
		return nil
	}
	return fmt.Errorf(
		"%s and %s %w, first %s on %s: %s: \"fedsim show %s\" lists all; try again with: fedsim plan work %s --retry",
		columns.Count(s.Groups.Failed, "group"), columns.Count(s.Needs.Failed, "prerequisite"), ErrFailed,
		named(&s.Items[i]), s.Items[i].Host, s.Items[i].Reason, quote.Shell(w.path), quote.Shell(w.path))
}

// note reports the end of an item.
func (w *worker) note(item *Item, what string) { w.Note(named(item) + ": " + what) }

// named names an item for people.
func named(item *Item) string { return fmt.Sprintf("%s %s (%s)", item.Kind, item.ID, item.Title()) }
