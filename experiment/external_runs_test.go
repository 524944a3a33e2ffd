package experiment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/recordtest"
	"fedsim/internal/tools/state"
	"fedsim/results"
)

// startsOf returns the lines that learners have logged: process, number and ID of each run.
func startsOf(t *testing.T, log string) (processes []string, runs int) {
	t.Helper()
	text := filetest.Read(t, log)
	for line := range strings.Lines(string(text)) {
		runs++
		if p := strings.Fields(line)[0]; !slices.Contains(processes, p) {
			processes = append(processes, p)
		}
	}
	return processes, runs
}

// The results do not depend on the number of workers and processes. A process serves one run
// after the other.
func TestLearnersHaveTheSameBitsOnAnyNumberOfProcesses(t *testing.T) {
	t.Parallel()
	const set = "run.seeds=[1, 2, 3, 4, 5, 6]"
	var want map[int]results.Run
	for _, c := range []struct{ workers, processes, least, most int }{{1, 0, 1, 1}, {2, 0, 1, 2}, {8, 0, 1, 6},
		{8, 1, 1, 1}, {8, 2, 1, 2}} {
		log := filepath.Join(t.TempDir(), "log")
		processes := ""
		if c.processes > 0 {
			processes = fmt.Sprintf("program.processes = %d", c.processes)
		}
		source := outside(fmt.Sprintf("log = %q", log), processes)
		runs := mustGather(t, parse(t, source, set, "run.rounds=5", "faults.drop_probability=0.2"),
			Options{Workers: c.workers})
		ran, started := startsOf(t, log)
		if n := len(ran); n < c.least || n > c.most || started != 6 {
			t.Errorf("%d workers and processes = %d: %d processes for %d runs, want %d to %d", c.workers, c.processes,
				n, started, c.least, c.most)
		}
		for _, p := range ran {
			_, err := os.Stat("/proc/" + p)
			expect.That(t, err != nil, "process %s of a learner is still there", p)
		}
		if want == nil {
			want = runs
			continue
		}
		for i := range runs {
			equalRuns(t, fmt.Sprintf("%+v, run %d", c, i), want[i], runs[i])
		}
	}
}

// Options of a learner are tuned and swept. The grid grows by numbers.
func TestLearnersAreTuned(t *testing.T) {
	t.Parallel()
	const tune = `
[[experiment]]
name = "x"
sweep = { "methods.outside.options.options.batch" = ["all", 5] }
[experiment.tuning]
target = { test_error = 0.4 }
extend = 3
[experiment.tune.inside]
"options.step" = [0.02, 0.04]
`
	// The same grid for the method in fedsim.
	source := paired("fedavg", "step = 0.02") + strings.NewReplacer(", 5]", "]", `"options.step" = [0.02, 0.04]`,
		`"options.step" = [0.02, 0.04]
[experiment.tune.outside]
"options.options.step" = [0.02, 0.04]`).Replace(tune)
	source = strings.Replace(source, `sweep = { "methods.outside.options.options.batch" = ["all"] }`,
		`set = { "methods.outside.options.options.batch" = 32, "methods.inside.options.batch" = 32 }`, 1)
	runs := mustGather(t, parse(t, source, "run.rounds=8", "problem.loss=hinge"), Options{})
	expect.Must(t, len(runs) == 2 && tunedTo(runs[0]) != "" && len(runs[0].Tuned) == 1,
		"%d runs, tuned %v", len(runs), runs[0].Tuned)
	a, b := runs[0].Tuned[0].Value, runs[1].Tuned[0].Value
	expect.That(t, a == b, "tuned to %s, in another process to %s", a, b)
	equalRuns(t, "tuned", runs[0], runs[1])

	swept := mustGather(t, parse(t, outside(""), "run.rounds=3"), Options{})
	other := mustGather(t,
		parse(t, outside("")+"[sweep]\n\"methods.outside.options.options.batch\" = [\"all\", 5]\n", "run.rounds=3"),
		Options{})
	if len(other) != 2 || other[0].ModelHash != swept[0].ModelHash || other[1].ModelHash == other[0].ModelHash {
		t.Errorf("a sweep over an option: %d runs with models %x, %x; alone %x", len(other), other[0].ModelHash,
			other[1].ModelHash, swept[0].ModelHash)
	}
}

// collected collects the values by client of runs.
type collected struct{ rows []string }

func (c *collected) Write(r *results.Round) error {
	for _, m := range r.ClientMetrics {
		c.rows = append(c.rows, fmt.Sprint(r.Round, m.Split, m.Name, m.Clients, m.Values))
	}
	return nil
}

func (c *collected) State(s *state.Coder) {
	n := s.Count(len(c.rows))
	if s.Reads() {
		c.rows = make([]string, n)
	}
	for i := range c.rows {
		s.String(&c.rows[i])
	}
}

