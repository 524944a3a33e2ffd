package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
)

const several = `
seeds = [5, 2, 9]
[methods.mocha]
label = "MOCHA"
[methods.cocoa]
[methods.mb-sgd]
[[experiment]]
name = "first"
methods = ["cocoa", "mocha"]
sweep = { "faults.drop_probability" = [0, 0.3] }
[[experiment]]
name = "second"
methods = ["mb-sgd"]
sweep = { "network.profile" = ["lte", "wifi"] }
`

// Runs are numbered as the scenario lists them: experiments, points, methods,
// seeds; each is handed on once, under its number, with its own place and bits.
func TestRunsCarryTheirIndex(t *testing.T) {
	e := parse(t, several)
	want := expected(e)
	expect.Must(t, len(want) == 18 && Total(e) == 18, "%d runs, Total %d, want 18", len(want), Total(e))
	first := mustGather(t, e, Options{Workers: 1})
	for _, workers := range []int{1, 2, 8} {
		runs := mustGather(t, e, Options{Workers: workers})
		for i, id := range want {
			r, ok := runs[i]
			expect.That(t, ok && r.ID == id && r.Status == results.Done && len(r.Rounds) == 31 && r.WallS >= 0,
				"%d workers: run %d is %s (%s, %d rows), want %s", workers, i, r.ID, r.Status, len(r.Rounds), id)
			expect.That(t, text(r) == text(first[i]), "%d workers: run %s has other bits", workers, id)
		}
	}
	r := first[4]
	if r.Experiment != "first" || r.Method != "MOCHA" || r.Algorithm != "mocha" || r.Seed != 2 ||
		len(r.Point) != 1 || r.Point[0] != (results.Setting{Key: "faults.drop_probability", Value: "0"}) ||
		r.Tuned != nil {
		t.Errorf("run 4: %+v", r)
	}
}

// An error of one run ends all, and is the error of the whole.
func TestAnErrorEndsAll(t *testing.T) {
	e := parse(t, `
[methods.mocha]
[methods.probe]
[[experiment]]
name = "x"
sweep = { "methods.probe.options.fail" = [false, true], "problem.lambda" = [0.1, 0.2, 0.3] }
`)
	// In rounds that wait for all, mocha shares its computation among the values of fail, so that
	// its other runs come last.
	for protocol, before := range map[string]int{"wait-for-all": 6, "deadline": 7} {
		for i := range e[0].Jobs {
			f := &e[0].Jobs[i].Candidates[0].Settings.Federation
			f.Protocol, f.DeadlineS = protocol, 10
		}
		for _, workers := range []int{1, 4} {
			runs, err := gather(t.Context(), e, Options{Workers: workers})
			expect.Must(t, errors.Is(err, errProbe) && !Interrupted(err),
				"%s, %d workers: error %v", protocol, workers, err)
			if want := `: starting probe: the probe refuses`; !strings.HasPrefix(err.Error(),
				"run x/probe/methods.probe.options.fail=true/") || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s, %d workers: %q does not name the run and the failed method", protocol, workers, err)
			}
			expect.That(t, workers != 1 || len(runs) == before,
				"%s: %d runs finished, want the %d before the error", protocol, len(runs), before)
			for i, r := range runs {
				expect.That(t, r.Algorithm != "probe" || !e[0].Jobs[i].Candidates[0].Options.(*probeOptions).Fail,
					"%s: run %s finished", protocol, r.ID)
			}
		}
	}
}

// Settings that do not fit the devices are a config.Problem of the run.
func TestARefusalNamesTheRun(t *testing.T) {
	e := parse(t, `
[methods.cocoa]
[faults]
never = [0]
`)
	_, err := gather(t.Context(), e, Options{})
	var p config.Problem
	if !errors.As(err, &p) || p.Key != "faults.never" ||
		!strings.HasPrefix(err.Error(), "run small/cocoa/seed=1: faults.never") {
		t.Errorf("got %v", err)
	}
}

