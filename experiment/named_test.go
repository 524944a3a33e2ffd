package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/compare"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/recordtest"
	"fedsim/mtl"
	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
)

// counter is a learner that declares metrics. Its accuracy on test rows is the number of
// updates that it has taken, times a rate, over 32 of each client. That of client k is
// (k+1)/8 of it; clients report theirs after every second evaluation.
type counter struct {
	algorithms.Described
	rate   float64
	taken  []float64
	solved []bool
	calls  int
}

type counterOptions struct {
	Rate float64 `toml:"rate" doc:"accuracy of 32 updates"`
}

func (o *counterOptions) Validate(c *config.Checker) {
	c.Require(o.Rate > 0, "rate", o.Rate, "must be positive")
}

func init() {
	algorithms.Register(algorithms.Factory{
		Name: "counter", Summary: "counts updates", Reference: "none",
		Describe: func(algorithms.Options, mtl.Shape) algorithms.Description {
			return algorithms.Description{
				Evaluated: algorithms.ByMethod, Own: true, State: algorithms.Yes,
				Work: algorithms.Workload{StepFLOPs: 1000},
				Metrics: []algorithms.NamedMetric{{Split: "test", Name: "accuracy", Better: "higher"},
					{Name: "lag", Unit: "updates"}},
			}
		},
		Options: func() algorithms.Options { return &counterOptions{Rate: 1} },
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return &counter{Described: algorithms.Described{About: s.Description}, rate: o.(*counterOptions).Rate,
				taken: make([]float64, len(s.Rows)), solved: make([]bool, len(s.Rows))}, nil
		},
	})
}

var (
	_ algorithms.Reporter = (*counter)(nil)
	_ algorithms.Stateful = (*counter)(nil)
)

func (co *counter) Begin() (algorithms.Sent, error) { return algorithms.Sent{Size: 10}, nil }
func (co *counter) Solve(r algorithms.Request) algorithms.Response {
	co.solved[r.Device] = true
	return algorithms.Response{Steps: 1, FLOPs: 1000, Values: 10}
}
func (co *counter) Commit(k int, _ float64) { co.taken[k]++ }
func (co *counter) Discard(int)             {}
func (co *counter) End() (float64, error)   { return 1, nil }

func (co *counter) sum() (sum float64) {
	for _, n := range co.taken {
		sum += n
	}
	return sum
}

func (co *counter) Evaluate() (algorithms.Evaluation, error) {
	accuracy := co.rate * co.sum() / float64(len(co.taken)) / 32
	said := algorithms.Evaluation{
		Metrics: algorithms.Unknown(), Hash: math.Float64bits(co.sum()),
		Values: []algorithms.NamedValue{{Split: "test", Name: "accuracy", Value: accuracy},
			{Name: "lag", Value: -co.sum()}},
	}
	if co.calls++; co.calls%2 == 0 {
		return said, nil
	}
	c := algorithms.ClientMetric{Split: "test", Name: "accuracy"}
	for k := range co.taken {
		c.Clients, c.Values = append(c.Clients, int32(k)), append(c.Values, accuracy*float64(k+1)/8)
	}
	said.Clients = []algorithms.ClientMetric{c}
	return said, nil
}

func (co *counter) State(c *algorithms.Coder) {
	c.Float64s(co.taken)
	c.Int(&co.calls)
}

// counting compares a learner that declares metrics with mocha, which does not.
const counting = `
targets = { test_accuracy = [0.25, 0.75], test_error = [0.5] }
eval_every = 1
[methods.counter]
[methods.mocha]
[[experiment]]
name = "counting"
[experiment.figure]
y = "test_accuracy"
`

// save is store for one worker and runs of counter.
func save(t *testing.T, dir, source string, stop int, set ...string) (*rundir.Results, error) {
	t.Helper()
	return store(t, dir, source, 1, stop, "counter", set...)
}

// store runs a scenario in a run directory, with checkpoints, and resumes a run that is there.
// It stops after a round of a method, if that is positive.
func store(t *testing.T, dir, source string, workers, stop int, method string,
	set ...string) (results *rundir.Results, err error) {
	t.Helper()
	return storeOf(t, dir, parsed(t, source, set...), workers, stop, method)
}

