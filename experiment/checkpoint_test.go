package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
)

// eventful has tuned methods, shared recordings, timing mode, updates of the coupling
// and an asynchronous server.
const eventful = `
[methods.mocha]
options.epochs = 2
[methods.cocoa]
options = { theta = 0.3, max_epochs = 0.5 }
[methods.fedbuff]
protocol = "asynchronous"
[[experiment]]
name = "coupled"
methods = ["mocha", "fedbuff"]
set = { "run.outer" = 2, "run.rounds" = 8, "run.max_time_s" = 1e6, "run.seeds" = [1, 2], "faults.drop_probability" = 0.2, "problem.regularizer" = "probabilistic" }
[[experiment]]
name = "shared"
methods = ["cocoa"]
set = { "run.rounds" = 10 }
sweep = { "network.profile" = ["wifi", "lte"] }
[[experiment]]
name = "timed"
methods = ["mocha"]
set = { "run.mode" = "timing", "run.rounds" = 5 }
[[experiment]]
name = "tuned"
methods = ["mocha", "cocoa"]
set = { "run.rounds" = 12 }
[experiment.tuning]
target = { suboptimality = 1e-2 }
[experiment.tune.mocha]
"options.epochs" = [1, 4, 2]
[experiment.tune.cocoa]
"options.theta" = [0.8, 0.3]
`

// leaping is a clock that advances by a second at every call.
func leaping() func() time.Time {
	var seconds atomic.Int64
	return func() time.Time { return time.Unix(seconds.Add(1), 0) }
}

// resumed runs experiments, interrupts them after some reports of progress and resumes
// them until they are complete. It returns the runs.
func resumed(t interface{ Fatal(...any) }, ctx context.Context, e []scenario.Experiment, patience func() int,
	o Options) map[int]results.Run {
	store := &checkpointtest.Store{}
	finished := map[int]results.Run{}
	had := map[string]bool{}
	var recorder recordtest.Recorder
	if o.Recorder != nil {
		recorder = *o.Recorder.(*recordtest.Recorder)
	}
	o.Recorder = &recorder
	for range 200 {
		inner, cancel := context.WithCancel(ctx)
		left := patience()
		o.Checkpoints.Store, o.Checkpoints.Clock = store, leaping()
		o.Clock = time.Now
		last := Progress{}
		o.Progress = func(p Progress) {
			if p.Before > p.Share+1e-9 || p.Before < last.Before-1e-9 || p.Done > p.Total {
				t.Fatal("progress after", last, "is", p)
			}
			last = p
			if left--; left == 0 {
				cancel()
			}
		}
		fresh := map[int]results.Run{}
		var mu sync.Mutex
		recorder.Had = func(id string) bool { return had[id] }
		recorder.End = func(i int, r results.Run) error {
			mu.Lock()
			defer mu.Unlock()
			if r.Status != results.Interrupted {
				fresh[i] = r
			}
			return nil
		}
		err := Run(inner, e, o)
		cancel()
		for i, r := range fresh {
			if had[r.ID] {
				t.Fatal("made again:", r.ID)
			}
			finished[i], had[r.ID] = r, true
		}
		if err == nil {
			if last.Done != last.Total || math.Abs(last.Share-1) > 1e-9 ||
				len(finished) > len(fresh) && last.Before == 0 {
				t.Fatal("it ends with", last)
			}
			return finished
		}
		if !Interrupted(err) {
			t.Fatal(err)
		}
	}
	t.Fatal("it is not complete after 200 interrupts")
	return nil
}

// same compares runs bit for bit, their wall time aside.
func same(t interface{ Fatalf(string, ...any) }, want, got map[int]results.Run) {
	if len(want) != len(got) {
		t.Fatalf("%d runs, want %d", len(got), len(want))
	}
	for i := range want {
		if a, b := text(got[i]), text(want[i]); a != b {
			t.Fatalf("run %d differs:\n%s\nwant\n%s", i, a, b)
		}
	}
}

// A scenario has the same results after any interrupts and with any number of workers.
func TestInterruptedScenariosAreTheSame(t *testing.T) {
	e := parse(t, eventful)
	want := mustGather(t, e, Options{})
	rapid.Check(t, func(rt *rapid.T) {
		patience := rapid.IntRange(20, 400)
		o := Options{Workers: rapid.SampledFrom([]int{1, 2, 8}).Draw(rt, "workers")}
		if rapid.Bool().Draw(rt, "seldom") {
			o.Checkpoints.Every = time.Hour // at interrupts only
		}
		got := resumed(rt, t.Context(), e, func() int { return patience.Draw(rt, "reports") }, o)
		same(rt, want, got)
	})
}

