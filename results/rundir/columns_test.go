package rundir

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/results"
)

// The tables and the log have every column of a round: known values, and unknown
// ones.
func TestEveryColumnOfARoundIsStored(t *testing.T) {
	var known results.Round
	for i := range results.RoundColumns {
		c := &results.RoundColumns[i]
		if c.Type() == results.WholeType {
			c.Set(&known, results.Whole(int64(i)+1))
		} else {
			c.Set(&known, results.Real(float64(i)+0.5))
		}
	}
	run := results.Run{ID: "a", Experiment: "a", Method: "a", Algorithm: "mocha", Status: results.Done,
		Rounds: []results.Round{results.NewRound(), known}}
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	defer w.Discard()
	tell := startRun(w, 0, run)
	for _, r := range run.Rounds {
		tell(r)
	}
	if err := w.log.sync(); err != nil {
		t.Fatal(err)
	}
	live, err := ReadLive(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	finished := readDir(t, writeDir(t, []results.Run{run}))
	for name, runs := range map[string][]results.Run{"log": live.Runs, "tables": finished.Runs} {
		if d := cmp.Diff(run.Rounds, runs[0].Rounds, sameBits); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
