package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/recordtest"
	"fedsim/mtl"
	"fedsim/results"
)

// probe is mocha that can be told to fail, and counts how often it is built.
type probeOptions struct {
	Epochs float64 `toml:"epochs" doc:"local passes"`
	Fail   bool    `toml:"fail" doc:"refuse to start"`
	Passes float64 `toml:"passes" doc:"local passes" deprecated:"use epochs"`
}

func (o *probeOptions) Validate(*config.Checker) {}

var (
	errProbe = errors.New("the probe refuses")
	probes   atomic.Int64
)

func init() {
	mocha, _ := algorithms.Lookup("mocha")
	algorithms.Register(algorithms.Factory{
		Name: "probe", Summary: "mocha that can be told to fail", Reference: "none",
		Options: func() algorithms.Options { return &probeOptions{Epochs: 1} },
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			return mocha.Describe(&algorithms.MOCHAOptions{Epochs: o.(*probeOptions).Epochs}, shape)
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			probes.Add(1)
			p := o.(*probeOptions)
			if p.Fail {
				return nil, errProbe
			}
			return mocha.New(s, &algorithms.MOCHAOptions{Epochs: p.Epochs})
		},
	})
}

// small is the head of the scenarios of these tests.
const small = `
[data.synthetic]
clients = 5
features = 6
rows_min = 10
rows_max = 30
[problem]
regularizer_options.warm_start = 1
[run]
rounds = 30
`

func parse(t testing.TB, source string, set ...string) []scenario.Experiment {
	t.Helper()
	return parsed(t, source, set...).Experiments
}

func parsed(t testing.TB, source string, set ...string) *scenario.Scenario {
	t.Helper()
	return scenarioOf(t, small+source, set...)
}

// scenarioOf parses the whole text of a scenario.
func scenarioOf(t testing.TB, text string, set ...string) *scenario.Scenario {
	t.Helper()
	s := expect.Value(scenario.Parse("small.toml", []byte(text), set))(t)
	return s
}

// tune is Tune that must not fail.
func tune(t testing.TB, experiments []scenario.Experiment, o Options) []Grid {
	t.Helper()
	grids := expect.Value(Tune(t.Context(), experiments, o))(t)
	return grids
}

// gather runs experiments and returns the finished runs by index.
func gather(ctx context.Context, experiments []scenario.Experiment, o Options) (map[int]results.Run, error) {
	return gatherBy(o, func(o Options) error { return Run(ctx, experiments, o) })
}

// gatherBy returns the finished runs of a call by index.
func gatherBy(o Options, call func(Options) error) (map[int]results.Run, error) {
	runs := map[int]results.Run{}
	var twice []int
	if o.Clock == nil {
		o.Clock = time.Now
	}
	var given recordtest.Recorder
	if o.Recorder != nil {
		given = *o.Recorder.(*recordtest.Recorder)
	}
	var mu sync.Mutex
	given.End = func(i int, r results.Run) error {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := runs[i]; ok {
			twice = append(twice, i)
		}
		runs[i] = r
		return nil
	}
	o.Recorder = &given
	err := call(o)
	if len(twice) > 0 {
		return runs, fmt.Errorf("runs %v finished twice", twice)
	}
	return runs, err
}

func mustGather(t testing.TB, experiments []scenario.Experiment, o Options) map[int]results.Run {
	t.Helper()
	runs := expect.Value(gather(t.Context(), experiments, o))(t)
	expect.Must(t, len(runs) == Total(experiments), "%d runs finished, want %d", len(runs), Total(experiments))
	return runs
}

// expected lists the names of the runs in the order of the scenario, with the
// candidate that tuning chose replaced by a question mark.
func expected(experiments []scenario.Experiment) []string {
	var ids []string
	for _, e := range experiments {
		for _, j := range e.Jobs {
			for _, seed := range j.Seeds {
				ids = append(ids, j.Candidates[0].WithSeed(seed).ID)
			}
		}
	}
	return ids
}

// alone returns each candidate of the first experiment's jobs as a job without
// a grid, under its first seed.
func alone(e scenario.Experiment) []scenario.Experiment {
	one := e
	one.Jobs = nil
	for _, j := range e.Jobs {
		for _, c := range j.Candidates {
			one.Jobs = append(one.Jobs, scenario.Job{Candidates: []scenario.RunSpec{c}, Seeds: j.Seeds[:1]})
		}
	}
	return []scenario.Experiment{one}
}

func tunedTo(r results.Run) string {
	var s []string
	for _, x := range r.Tuned {
		s = append(s, x.Key+"="+x.Value)
	}
	slices.Sort(s)
	return fmt.Sprint(s)
}

func formatted(x float64) string { return fmt.Sprintf("%.6f", x) }

// A deprecated option is noted once, however it is set and in however many runs.
func TestDeprecatedOptionsAreNoted(t *testing.T) {
	const method = "[methods.x]\nalgorithm = \"probe\"\n"
	want := []string{"methods.x.options.passes is deprecated: use epochs"}
	for name, s := range map[string]*scenario.Scenario{
		"file":  parsed(t, method+"options.passes = 2\n", "run.seeds=[1, 2]"),
		"--set": parsed(t, method, "methods.x.options.passes=2"),
		"sweep": parsed(t, method+"[[experiment]]\nname = \"a\"\nsweep = { \"methods.x.options.passes\" = [0, 1] }\n"),
	} {
		expect.That(t, slices.Equal(s.Notes, want), "%s: %q", name, s.Notes)
	}
	if s := parsed(t, method+"options.passes = 0\n"); len(s.Notes) > 0 {
		t.Errorf("the default: %q", s.Notes)
	}
}