// What receives the runs may fail, as a disk does: that ends all.
func TestAnErrorOfTheReceiverEndsAll(t *testing.T) {
	e := parse(t, several)
	full := errors.New("the disk is full")
	count := 0
	err := Run(t.Context(), e,
		Options{Workers: 1, Clock: time.Now, Recorder: &recordtest.Recorder{End: func(int, results.Run) error {
			count++
			if count == 3 {
				return full
			}
			return nil
		}}})
	expect.That(t, errors.Is(err, full) && count == 3, "error %v after %d runs, want %v after 3", err, count, full)
}

// When the context ends, runs under way stop after their round and are handed
// on as far as they have come; others are not.
func TestCancellation(t *testing.T) {
	e := parse(t, several)
	whole := mustGather(t, e, Options{})
	for _, workers := range []int{1, 2, 8} {
		ctx, cancel := context.WithCancel(t.Context())
		var moved atomic.Int64
		runs, err := gather(ctx, e, Options{Workers: workers, Progress: func(p Progress) {
			if p.Phase == "running" && moved.Add(1) == 100 {
				cancel()
			}
		}})
		cancel()
		expect.Must(t, errors.Is(err, context.Canceled) && Interrupted(err), "%d workers: error %v", workers, err)
		expect.Must(t, len(runs) != 0 && len(runs) != Total(e), "%d workers: %d runs finished", workers, len(runs))
		stopped := 0
		for i, r := range runs {
			expect.That(t, r.ID == whole[i].ID, "run %d is %s, want %s", i, r.ID, whole[i].ID)
			if r.Status == results.Interrupted {
				stopped++
				cut := whole[i]
				cut.Status, cut.Rounds = results.Interrupted, cut.Rounds[:len(r.Rounds)]
				cut.EventHash, cut.ModelHash = r.EventHash, r.ModelHash
				expect.That(t, text(r) == text(cut) && len(r.Rounds) != len(whole[i].Rounds),
					"run %s is not the beginning of the whole", r.ID)
			} else if text(r) != text(whole[i]) {
				t.Errorf("run %s was finished and differs from the whole", r.ID)
			}
		}
		expect.That(t, stopped != 0, "%d workers: no run was interrupted", workers)
	}
	// Before anything has begun, nothing is done.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := probes.Load()
	runs, err := gather(ctx, parse(t, "[methods.probe]"), Options{})
	expect.That(t, len(runs) == 0 && Interrupted(err) && probes.Load() == before, "%d runs, error %v", len(runs), err)
	expect.That(t, !Interrupted(nil) && !Interrupted(errProbe), "other errors are taken for an interruption")
}

// The context also ends the search for a reference optimum, which may take longer
// than the runs.
func TestCancellationOfPreparations(t *testing.T) {
	e := parse(t, "[methods.mocha]")
	problem := &e[0].Jobs[0].Candidates[0].Settings.Problem
	problem.OptimumGap, problem.OptimumSweeps = -1, math.MaxInt // never done
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	runs, err := gather(ctx, e, Options{Progress: func(p Progress) {
		if p.Phase == "preparing" {
			time.AfterFunc(50*time.Millisecond, cancel)
		}
	}})
	expect.That(t, len(runs) == 0 && Interrupted(err), "%d runs, error %v", len(runs), err)
}

// A run that stalls is handed on with the reason, and the others go on.
func TestStalledRunsAreHandedOn(t *testing.T) {
	runs := mustGather(t, parse(t, `
[methods.mocha]
[[experiment]]
name = "x"
set = { "devices.charging.when" = "never" }
sweep = { "devices.battery.wh" = [1e-7, "mains"] }
`), Options{})
	if r := runs[0]; r.Status != results.Stalled || !strings.Contains(r.Reason, "empty battery") ||
		len(r.Rounds) >= 31 {
		t.Errorf("%s (%s) after %d rows", r.Status, r.Reason, len(r.Rounds))
	}
	if r := runs[1]; r.Status != results.Done || r.Reason != "" || len(r.Rounds) != 31 {
		t.Errorf("%s (%s) after %d rows", r.Status, r.Reason, len(r.Rounds))
	}
}

