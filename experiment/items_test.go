package experiment

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/results"
)

// Items hold each run once; made one by one in their order, they give the results of all runs
// together, and nothing that is shared is computed again.
func TestItemsMakeTheSameRuns(t *testing.T) {
	s := parsed(t, eventful)
	e := s.Experiments
	want := mustGather(t, e, Options{})
	items, err := Items(t.Context(), s, 0)
	if err != nil {
		t.Fatal(err)
	}
	for at, name := range Names(e) {
		if back, ok := Places(e)(name); !ok || back != at {
			t.Errorf("run %d is named %s, whose place is %d", at, name, back)
		}
	}
	states := map[string]bool{}
	for _, it := range items {
		for _, state := range it.States {
			states[state] = true
		}
	}
	shared := &checkpointtest.Store{}
	o := Options{Clock: time.Now, Shared: shared, Shares: func(state string) bool { return states[state] }, Preparation: &Preparation{}}
	got := map[int]results.Run{}
	groups := 0
	for i, it := range items {
		for _, n := range it.Needs {
			if n >= i {
				t.Errorf("item %d needs %d, which comes later", i, n)
			}
		}
		if it.Kind != KindRuns {
			if err := Do(t.Context(), s, it.Kind, it.Of, o); err != nil {
				t.Fatal(err)
			}
			for _, name := range it.States {
				if shared.All()[name] == nil {
					t.Errorf("%s %v: no state %s", it.Kind, it.Of, name)
				}
			}
			continue
		}
		groups++
		before := len(shared.All())
		o := o
		o.Preparation = nil
		tunings := slices.ContainsFunc(it.Needs, func(n int) bool { return items[n].Kind == KindTuning })
		o.Progress = func(p Progress) {
			if tunings && p.Phase == "tuning" {
				t.Errorf("group %v: run %s is tuned again", it.Runs, p.Run)
			}
		}
		runs, err := gatherBy(o, func(o Options) error { return Do(t.Context(), s, it.Kind, it.Of, o) })
		if err != nil || len(runs) != len(it.Runs) {
			t.Errorf("group %v has %d runs, %v", it.Runs, len(runs), err)
		}
		if now := len(shared.All()); now != before {
			t.Errorf("group %v stored %d more states: its needs were not all there", it.Runs, now-before)
		}
		for at, run := range runs {
			if _, twice := got[at]; twice || !slices.Contains(it.Runs, at) {
				t.Errorf("group %v made run %d, %s", it.Runs, at, run.ID)
			}
			got[at] = run
		}
	}
	if groups >= len(want) || groups == len(items) {
		t.Errorf("%d groups of %d runs, %d items: some runs share their computation", groups, len(want), len(items))
	}
	same(t, want, got)
}

// Tuning runs under the first seed: more seeds add no time and no problems to it. With
// tuning.seeds it runs under several, and needs their problems.
func TestTuningNeedsItsSeeds(t *testing.T) {
	tuning := func(seeds string, under int) Item {
		s := parsed(t, "[methods.mocha]\n[[experiment]]\nname = \"x\"\n[experiment.tuning]\ntarget = 1e-9\n[experiment.tune.mocha]\n\"options.epochs\" = [1, 2]\n", "run.vary=all", "run.seeds="+seeds, fmt.Sprint("experiment.x.tuning.seeds=", under))
		g := newGrouping(newRunner(t.Context(), nil, Options{}, mostRecorded))
		if err := g.addAll(g.jobs(s.Experiments)); err != nil {
			t.Fatal(err)
		}
		need := g.needs[slices.IndexFunc(g.needs, func(n Item) bool { return n.Kind == KindTuning })]
		shared := &checkpointtest.Store{}
		if err := Do(t.Context(), s, need.Kind, need.Of, Options{Clock: time.Now, Shared: shared}); err != nil {
			t.Fatal(err)
		}
		if n := len(shared.All()); n != 1+under || len(need.Needs) != under || shared.All()[need.States[0]] == nil { // the tuning and optima
			t.Errorf("%d states, %d needs", n, len(need.Needs))
		}
		return need
	}
	one, three := tuning("[1]", 1), tuning("[1, 2, 3]", 1)
	if one.Cost != three.Cost {
		t.Errorf("costs %v, with more seeds %v", one.Cost, three.Cost)
	}
	if several := tuning("[1, 2, 3]", 3); several.Cost.Seconds < 2*one.Cost.Seconds {
		t.Errorf("costs %v, under three seeds %v", one.Cost, several.Cost)
	}
}