// storeOf is store of a scenario.
func storeOf(t *testing.T, dir string, s *scenario.Scenario, workers, stop int,
	method string) (results *rundir.Results, err error) {
	t.Helper()
	resolved, err := s.Resolved()
	expect.NoError(t, err)
	about := rundir.About{Version: "test", Scenario: resolved, Seeds: []uint64{1}, Targets: s.Settings.Run.Targets,
		Started: time.Unix(0, 0), Resumable: true}
	w, err := rundir.Create(dir, false, about)
	if errors.Is(err, rundir.ErrUnfinished) {
		var left *rundir.Checkpoint
		if left, err = rundir.OpenCheckpoint(dir); err == nil {
			w, err = left.Resume(about, Places(s.Experiments))
		}
	}
	expect.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = Run(ctx, s.Experiments, Options{
		Workers: workers, Clock: time.Now,
		Checkpoints: CheckpointPolicy{Store: w, Clock: time.Now},
		Recorder: &recordtest.Recorder{To: w, Rounds: func(_ int, r resultsRun) func(round) {
			return func(x round) {
				if x.Round == stop && stop > 0 && r.Method == method {
					cancel()
				}
			}
		}},
	})
	if err != nil {
		if !Interrupted(err) {
			return nil, errors.Join(err, w.Discard())
		}
		return nil, errors.Join(err, w.Finish(rundir.Incomplete, rundir.End{At: time.Unix(1, 0)}))
	}
	expect.NoError(t, w.Finish(rundir.Complete, rundir.End{At: time.Unix(1, 0)}))
	found, err := rundir.Read(dir)
	expect.NoError(t, err)
	return found, nil
}

type (
	resultsRun = results.Run
	round      = results.Round
)

