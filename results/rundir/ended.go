package rundir

import (
	"cmp"
	"fmt"
	"slices"

	"fedsim/results"
)

// endedRun is a run that a log or a writer has: one that has ended, or in a log one under way.
type endedRun struct {
	results.Run
	place int        // in the scenario
	rows  storedRows // empty while it is under way
}

// endedRuns are the runs of a writer that have ended.
type endedRuns struct {
	list []*endedRun // in the order of the scenario, unless taking has added some
	ids  map[string]bool
}

// add adds a run, whose place and ID must be free.
func (e *endedRuns) add(run *endedRun) error {
	at, taken := slices.BinarySearchFunc(e.list, run.place,
		func(x *endedRun, place int) int { return cmp.Compare(x.place, place) })
	if taken {
		return fmt.Errorf("run %q: place %d is taken by run %q", run.ID, run.place, e.list[at].ID)
	}
	if e.ids[run.ID] {
		return fmt.Errorf("run %q: must be there once", run.ID)
	}
	e.list = slices.Insert(e.list, at, run)
	e.note(run.ID)
	return nil
}

// append adds a run behind all others.
func (e *endedRuns) append(run *endedRun) {
	e.list = append(e.list, run)
	e.note(run.ID)
}

// note records the ID of a run.
func (e *endedRuns) note(id string) {
	if e.ids == nil {
		e.ids = map[string]bool{}
	}
	e.ids[id] = true
}

// sort orders the runs as in the scenario.
func (e *endedRuns) sort() {
	slices.SortFunc(e.list, func(a, b *endedRun) int { return cmp.Compare(a.place, b.place) })
}

// runs returns the runs in their order.
func (e *endedRuns) runs() []results.Run {
	var runs []results.Run
	for _, run := range e.list {
		runs = append(runs, run.Run)
	}
	return runs
}