// A run that was interrupted is resumed with the state that its learner has saved: with the
// same bits, and the same values by client. Without saving, it starts again.
func TestLearnersResume(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lacks, set string
		starts     int // of the learner until the run is complete
	}{
		{"nothing", "federation.protocol=deadline", 2 + 1}, // federation builds a method before it reads the checkpoint
		{"nothing", "federation.protocol=asynchronous", 2 + 1},
		{"save", "federation.protocol=deadline", 2},
	} {
		log := filepath.Join(t.TempDir(), "log")
		method := "fedavg"
		if strings.Contains(c.set, "asynchronous") {
			method = "fedbuff"
		}
		source := outside(fmt.Sprintf("method = %q, log = %q", method, log))
		source = strings.Replace(source, learnerCommand(), learnerCommand(c.lacks), 1)
		e := parse(t, source, c.set, "federation.deadline_s=0.3", "run.rounds=12", "faults.drop_probability=0.2")
		var whole collected
		want := mustGather(t, e, Options{Recorder: &recordtest.Recorder{Clients: &whole}})
		expect.NoError(t, os.Remove(log))

		store := &checkpointtest.Store{Dir: t.TempDir()}
		policy := CheckpointPolicy{Store: store, Every: 0, Clock: time.Now}
		ctx, cancel := context.WithCancel(t.Context())
		var lost collected
		var said strings.Builder
		_, err := gather(ctx, e,
			Options{Checkpoints: policy, Stderr: &said,
				Recorder: &recordtest.Recorder{Clients: &lost, Rounds: func(int, results.Run) func(results.Round) {
					return func(r results.Round) {
						if r.Round == 7 {
							cancel()
						}
					}
				}}})
		expect.Must(t, Interrupted(err), "not interrupted: %v", err)
		told := strings.Contains(said.String(), "does not save its state: a resumed run starts from the beginning")
		expect.That(t, told == (c.lacks == "save"), "without %s, the interruption says %q", c.lacks, said.String())
		var again collected
		got := mustGather(t, e, Options{Checkpoints: policy, Recorder: &recordtest.Recorder{Clients: &again}})
		equalRuns(t, c.set, want[0], got[0])
		expect.That(t, slices.Equal(whole.rows, again.rows) && len(whole.rows) == 13,
			"%s: values by client of %d rounds, resumed of %d", c.set, len(whole.rows), len(again.rows))
		if _, starts := startsOf(t, log); starts != c.starts {
			t.Errorf("without %s, %s: the learner started %d runs, want %d", c.lacks, c.set, starts, c.starts)
		}
	}
}

// A state of a learner that has changed is rejected.
func TestChangedStatesOfLearnersAreRejected(t *testing.T) {
	t.Parallel()
	e := parse(t, outside(""), "run.rounds=8")
	store := &checkpointtest.Store{Dir: t.TempDir()}
	policy := CheckpointPolicy{Store: store, Clock: time.Now}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := gather(ctx, e,
		Options{Checkpoints: policy, Recorder: &recordtest.Recorder{Rounds: func(int, results.Run) func(results.Round) {
			return func(r results.Round) {
				if r.Round == 3 {
					cancel()
				}
			}
		}}})
	expect.Must(t, Interrupted(err), "not interrupted: %v", err)
	files, err := os.ReadDir(store.Dir)
	expect.Must(t, err == nil && len(files) != 0, "%d files of the learner: %v", len(files), err)
	for _, f := range files {
		filetest.Write(t, filepath.Join(store.Dir, f.Name()), "other")
	}
	_, err = gather(t.Context(), e, Options{Checkpoints: policy})
	if err == nil || !strings.Contains(err.Error(), "has changed: its SHA-256 is not that of the checkpoint") {
		t.Errorf("resumed with %v", err)
	}
}

// A learner that has its own data needs no rows in fedsim. Its times are those of the same
// learner on rows that fedsim has.
func TestLearnersWithTheirOwnData(t *testing.T) {
	t.Parallel()
	e := parse(t, outside(""), "run.rounds=5", "faults.drop_probability=0.2", "federation.protocol=charged")
	rows, _, _, _, err := data.Sizes(e[0].Jobs[0].Candidates[0].Settings.Data)
	expect.NoError(t, err)
	own := parse(t, outside(""), "run.rounds=5", "faults.drop_probability=0.2", "federation.protocol=charged",
		"data.source=external", "data.external.clients=5", "data.external.rows="+config.Literal(rows))
	equalRuns(t, "own data", mustGather(t, e, Options{})[0], mustGather(t, own, Options{})[0])

	// Timing mode starts no learner: only the learner knows its work.
	_, err = gather(t.Context(),
		parse(t, strings.Replace(outside(""), learnerCommand(), `["no-such-program"]`, 1), "run.mode=timing"),
		Options{})
	expect.That(t, err != nil && strings.Contains(err.Error(), `run.mode = "timing": must be "learning"`), "%v", err)

	// Timing mode needs the rows alone.
	timed := func(set ...string) results.Run {
		return mustGather(t, parse(t, "[methods.fedavg]\n", append(set, "run.mode=timing", "run.rounds=5")...),
			Options{})[0]
	}
	equalRuns(t, "timing", timed(),
		timed("data.source=external", "data.external.clients=5", "data.external.features=6",
			"data.external.rows="+config.Literal(rows)))
}