// Metrics that a learner declares are stored, reached, compared and drawn.
func TestDeclaredMetrics(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	found, err := save(t, dir, counting, 0, "run.report_last=1")
	expect.NoError(t, err)
	run := found.Runs[0]
	expect.Must(t, run.Method == "counter" && len(run.Rounds) == 31, "%s: %d rounds", run.Method, len(run.Rounds))
	for h, x := range run.Rounds {
		want := []results.NamedValue{{Split: "test", Name: "accuracy", Value: float64(h) / 32},
			{Name: "lag", Value: float64(-5 * h)}}
		declared := slices.DeleteFunc(slices.Clone(x.Metrics),
			func(v results.NamedValue) bool { return strings.HasPrefix(v.Name, "accuracy_") })
		statistics := 0 // Jain's index of zeros is not known
		if h%2 == 0 {
			statistics = min(5+h, 6)
		}
		if len(declared) != 2 || declared[0] != want[0] || declared[1] != want[1] || len(x.Metrics) != 2+statistics ||
			x.TestError != 1-float64(h)/32 || !math.IsNaN(x.Primal) || x.ClientMetrics != nil {
			t.Fatalf("round %d: %+v", h, x)
		}
	}
	for target, rounds := range map[results.Target]int{
		{Metric: "test_accuracy", Value: 0.25}: 8, {Metric: "test_accuracy", Value: 0.75}: 24,
		{Metric: "test_error", Value: 0.5}: 16, {Metric: "lag", Value: -100}: 20,
	} {
		if c := run.CostTo(target); !c.Reached || c.Rounds != float64(rounds) || c.TimeS != run.Rounds[rounds].TimeS {
			t.Errorf("%v after %+v, want round %d", target, c, rounds)
		}
	}
	// mocha declares nothing: its accuracy is 1 minus its error.
	if x, ok := found.Runs[1].Reached(results.Target{Metric: "test_accuracy", Value: 0.25}); !ok ||
		x.TestError > 0.75 || found.Runs[1].Metrics != nil {
		t.Errorf("mocha reaches an accuracy of 25 %% with an error of %g", x.TestError)
	}
	if _, ok := found.Runs[1].Reached(results.Target{Metric: "lag", Value: -1}); ok {
		t.Error("mocha reaches a metric that it does not have")
	}
	text := exported(t, dir, "metrics")
	if bytes.Count(text, []byte("\n")) != 1+2*31+16*6-1 ||
		!bytes.Contains(text, []byte(",test,accuracy,0.3125\n")) {
		t.Errorf("metrics: %s", text)
	}
	rows, sum := 0, 0.0
	for line := range strings.Lines(string(exported(t, dir, "client_values"))) {
		var h, client, trained, updates int
		var seconds, computeS, transferS, value float64
		if _, err := fmt.Sscanf(line,
			"counting/counter/seed=1,counting,counter,counter,1,%d,%g,%d,,%d,%d,%g,%g,test,accuracy,%g\n", &h, &seconds,
			&client, &trained, &updates, &computeS, &transferS, &value); err != nil {
			expect.That(t, rows == 0, "%q: %v", line, err)
			continue
		}
		if rows, sum = rows+1, sum+value; h%2 != 0 || value != float64(h)/32*float64(client+1)/8 ||
			seconds != run.Rounds[h].TimeS ||
			updates != h || trained < 10 || computeS != math.Round(float64(trained)*1000/6e9*1e9)/1e9 ||
			transferS <= 0 {
			t.Errorf("round %d: %q", h, line)
		}
	}
	expect.That(t, rows == 5*16 && sum == 240.0/32*15/8, "%d values by client, sum %g", rows, sum)

	out := results.Summarize(found.Runs, found.Manifest.Targets).Sections().Text(200)
	for _, want := range []string{"test accuracy over clients", "93.75 %", "lag", "-150 updates",
		"to test accuracy by rows 25 %", "to test error by rows 50 %"} {
		expect.That(t, strings.Contains(out, want), "the summary lacks %q:\n%s", want, out)
	}
	said := found.Manifest.Targets[1].Text(found.Runs...)
	expect.That(t, said == "test accuracy by rows 25 %", "the second target is %s", said)
	if _, err := plots.Draw(plots.Available(results.Figure{Y: "lag", YScale: "log"}, found.Runs, nil),
		found.Runs); err != nil {
		t.Error(err)
	}

	// Twice the rate takes half the time.
	other := filepath.Join(t.TempDir(), "b")
	expect.Value(save(t, other, counting, 0, "methods.counter.options.rate=2"))(t)
	var dirs []*rundir.Results
	for _, name := range []string{dir, other} {
		d := expect.Value(compare.Open(name))(t)
		dirs = append(dirs, d)
	}
	c, err := compare.Compare(dirs, results.Targets{{Metric: "test_accuracy", Value: 0.75}})
	expect.NoError(t, err)
	if cells := c.Cases[0].Rows; cells[0].Cells[0].Rounds != 24 || cells[1].Cells[0].Rounds != 12 ||
		cells[1].Cells[0].Ratio.Value != cells[1].Cells[0].TimeS/cells[0].Cells[0].TimeS {
		t.Errorf("%+v", cells)
	}
	expect.That(t, c.Cases[1].Rows[0].Cells[0].Reached, "mocha does not reach an accuracy, 1 minus its error")
	fig, _ := c.Figure()
	expect.That(t, fig.Y == "test_accuracy" && fig.Title == "Test accuracy by rows against virtual time", "%+v", fig)
	if _, err := compare.Compare(dirs, results.Targets{{Metric: "test_auc", Value: 1}}); err == nil ||
		!strings.Contains(err.Error(), "records test_auc") {
		t.Error(err)
	}
}