// A scenario becomes complete if little is done before each interrupt.
func TestEveryInterruptSavesProgress(t *testing.T) {
	e := parse(t, eventful)
	want := mustGather(t, e, Options{})
	problems, got := 8, 0 // each problem is reported when it is prepared
	runs := resumed(t, t.Context(), e, func() int { got++; return problems + 20 }, Options{Workers: 1})
	same(t, want, runs)
	expect.That(t, got >= 4, "it was complete after %d interrupts, too few for this test", got)
}

// An error of a checkpoint ends all runs.
func TestCheckpointErrorsEndAllRuns(t *testing.T) {
	e := parse(t, eventful)
	for _, what := range []string{"coupled/mocha", "recording", "trials"} {
		_, err := gather(t.Context(), e,
			Options{Workers: 2,
				Checkpoints: checkpoint.Policy{Store: &checkpointtest.Store{Fails: what}, Clock: time.Now}})
		expect.That(t, errors.Is(err, checkpointtest.ErrFull), "%s: %v", what, err)
	}
}

// A corrupt checkpoint is refused: no run starts again without notice.
func TestCorruptCheckpointsAreRefused(t *testing.T) {
	e := parse(t, eventful)
	full := &checkpointtest.Store{}
	expect.Value(gather(t.Context(), e, Options{Checkpoints: checkpoint.Policy{Store: full, Clock: time.Now}}))(t)
	seen := map[string]bool{}
	for name, content := range full.All() {
		kind, _, _ := strings.Cut(name, " ")
		if strings.HasPrefix(name, "tuned/") {
			continue // the tuning of the winner may be interrupted
		}
		seen[kind] = true
		corrupt := &checkpointtest.Store{}
		corrupt.Put(name, content[:len(content)-3])
		if _, err := gather(t.Context(), e,
			Options{Checkpoints: checkpoint.Policy{Store: corrupt, Every: time.Hour, Clock: time.Now}}); !errors.Is(err,
			checkpointtest.ErrRejected) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s, cut off: %v", name, err)
		}
	}
	for _, kind := range []string{"trials", "recording", "coupled/mocha/seed=1", "coupled/fedbuff/seed=2"} {
		expect.That(t, seen[kind], "no checkpoint has the name %s", kind)
	}
}

// A file with other rows than before the interruption is refused.
func TestOtherRowsAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	rows := "client,label,a,b\n"
	for i := range 40 {
		rows += fmt.Sprintf("%d,%d,%d,%d\n", i%4, i%2, i%7, i%5)
	}
	write := func(text string) {
		t.Helper()
		filetest.Write(t, file, text)
	}
	write(rows)
	e := parse(t, "[methods.mocha]\n[[experiment]]\nname = \"file\"\n", `data.source="csv"`,
		fmt.Sprintf("data.path=%q", file), "run.rounds=3")
	store := &checkpointtest.Store{}
	options := Options{Checkpoints: checkpoint.Policy{Store: store, Clock: leaping()}}
	mustGather(t, e, options)
	mustGather(t, e, options) // the same rows are
	write(strings.Replace(rows, "3,1,3,3\n", "3,1,3,2\n", 1))
	if _, err := gather(t.Context(), e, options); !errors.Is(err, checkpointtest.ErrRejected) ||
		!strings.Contains(err.Error(), errOtherRows.Error()) {
		t.Errorf("other rows: error %v", err)
	}
}

// Progress counts runs and trials from before an interruption first.
func TestTuningIsCountedWhenResumed(t *testing.T) {
	e := parse(t, eventful)[3:] // the tuned one
	made := mustGather(t, e, Options{})
	var first Progress
	run := func(had func(string) bool) {
		first = Progress{}
		o := Options{Workers: 1, Recorder: &recordtest.Recorder{Had: had}, Clock: time.Now, Progress: func(p Progress) {
			if first.Total == 0 {
				first = p
			}
		}}
		expect.NoError(t, Run(t.Context(), e, o))
	}
	run(func(string) bool { return false })
	expect.That(t, first.Total == 3+1+2+1 && first.Done == 0 && first.Before == 0, "at the beginning: %+v", first)
	run(func(id string) bool { return id == made[0].ID })
	expect.That(t, first.Done == 3+1 && math.Abs(first.Before-4.0/7) <= 1e-9 && math.Abs(first.Share-4.0/7) <= 1e-9,
		"with one method made: %+v", first)
}
