package experiment

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// Items hold each run once; made one by one in their order, they give the results of all runs
// together, and nothing that is shared is computed again.
func TestItemsMakeTheSameRuns(t *testing.T) {
	s := parsed(t, eventful)
	e := s.Experiments
	want := mustGather(t, e, Options{})
	items := expect.Value(Items(t.Context(), s, 0, nil))(t)
	for at, name := range Names(e) {
		back, ok := Places(e)(name)
		expect.That(t, ok && back == at, "run %d is named %s, whose place is %d", at, name, back)
	}
	states := map[string]bool{}
	for _, it := range items {
		for _, state := range it.States {
			states[state] = true
		}
	}
	shared := &checkpointtest.Store{}
	o := Options{Clock: time.Now}
	with := Shared{Store: shared, Needs: func(state string) bool { return states[state] }, Preparation: &Preparation{}}
	got := map[int]results.Run{}
	groups := 0
	for i, it := range items {
		for _, n := range it.Needs {
			expect.That(t, n < i, "item %d needs %d, which comes later", i, n)
		}
		if it.Kind != KindRuns {
			expect.NoError(t, Do(t.Context(), s, it.Kind, it.Of, o, with))
			for _, name := range it.States {
				expect.That(t, shared.All()[name] != nil, "%s %v: no state %s", it.Kind, it.Of, name)
			}
			continue
		}
		groups++
		before := len(shared.All())
		o := o
		with := with
		with.Preparation = nil
		tunings := slices.ContainsFunc(it.Needs, func(n int) bool { return items[n].Kind == KindTuning })
		o.Progress = func(p Progress) {
			expect.That(t, !tunings || p.Phase != "tuning", "group %v: run %s is tuned again", it.Runs, p.Run)
		}
		runs, err := gatherBy(o, func(o Options) error { return Do(t.Context(), s, it.Kind, it.Of, o, with) })
		expect.That(t, err == nil && len(runs) == len(it.Runs), "group %v has %d runs, %v", it.Runs, len(runs), err)
		if now := len(shared.All()); now != before {
			t.Errorf("group %v stored %d more states: its needs were not all there", it.Runs, now-before)
		}
		for at, run := range runs {
			_, twice := got[at]
			expect.That(t, !twice && slices.Contains(it.Runs, at), "group %v made run %d, %s", it.Runs, at, run.ID)
			got[at] = run
		}
	}
	expect.That(t, groups < len(want) && groups != len(items),
		"%d groups of %d runs, %d items: some runs share their computation", groups, len(want), len(items))
	same(t, want, got)
}

// Tuning runs under the first seed: more seeds add no time and no problems to it. With
// tuning.seeds it runs under several, and needs their problems.
func TestTuningNeedsItsSeeds(t *testing.T) {
	tuning := func(seeds string, under int) Item {
		s := parsed(t,
			"[methods.mocha]\n[[experiment]]\nname = \"x\"\n[experiment.tuning]\ntarget = { suboptimality = 1e-9 }\n"+
				"[experiment.tune.mocha]\n\"options.epochs\" = [1, 2]\n", "run.vary=all", "run.seeds="+seeds,
			fmt.Sprint("experiment.x.tuning.seeds=", under))
		g := newGrouping(newRunner(t.Context(), nil, Options{}, mostRecorded))
		expect.NoError(t, g.addAll(g.jobs(s.Experiments)))
		need := g.needs[slices.IndexFunc(g.needs, func(n Item) bool { return n.Kind == KindTuning })]
		shared := &checkpointtest.Store{}
		expect.NoError(t, Do(t.Context(), s, need.Kind, need.Of, Options{Clock: time.Now}, Shared{Store: shared}))
		// the tuning and optima
		if n := len(shared.All()); n != 1+under || len(need.Needs) != under || shared.All()[need.States[0]] == nil {
			t.Errorf("%d states, %d needs", n, len(need.Needs))
		}
		return need
	}
	one, three := tuning("[1]", 1), tuning("[1, 2, 3]", 1)
	expect.That(t, one.Cost == three.Cost, "costs %v, with more seeds %v", one.Cost, three.Cost)
	several := tuning("[1, 2, 3]", 3)
	expect.That(t, several.Cost.Seconds >= 2*one.Cost.Seconds, "costs %v, under three seeds %v", one.Cost, several.Cost)
}