// Data and problems are prepared once, with any number of runs at a time.
func TestPreparesOnce(t *testing.T) {
	e := parse(t, `
seeds = [1, 2]
[methods.mocha]
[methods.mb-sgd]
[[experiment]]
name = "x"
sweep = { "problem.lambda" = [0.1, 0.2], "network.profile" = ["lte", "wifi"], "run.outer" = [1, 2] }
[[experiment]]
name = "y"
sweep = { "data.seed" = [1, 2] }
`)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	r := newRunner(ctx, cancel, Options{Workers: 8}, 0)
	jobs := r.jobs(e)
	r.ready(jobs)
	expect.NoError(t, context.Cause(ctx))
	// Two lambdas by two numbers of outer iterations, one or two of them with the
	// data of another seed.
	n := len(r.prepare.problems.known)
	expect.That(t, n == 2*2+2, "%d problems, want 6", n)
	n = len(r.prepare.splits.known)
	expect.That(t, n == 2, "%d splits, want 2", n)
	seen := map[*prepared]int{}
	for _, j := range jobs {
		for _, run := range j.Candidates {
			p := expect.Value(r.prepare.prepare(&run.Settings))(t)
			seen[p]++
			first := expect.Value(r.prepare.prepare(&e[0].Jobs[0].Candidates[0].Settings))(t)
			if same := run.Settings.Data.Seed == 1; same != (p.problem.Train == first.problem.Train) {
				t.Errorf("run %s shares the data of the first: %v", run.ID, !same)
			}
		}
	}
	expect.That(t, len(seen) == 6 && len(r.prepare.problems.known) == 6,
		"%d problems serve the runs, want 6", len(seen))
}

// A file of data may be gone once it was read; one that cannot be read is an
// error, which is found once and ends all.
func TestDataAreReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.csv")
	var text strings.Builder
	text.WriteString("client,a,b,label\n")
	for i := range 48 {
		a, b := math.Sin(float64(i)), math.Cos(float64(3*i))
		label := "1"
		if a+b/2 < 0 {
			label = "-1"
		}
		text.WriteString([]string{"x", "y", "z"}[i%3] + "," + formatted(a) + "," + formatted(b) + "," + label + "\n")
	}
	filetest.Write(t, path, text.String())
	e := parse(t, `
[methods.mocha]
[methods.mb-sgd]
[[experiment]]
name = "x"
[experiment.set]
"data.source" = "csv"
"data.path" = "`+filepath.ToSlash(path)+`"
`, "data.synthetic.clients=", "data.synthetic.features=", "data.synthetic.rows_min=", "data.synthetic.rows_max=")
	removed := false
	runs, err := gather(t.Context(), e, Options{Workers: 1, Progress: func(p Progress) {
		if p.Phase == "running" && !removed {
			removed = true
			err := os.Remove(path)
			expect.That(t, err == nil, "%v", err)
		}
	}})
	expect.Must(t, err == nil && len(runs) == 2 && removed, "%d runs, error %v", len(runs), err)
	runs, err = gather(t.Context(), e, Options{Workers: 2})
	expect.That(t, errors.Is(err, fs.ErrNotExist) && len(runs) == 0 && !Interrupted(err),
		"%d runs, error %v: want one of the file system", len(runs), err)
}

// The reference optimum belongs to the problem: one W update is measured against the
// optimum under its coupling, the whole method against the joint optimum, both
// certified.
func TestOptimum(t *testing.T) {
	racetest.Skip(t, "compares many small runs; other tests run as much in parallel")
	runs := mustGather(t, parse(t, `
[methods.mocha]
options.epochs = 5
[[experiment]]
name = "x"
sweep = { "run.outer" = [1, 4] }
`, "run.rounds=400", "problem.regularizer_options.warm_start=0"), Options{})
	for i, r := range runs {
		last, _ := r.Last()
		expect.That(t, !math.IsNaN(r.Optimum) && r.OptimumGap <= []float64{1e-6, 1e-5}[i] && r.OptimumGap >= 0,
			"run %s: optimum %g within %g", r.ID, r.Optimum, r.OptimumGap)
		for _, x := range r.Rounds {
			if want := (x.Primal - r.Optimum) / r.Optimum; math.Abs(x.Suboptimality-want) > 1e-12 {
				t.Fatalf("run %s, round %d: sub-optimality %g, want %g", r.ID, x.Round, x.Suboptimality, want)
			}
			expect.That(t, x.Suboptimality >= -1e-12,
				"round %d is better than the optimum by %g", x.Round, x.Suboptimality)
		}
		// Three updates of Omega alternate to 2.4 % above the joint optimum.
		expect.That(t, last.Suboptimality <= []float64{0.02, 0.03}[i], "run %s ends at %g", r.ID, last.Suboptimality)
	}
	expect.That(t, runs[1].Optimum < runs[0].Optimum,
		"with a learnt coupling the optimum is %g, with the first one %g", runs[1].Optimum, runs[0].Optimum)
}

