package experiment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
)

// Three links, retries after drops, two methods under wait-for-all, two seeds and a
// tuning grid: shared recordings change no bit.
const shared = `
[data.synthetic]
clients = 5
features = 6
[run]
rounds = 25
seeds = [1, 2]
[problem]
regularizer_options.warm_start = 1
[methods.mocha]
[methods.cocoa]
options = { theta = 0.3, max_epochs = 1 }
[methods.mb-sgd]
[[experiment]]
name = "links"
sweep = { "network.profile" = ["3g", "wifi"], "faults.drop_probability" = [0, 0.3] }
[experiment.tune.mocha]
"options.epochs" = [1, 3]
`

// collect returns the runs of a scenario; mostRecorded 0 computes each by itself.
func collect(t *testing.T, text string, workers, mostRecorded int) []results.Run {
	t.Helper()
	s := scenarioOf(t, text)
	runs := make([]results.Run, Total(s.Experiments))
	o := Options{Workers: workers, Clock: time.Now,
		Recorder: &recordtest.Recorder{End: func(i int, r results.Run) error {
			r.WallS = 0
			runs[i] = r
			return nil
		}}}
	expect.NoError(t, run(context.Background(), s.Experiments, o, mostRecorded))
	return runs
}

func TestRecordedRunsEqualComputedOnes(t *testing.T) {
	want := collect(t, shared, 1, 0)
	expect.Must(t, len(want) == 24 && len(want[0].Rounds) == 26,
		"%d runs, the first with %d rounds; want 24 with 26", len(want), len(want[0].Rounds))
	capped := int64(0)
	for i := range want {
		capped += want[i].Capped
	}
	expect.That(t, capped != 0, "no device was short of theta: the test shows nothing of them")
	for _, workers := range []int{1, 2, 8} {
		got := collect(t, shared, workers, mostRecorded)
		for i := range want {
			a, b := text(got[i]), text(want[i])
			expect.Must(t, a == b, "%d workers: run %s differs:\n%s\nwant\n%s", workers, want[i].ID, a, b)
		}
	}
}

// A run that samples clients depends on their availability, so it shares no recording.
func TestSampledRunsEqualComputedOnes(t *testing.T) {
	for _, selection := range []string{"", `selection = "power-of-choice"` + "\nselection_options.candidates = 4"} {
		scenario := `
[data.synthetic]
clients = 5
features = 6
[problem]
optimum.when = "never"
[federation]
clients_per_round = 3
` + selection + `
[run]
rounds = 5
[methods.mocha]
[methods.mb-sgd]
`
		want, got := collect(t, scenario, 1, 0), collect(t, scenario, 2, mostRecorded)
		for i := range want {
			a, b := text(got[i]), text(want[i])
			expect.Must(t, a == b, "%s: run %s differs:\n%s\nwant\n%s", selection, want[i].ID, a, b)
		}
	}
}

// Nor does one whose computation depends on what the federation draws or on its messages. A
// recording of other methods has the rounds that their schedules count.
func TestRunsOfLocalStepsEqualComputedOnes(t *testing.T) {
	racetest.Skip(t, "compares many small runs; TestRecordedRunsEqualComputedOnes shares rounds in parallel")
	for name, tables := range map[string]string{
		"partial work":         "[federation]\npartial_share = 0.6",
		"dropped partial work": "[federation]\npartial_share = 0.6\npartial = \"drop\"",
		"compression":          "[compression]\nup = \"top-k\"\nup_options.k = \"50 %\"",
		"privacy":              "[privacy]\nmechanism = \"central\"",
		"sampled evaluation":   "eval_clients = 3",
		"schedules":            "",
	} {
		scenario := "[problem]\noptimum.when = \"never\"\n[data.synthetic]\nclients = 5\nfeatures = 6\n[run]\n" +
			"rounds = 5\n" +
			tables + "\n"
		for _, method := range []string{"fedavg", "fedprox", "fedadam", "ditto", "apfl", "per-fedavg", "fednova",
			"scaffold", "feddyn", "fedau", "mifa", "fedvarp", "gossip", "fedbuff"} {
			if method == "fednova" && name == "privacy" || method == "gossip" && name == "compression" {
				break // not able, as those that follow
			}
			weights := "weights = \"equal\""
			if method == "gossip" {
				weights = ""
			}
			scenario += fmt.Sprintf("[methods.%s]\nprotocol = \"wait-for-all\"\n[methods.%s.options]\nepochs = 4\n"+
				"schedule = \"inverse-sqrt\"\nschedule_options.rounds = 1\n%s\n", method, method, weights)
		}
		want, got := collect(t, scenario, 1, 0), collect(t, scenario, 2, mostRecorded)
		for i := range want {
			a, b := text(got[i]), text(want[i])
			expect.That(t, a == b, "%s: run %s differs:\n%s\nwant\n%s", name, want[i].ID, a, b)
		}
	}
}

