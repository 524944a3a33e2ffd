package experiment

import (
	"sync"
	"testing"

	"fedsim/engine"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/internal/tools/expect"
)

// rounds is a journal that counts the rounds of a run.
type rounds struct{ closed, spent int }

func (r *rounds) Note(e federation.Entry) {
	switch {
	case e.Kind == federation.RoundEnded && e.Device == engine.Server:
		r.closed++
	case e.Kind == federation.EnergyUsed:
		r.spent++
	}
}

// A journal is asked for once for each run, and for no candidate of a tuning, with
// the run that was chosen. It sees every round, of runs over a recording too, and
// changes nothing.
func TestJournalsOfRuns(t *testing.T) {
	e := parse(t, tuned)
	want := mustGather(t, e, Options{Workers: 2})
	var mu sync.Mutex
	seen := map[string]*rounds{}
	got := mustGather(t, e, Options{Workers: 2, Journal: func(run *scenario.RunSpec, devices int) federation.Journal {
		mu.Lock()
		defer mu.Unlock()
		expect.That(t, seen[run.ID] == nil && devices == 5, "%s was asked twice, or has %d devices", run.ID, devices)
		seen[run.ID] = &rounds{}
		if run.Algorithm == "cocoa" {
			return nil
		}
		return seen[run.ID]
	}})
	expect.That(t, len(seen) == len(want), "%d journals for %d runs", len(seen), len(want))
	for i, r := range got {
		expect.That(t, r.EventHash == want[i].EventHash && r.ModelHash == want[i].ModelHash,
			"a journal changes %s", r.ID)
		n := len(r.Rounds) - 1
		if r.Algorithm == "cocoa" {
			n = 0
		}
		s := seen[r.ID]
		expect.That(t, s != nil && s.closed == n && s.spent == 5*n, "%s has %d rounds: the journal saw %+v", r.ID, n, s)
	}
}