// Runs end where the scenario says.
func TestRunsEndAsTheScenarioSays(t *testing.T) {
	e := func(set ...string) results.Run {
		return mustGather(t, parse(t, "[methods.mocha]\n", set...), Options{})[0]
	}
	whole := e()
	target := whole.Rounds[12].Suboptimality
	hit, _ := whole.Reached(results.ToSuboptimality(target))
	if r := e("run.stop_at.suboptimality=" + fmt.Sprint(target)); len(r.Rounds) != hit.Round+1 {
		t.Errorf("stop_at = %g: %d rounds, want %d", target, len(r.Rounds)-1, hit.Round)
	}
	if r := e("run.max_time_s=" + fmt.Sprint(whole.Rounds[7].TimeS)); len(r.Rounds) != 8 {
		t.Errorf("max_time_s = %g: %d rounds, want 7", whole.Rounds[7].TimeS, len(r.Rounds)-1)
	}
	// Without a limit of rounds, the time alone ends a run: beyond the rounds that are the default, too.
	end := whole.Rounds[len(whole.Rounds)-1]
	most := 4 * end.TimeS
	r := e("run.rounds=", fmt.Sprint("run.max_time_s=", most)).Rounds
	if n := len(r); n <= 101 || r[n-1].TimeS < most || r[n-2].TimeS >= most || r[end.Round].Primal != end.Primal {
		t.Errorf("rounds = 0: %d rounds, %g s of %g", n-1, r[n-1].TimeS, most)
	}
	if r := e("run.eval_every=4"); len(r.Rounds) != 31 || !math.IsNaN(r.Rounds[3].Primal) ||
		r.Rounds[4].Primal != whole.Rounds[4].Primal {
		t.Errorf("eval_every = 4: %+v", r.Rounds[:5])
	}
}

// Progress only grows, ends with everything done, and its calls do not overlap.
func TestProgress(t *testing.T) {
	e := parse(t, several+`
[experiment.tuning]
seeds = 2
[experiment.tune.mb-sgd]
"options.batch" = [2, 4]
`)
	for i := range e[1].Jobs {
		for k := range e[1].Jobs[i].Candidates { // these end early
			e[1].Jobs[i].Candidates[k].Settings.Run.MaxTimeS = 1e-3
		}
	}
	for _, workers := range []int{1, 8} {
		var inside atomic.Int64
		var last Progress
		phases := map[string]int{}
		mustGather(t, e, Options{Workers: workers, Progress: func(p Progress) {
			expect.That(t, inside.Add(1) == 1, "calls overlap")
			phases[p.Phase]++
			if p.Share < last.Share-1e-12 || p.Done < last.Done || p.Share > 1+1e-9 || p.Done > p.Total || p.Run == "" {
				t.Errorf("%+v after %+v", p, last)
			}
			if p.Total != 18+2*2*2 { // two points with two candidates under two seeds
				t.Errorf("%d runs in all, want 26", p.Total)
			}
			last = p
			inside.Add(-1)
		}})
		expect.That(t, last.Done == last.Total && math.Abs(last.Share-1) <= 1e-9,
			"%d workers: ends with %+v", workers, last)
		expect.That(t, phases["preparing"] != 0 && phases["tuning"] != 0 && phases["running"] != 0 && len(phases) == 3,
			"%d workers: phases %v", workers, phases)
	}
}