// Charged runs share their rounds where nothing fails: the limits of their work are drawn from the seed.
func TestChargedRunsEqualComputedOnes(t *testing.T) {
	racetest.Skip(t, "compares many small runs; TestRecordedRunsEqualComputedOnes makes runs in parallel")
	const scenario = `
[data.synthetic]
clients = 5
features = 6
[federation]
protocol = "charged"
protocol_options.steps_low = 0.3
[run]
rounds = 12
seeds = [1, 2]
[devices]
battery.wh = "mains"
[methods.mocha]
options.epochs = "fill"
[methods.mb-sdca]
options.batch = "fill"
[methods.mb-sgd]
options.batch = "fill"
[[experiment]]
name = "costs"
[experiment.sweep]
"federation.cost" = ["authors", "relative", "physical"]
"faults.drop_probability" = [0, 0.3]
"federation.protocol_options.steps_high" = [0.6, 1]
`
	r, keys, alone := newRunner(t.Context(), nil, Options{}, mostRecorded), map[recordingKey]int{}, 0
	for _, j := range scenarioOf(t, scenario).Experiments[0].Jobs {
		if run := j.Candidates[0].WithSeed(1); r.recordable(&run, 5) {
			keys[recordingKeyOf(&run)]++
		} else {
			alone++
		}
	}
	if len(keys) != 6 || alone != 18 { // three methods with two limits, under three costs; with drops each computes
		t.Errorf("%d recordings, and %d runs that compute for themselves; want 6 and 18", len(keys), alone)
	}
	want := collect(t, scenario, 1, 0)
	for _, workers := range []int{1, 2} {
		got := collect(t, scenario, workers, mostRecorded)
		for i := range want {
			a, b := text(got[i]), text(want[i])
			expect.Must(t, a == b, "%d workers: run %s differs:\n%s\nwant\n%s", workers, want[i].ID, a, b)
		}
	}
}

// text shows every bit of a run: %v is exact for floats other than NaNs.
func text(r results.Run) string {
	s := fmt.Sprintf("%s %s %v %v %d %s %s %d %x %x %016x %016x\n", r.ID, r.Method, r.Point, r.Tuned, r.Seed, r.Status,
		r.Limit, r.Capped, math.Float64bits(r.Optimum), math.Float64bits(r.OptimumGap), r.EventHash, r.ModelHash)
	for _, x := range r.Rounds {
		s += fmt.Sprintf("%v\n", x)
	}
	return s
}

// decided says for each setting why runs that share rounds may differ in it, or why they do not. A field of time
// changes when responses arrive, but under a recordable protocol the server takes them all.
var decided = map[string]string{
	"Data": "key", "Problem": "key", "Methods": "key: algorithm and options",
	"Devices": "time", "Network": "time", "Overhead": "time", "Fleet": "time", "Faults": "time",
	"Traces": "time", "Engine": "time",

	"Federation.Protocol": "key: of the limits of work", "Federation.ProtocolOptions": "key: of the limits of work",
	"Federation.StepsLow": "key", "Federation.StepsHigh": "key", "Federation.Clients": "refused: the number asked",
	"Federation.Over":      "refused: the number asked",
	"Federation.Selection": "all are asked", "Federation.SelectionOptions": "all are asked",
	"Federation.PartialShare": "refused",
	"Federation.Partial":      "of PartialShare", "Federation.Cost": "time", "Federation.Population": "all are asked",
	"Federation.DeadlineS": "refused: its protocol", "Federation.Quantile": "refused: its protocol",
	"Federation.Fit":    "refused: its protocol",
	"Federation.Margin": "refused: its protocol", "Federation.Late": "nobody is late",
	"Federation.Retries": "refused: its protocol", "Federation.MinReports": "all respond",
	"Federation.MinAvailable": "time", "Federation.NonFinite": "ends a run, and changes no round before",
	"Federation.DetectS": "time", "Federation.Overhead": "time", "Federation.ServerGFLOPS": "time",

	"Run.Mode": "another runner", "Run.Rounds": "each run has its own length", "Run.Outer": "refused",
	"Run.EvalEvery": "refused", "Run.EvalClients": "refused", "Run.ClientMetrics": "refused",
	"Run.ClientsEvery": "of ClientMetrics", "Run.ThetaEvery": "refused", "Run.Devices": "time", "Run.SaveModel": "told",
	"Run.StopAt": "each run has its own length", "Run.MaxTimeS": "each run has its own length",
	"Run.ReportLast": "told", "Run.Metric": "told", "Run.Seeds": "key",
	"Run.Vary": "key: the seed, and that of the data", "Run.Targets": "told",
}

// A new setting is decided here: a setting that changes the mathematics and is neither in recordingKey nor refused by
// recordable would let a run share the rounds of another.
func TestEverySettingIsDecided(t *testing.T) {
	rest := maps.Clone(decided)
	var check func(path string, of reflect.Type)
	check = func(path string, of reflect.Type) {
		for i := range of.NumField() {
			name := strings.TrimPrefix(path+"."+of.Field(i).Name, ".")
			switch _, ok := decided[name]; {
			case ok:
				delete(rest, name)
			case of.Field(i).Anonymous || name == "Federation" || name == "Run":
				check(cmp.Or(map[bool]string{true: path}[of.Field(i).Anonymous], name), of.Field(i).Type)
			case of.Field(i).Tag.Get("toml") != "" && of.Field(i).Tag.Get("toml") != "-":
				t.Errorf("%s: may runs that share rounds differ in it? Decide in recordingKeyOf or recordable, "+
					"and say so in this list", name)
			}
		}
	}
	check("", reflect.TypeFor[scenario.Settings]())
	for name := range rest {
		t.Errorf("%s is no setting: remove it from the list", name)
	}
}
