package experiment

import (
	"math"
	"sync"
	"testing"
	"time"

	"fedsim/results"
	"fedsim/scenarios"
)

const estimated = `
[data.synthetic]
tasks = 3
features = 4
rows_min = 8
rows_max = 12
[run]
rounds = 500
seeds = [1, 2]
[methods.mocha]
[methods.cocoa]
`

// ticking is a clock that advances by a step at every call.
func ticking(step time.Duration) func() time.Time {
	var mu sync.Mutex
	now := time.Unix(1e9, 0)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(step)
		return now
	}
}

// runEstimated runs a scenario with a clock that advances by a step at every call. It
// returns the estimates and the hashes of the runs.
func runEstimated(t *testing.T, text string, step time.Duration, ask bool) (got []Estimate, hashes map[string][2]uint64) {
	t.Helper()
	s, err := scenarios.Parse("x.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	hashes = map[string][2]uint64{}
	o := Options{Workers: 1, Clock: ticking(step), Finished: func(_ int, run results.Run) error {
		hashes[run.ID] = [2]uint64{run.EventHash, run.ModelHash}
		return nil
	}}
	if ask {
		o.Estimate = func(e Estimate) { got = append(got, e) }
	}
	if err := Run(t.Context(), s.Experiments, o); err != nil {
		t.Fatal(err)
	}
	return got, hashes
}

// A clock that is looked at once a round makes rounds of 10 ms: the estimate is exact.
func TestEstimatesAddUp(t *testing.T) {
	got, with := runEstimated(t, estimated, 10*time.Millisecond, true)
	const want = 2 * 2 * (0.01 + 500*0.01) // seconds: methods x seeds x (beginning + rounds)
	if len(got) != 1 || math.Abs(got[0].Time.Seconds()-want) > 1e-6 || got[0].AtMost {
		t.Errorf("%v, want %g s", got, want)
	}
	_, without := runEstimated(t, estimated, 10*time.Millisecond, false)
	for id, hashes := range without {
		if with[id] != hashes {
			t.Errorf("%s: an estimate changes its results", id)
		}
	}
	// Tuning runs every candidate once more; which of them wins is not known.
	tuned := estimated + `
[[experiment]]
name = "tuned"
methods = ["mocha"]
[experiment.tune.mocha]
"options.epochs" = [1, 2, 3]
`
	got, _ = runEstimated(t, tuned, 10*time.Millisecond, true)
	if want := (3 + 2) * (0.01 + 500*0.01); len(got) != 1 || math.Abs(got[0].Time.Seconds()-want) > 1e-6 || !got[0].AtMost {
		t.Errorf("tuned: %v, want %g s at most", got, want)
	}
}

// Nothing is estimated when a method was not timed, or when there is only one.
func TestEstimatesAreHonest(t *testing.T) {
	if got, _ := runEstimated(t, estimated, 2*time.Second, true); len(got) != 0 {
		t.Errorf("the second method was not timed, and yet %v", got)
	}
	if got, _ := runEstimated(t, estimated+"\n[[experiment]]\nname = \"one\"\nmethods = [\"mocha\"]\n", 10*time.Millisecond, true); len(got) != 0 {
		t.Errorf("one method alone: %v", got)
	}
	// One that was not timed takes as long as the others of its method.
	job := &job{Job: &scenarios.Job{Candidates: make([]scenarios.Run, 2)}, Grid: Grid{Experiment: "e", Method: "m"}}
	run := &scenarios.Run{}
	run.Settings.Run.Rounds, run.Settings.Run.Outer = 10, 2
	e, ok := total([]timing{{job, run, 1, time.Second, 3 * time.Second}, {job: job, run: run, count: 4}}, 2)
	if want := 5 * 61 * time.Second / 2; !ok || e.Time != want || !e.AtMost {
		t.Errorf("%v, %v: want %v", e, ok, want)
	}
}