// Metrics stop runs and choose candidates in their own direction. Names that no learner
// declares are refused when it starts.
func TestDeclaredMetricsDecide(t *testing.T) {
	const method = "[methods.counter]\n"
	for _, protocol := range []string{"wait-for-all", "charged"} {
		runs := mustGather(t, parse(t, method, "run.stop_at={test_accuracy=0.5}", "federation.protocol="+protocol),
			Options{})
		n := len(runs[0].Rounds)
		expect.That(t, n == 17, "%s: stopped after %d rounds, want 16", protocol, n-1)
	}
	const tuned = method + `
[[experiment]]
name = "x"
[experiment.tuning]
target = { test_accuracy = 0.96875 }
[experiment.tune.counter]
"options.rate" = [0.25, 1, 0.5]
`
	// No candidate reaches 31/32: the one with the highest accuracy at the end wins, also
	// when its result is from before an interruption.
	store := &checkpointtest.Store{Dir: t.TempDir()}
	options := Options{Checkpoints: CheckpointPolicy{Store: store, Clock: time.Now}}
	for range 2 {
		grids := tune(t, parse(t, tuned, "run.report_last=1"), options)
		g := grids[0]
		expect.That(t, g.Winner == 1 && g.Trials[1].Last == 30.0/32 && !g.Trials[0].Reached && g.Metric().Higher,
			"%+v", g)
	}
	for set, want := range map[string]string{
		"run.stop_at={test_auc=0.5}": `run.stop_at = "test_auc": must be one of suboptimality, ` +
			`primal, gap, train_error, test_error, validation_error, train_error_clients, test_error_clients, ` +
			`validation_error_clients, train_accuracy, train_accuracy_clients, test_accuracy, test_accuracy_clients, ` +
			`validation_accuracy, validation_accuracy_clients, lag`,
		"run.targets={test_acuracy=[0.5]}":                `run.targets = "test_acuracy"`,
		"experiment.x.figure={y=\"test_auc\"}":            `experiment.figure.y = "test_auc"`,
		"experiment.x.figure={y=\"test_accuracy\"}":       "",
		"run.targets={lag=[-5], test_accuracy=[0.5,0.9]}": "",
	} {
		_, err := gather(t.Context(), parse(t, tuned, set, "run.rounds=3"), Options{})
		expect.That(t, (want != "" || err == nil) && (want == "" || err != nil && strings.Contains(err.Error(), want)),
			"%s: %v\nwant %s", set, err, want)
	}
	if _, err := gather(t.Context(), parse(t, strings.Replace(tuned, "test_accuracy", "test_auc", 1)),
		Options{}); err == nil ||
		!strings.Contains(err.Error(), `experiment.tuning.target = "test_auc": must be one of`) {
		t.Error(err)
	}
	// Without a learner that declares metrics they are refused at once.
	if _, err := scenario.Parse("x.toml", []byte("[methods.mocha]\n"), []string{"run.stop_at={lag=0.5}"}); err == nil ||
		!strings.Contains(err.Error(), `run.stop_at={lag=0.5}: must be one of`) {
		t.Error(err)
	}
}

// A resumed run has the files of an uninterrupted one.
func TestDeclaredMetricsResume(t *testing.T) {
	for _, protocol := range []string{"deadline", "wait-for-all"} {
		set := []string{"federation.protocol=" + protocol, "federation.deadline_s=1", "faults.drop_probability=0.3",
			"run.targets={test_accuracy=[0.25]}"}
		whole, parts := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
		expect.Value(save(t, whole, counting, 0, set...))(t)
		for _, stop := range []int{11, 20} {
			if _, err := save(t, parts, counting, stop, set...); !Interrupted(err) {
				t.Fatalf("%s: not interrupted: %v", protocol, err)
			}
			if m, err := rundir.ReadManifest(parts); err != nil || len(m.Sums) != 6 {
				t.Errorf("%s: the interrupted run has %+v: %v", protocol, m, err)
			}
		}
		expect.Value(save(t, parts, counting, 0, set...))(t)
		for _, name := range []string{"rounds.parquet", "metrics.parquet", "client_values.parquet"} {
			want := filetest.Read(t, filepath.Join(whole, name))
			if got, err := os.ReadFile(filepath.Join(parts, name)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %s of a resumed run differs (%d bytes, want %d): %v", protocol, name, len(got), len(want),
					err)
			}
		}
	}
}

// exported returns a table of a run directory as csv.
func exported(t *testing.T, dir, table string) []byte {
	t.Helper()
	var text bytes.Buffer
	expect.NoError(t, rundir.Export(&text, dir, table, "csv"))
	return text.Bytes()
}
