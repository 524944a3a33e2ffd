package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
)

// resumable has grids that grow below and above, under one seed and under two, with trials that are given up.
const resumable = `
seeds = [3, 1]
[devices]
clock_ghz = 0.001
[methods.mocha]
[methods.mb-sdca]
[[experiment]]
name = "one"
methods = ["mocha"]
sweep = { "network.profile" = ["wifi", "3g"] }
tuning = { target = { suboptimality = 0.05 }, extend = 2 }
[experiment.tune.mocha]
"options.epochs" = [16, 32]
[[experiment]]
name = "two"
tuning = { target = { suboptimality = 0.05 }, extend = 2, seeds = 2 }
[experiment.tune.mocha]
"options.epochs" = [16, 64, 32]
[experiment.tune.mb-sdca]
"options.beta" = [1, 1.5]
`

// disk is a store of checkpoints that has room for some of them.
type disk struct {
	checkpointtest.Store
	room atomic.Int64 // of saves
}

func (d *disk) Save(name string, fill func(io.Writer) error) error {
	if d.room.Add(-1) < 0 {
		return checkpointtest.ErrFull
	}
	return d.Store.Save(name, fill)
}

// tuningRuns are the runs of trials that a session began and ended before it was stopped.
type tuningRuns struct {
	began, ended map[string]bool
	stopped      bool
}

// interruptible runs experiments until a run ends that stop returns true for, and adds the results to those before.
func interruptible(t *testing.T, e []scenario.Experiment, o Options, runs map[string]results.Run,
	stop func(ended int, p Progress) bool) (seen tuningRuns, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen = tuningRuns{began: map[string]bool{}, ended: map[string]bool{}}
	var mu sync.Mutex
	before := map[string]bool{}
	for id := range runs {
		before[id] = true
	}
	o.Clock = time.Now
	o.Progress = func(p Progress) {
		expect.That(t, p.Done <= p.Total && p.Before <= p.Share+1e-9, "progress: %+v", p)
		if p.Phase == "tuning" && !seen.stopped {
			if seen.began[p.Run] = true; math.IsNaN(p.TimeS) {
				seen.ended[p.Run] = true
			}
		}
		if !seen.stopped && stop != nil && stop(len(seen.ended), p) {
			seen.stopped = true
			cancel()
		}
	}
	o.Recorder = &recordtest.Recorder{Had: func(id string) bool { return before[id] },
		End: func(_ int, r results.Run) error {
			mu.Lock()
			defer mu.Unlock()
			if r.Status != results.Interrupted {
				runs[r.ID] = r
			}
			return nil
		}}
	return seen, Run(ctx, e, o)
}

// A tuning is interrupted after each of its runs, in some of the ways. Resumed, it makes only the runs that are left,
// and ends with the results of an uninterrupted one. Runs save no checkpoints meanwhile.
func TestResumedTuningsDoOnlyWhatIsLeft(t *testing.T) {
	e := parse(t, resumable)
	want := map[string]results.Run{}
	all := expect.Value(interruptible(t, e, Options{Workers: 1}, want, nil))(t)
	grids := tune(t, e, Options{})
	grown, given := 0, 0
	for i := range grids {
		grown += len(grids[i].Trials) - grids[i].Listed
		for k := range grids[i].Trials {
			if grids[i].Trials[k].GivenUp {
				given++
			}
		}
	}
	if n := len(all.ended); grown < 3 || given == 0 || n < 15 {
		t.Fatalf("%d runs, %d trials added, %d given up: too few for this test", n, grown, given)
	}
	policy := func(store checkpoint.Store, clock func() time.Time) CheckpointPolicy {
		return CheckpointPolicy{Store: store, Every: time.Hour, Clock: clock}
	}
	step := 4 // the ways and numbers of workers begin apart
	if racetest.Enabled() {
		step = 20
	} else if testing.Short() {
		step = 7
	}
	for _, workers := range []int{1, 2} {
		for i, how := range []string{"interrupted", "interrupted in the next run", "killed", "full"} {
			for k := 1 + (i+workers-1)%step; k <= len(all.ended)+1; k += step {
				next := func(ended int, p Progress) bool {
					return ended >= k && p.Phase == "tuning" && !math.IsNaN(p.TimeS) || p.Phase == "running"
				}
				at := func(ended int, p Progress) bool { return ended == k || p.Phase == "running" }
				t.Run(fmt.Sprintf("%s after %d, %d workers", how, k, workers), func(t *testing.T) {
					store, runs := &disk{}, map[string]results.Run{}
					store.room.Store(math.MaxInt64)
					clock := leaping() // each run of a trial takes a second
					if strings.HasPrefix(how, "interrupted") || k > len(all.ended) {
						clock = func() time.Time { return time.Unix(0, 0) } // only ends are saved
					}
					o := Options{Workers: workers, Checkpoints: policy(store, clock)}
					var left map[string][]byte
					stop := at
					lost := 0 // runs that may have ended without being saved
					switch how {
					case "interrupted in the next run":
						stop = next
					case "killed": // the store is that of the moment when the next run begins
						lost = workers - 1
						stop = func(ended int, p Progress) bool {
							now := next(ended, p)
							if now {
								left = store.All()
							}
							return now
						}
					case "full":
						lost, stop = workers, nil
						store.room.Store(int64(k))
					}
					first, err := interruptible(t, e, o, runs, stop)
					switch {
					case how == "full" && err == nil && k >= len(all.ended):
						return // there was room enough
					case how == "full" && !errors.Is(err, checkpointtest.ErrFull) || how != "full" && !Interrupted(err):
						t.Fatal(err)
					case how == "killed":
						clear(runs)
						store = &disk{}
						for name, content := range left {
							store.Put(name, content)
						}
						o.Checkpoints = policy(store, clock)
					}
					store.room.Store(math.MaxInt64)
					second, err := interruptible(t, e, o, runs, nil)
					expect.NoError(t, err)
					again := 0
					for id := range first.ended {
						if second.began[id] {
							again++
						}
					}
					expect.That(t, again <= lost, "%d of %d ended runs are made again", again, len(first.ended))
					expect.Must(t, len(runs) == len(want), "%d runs, want %d", len(runs), len(want))
					for id := range want {
						a, b := runs[id], want[id]
						if text(a) != text(b) || !reflect.DeepEqual(a.Edges, b.Edges) || a.Trials != b.Trials ||
							!reflect.DeepEqual(a.Searched, b.Searched) {
							t.Errorf("%s differs", id)
						}
					}
				})
			}
		}
	}
}
