package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/results"
)

// value returns a named value of a round; NaN if it is not there.
func value(r *results.Round, name string) float64 {
	for i := range r.Metrics {
		if r.Metrics[i].FullName() == name {
			return r.Metrics[i].Value
		}
	}
	return math.NaN()
}

// The metrics that the program of an external model declares are those of every round, the mean over
// the rows of each split; and of clients, with statistics.
func TestMetricsOfAnExternalModel(t *testing.T) {
	t.Parallel()
	set := append(slices.Clone(withClasses), "run.rounds=3", "data.validation_fraction=0.2", "run.clients_every=1",
		`run.client_metrics=["error", "right", "auc"]`,
		"run.targets={ test_right = [30.0], test_right_worst10 = [1.0], train_auc = [0.3125] }")
	run := mustGather(t, parse(t, servedBy("", "-metrics"), set...), Options{})[0]
	var names []string
	for i := range run.Metrics {
		names = append(names, run.Metrics[i].FullName()+" "+run.Metrics[i].Better+" "+run.Metrics[i].Unit)
	}
	if got, want := strings.Join(names, ","),
		"train_error lower ,train_right higher %,train_auc lower ,validation_error lower ,validation_right higher "+
			"%,validation_auc lower ,test_error lower ,test_right higher %,test_auc lower "; got != want {
		t.Fatalf("declares\n%s\nwant\n%s", got, want)
	}
	for i := range run.Rounds {
		r := &run.Rounds[i]
		for part, lower := range map[string]float64{"train": 0.3125, "validation": 0.625, "test": 0.25} {
			right, wrong := value(r, part+"_right"), value(r, part+"_error")
			expect.That(t, math.Abs(right-100*(1-wrong)) < 1e-9,
				"round %d, %s: %g %% are right, and %g of the rows wrong", i, part, right, wrong)
			if auc := value(r, part+"_auc"); auc != lower || value(r, part+"_auc_worst10") != lower {
				t.Errorf("round %d: the metric of %s is %g, want %g", i, part, auc, lower)
			}
		}
		low, mean := value(r, "test_right_worst10"), value(r, "test_right_clients")
		expect.That(t, low < mean, "round %d: the worst clients have %g, all %g", i, low, mean)
	}
	for metric, level := range map[string]float64{"test_right": 30, "train_auc": 0.3125} {
		_, ok := run.Reached(results.Target{Metric: metric, Value: level})
		expect.That(t, ok, "%s never reaches %g", metric, level)
	}
	// Without metrics by client, the same values; and with runs that share their rounds.
	other := slices.DeleteFunc(slices.Clone(set),
		func(s string) bool { return strings.HasPrefix(s, "run.client") || strings.HasPrefix(s, "run.targets") })
	alone := mustGather(t, parse(t, servedBy("", "-metrics"), other...), Options{})[0]
	some := mustGather(t,
		parse(t, servedBy("", "-metrics"),
			append(other, "federation.protocol=deadline", "federation.deadline_s=1000")...), Options{})[0]
	for i := range alone.Rounds {
		for _, name := range []string{"train_right", "validation_right", "test_right", "test_auc"} {
			want := value(&run.Rounds[i], name)
			got := value(&alone.Rounds[i], name)
			expect.That(t, got == want, "round %d: %s is %g alone, %g with values by client", i, name, got, want)
			got = value(&some.Rounds[i], name)
			expect.That(t, got == want, "round %d: %s is %g under a deadline, %g in shared rounds", i, name, got, want)
		}
		expect.That(t, len(alone.Rounds[i].Metrics) == 6, "round %d has %v", i, alone.Rounds[i].Metrics)
	}
}

// Checkpoints keep the program's own metrics, of runs for themselves and of shared rounds.
func TestMetricsOfAnExternalModelResume(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"wait-for-all", "first"} {
		set := append(slices.Clone(withClasses), "run.rounds=6", "federation.protocol="+protocol)
		whole := mustGather(t, parse(t, servedBy("", "-metrics"), set...), Options{})[0]
		o := Options{Workers: 1,
			Checkpoints: CheckpointPolicy{Store: &checkpointtest.Store{Dir: t.TempDir()}, Clock: time.Now}}
		_, err := gather(t.Context(), parse(t, servedBy("", "-metrics", "-fault=evaluate/exit/9"), set...), o)
		expect.Must(t, err != nil, "no error")
		equalRuns(t, protocol, whole, mustGather(t, parse(t, servedBy("", "-metrics"), set...), o)[0])
	}
}

// Options are tuned for a metric of the program, and a run stops at one.
func TestTargetsOfAnExternalModel(t *testing.T) {
	t.Parallel()
	tune := `[experiment.tuning]
target = { test_right = 45.0 }
[experiment.tune.fedavg]
"options.step" = [1e-6, 0.1]
`
	run := mustGather(t,
		parse(t, servedBy(tune, "-metrics"),
			append(slices.Clone(withClasses), "run.rounds=10", "run.stop_at={ test_right = 45.0 }")...), Options{})[0]
	last, _ := run.Last()
	expect.That(t, strings.Contains(tunedTo(run), "0.1") && value(&last, "test_right") >= 45 && last.Round != 10,
		"tuned to %s, with %g %% in round %d", tunedTo(run), value(&last, "test_right"), last.Round)
}

// Names of metrics that the program does not declare are found when it has started, and wrong
// declarations and values say what is wrong.
func TestUnknownMetricsOfAnExternalModel(t *testing.T) {
	racetest.Skip(t, "checks errors, which one goroutine makes")
	t.Parallel()
	const names = `validation_accuracy, validation_accuracy_clients, train_right, train_auc, test_right, test_auc (`
	for _, c := range []struct {
		set, model, keys, want string
	}{
		{"run.targets={ test_rihgt = [1.0] }", "-metrics", "",
			`run.targets = "test_rihgt": must be one of suboptimality, `},
		{"run.targets={ test_rihgt = [1.0] }", "-metrics", "", names},
		{"run.targets={ validation_right = [1.0] }", "-metrics", "", names},
		{"run.targets={ test_right = [1.0] }", "", "", `run.targets = "test_right": must be one of`},
		{"run.stop_at={ test_rigth = 1.0 }", "-metrics", "", `run.stop_at = "test_rigth": must be one of`},
		{"run.rounds=1", "-metrics", "[experiment.figure]\ny = \"test_write\"",
			`experiment.figure.y = "test_write": must be one of`},
		{"run.rounds=1", "-metrics", "[experiment.tuning]\ntarget = { test_write = 1.0 }\n[experiment.tune.fedavg]\n" +
			"\"options.step\" = [0.1, 1.0]", `experiment.tuning.target = "test_write": must be one of`},
		{"run.client_metrics=[\"rigth\"]", "-metrics", "",
			`run.client_metrics[0] = "rigth": must be one of error, accuracy, loss, right, auc (did`},
		{"run.client_metrics=[\"auc\"]", "", "", `run.client_metrics[0] = "auc": must be one of error, accuracy, loss`},
		{"run.targets={ test_right_worst10 = [1.0] }", "-metrics", "",
			`run.targets = "test_right_worst10": needs values by client: run.client_metrics must hold "right"`},
		{"run.targets={ test_loss_worst10 = [1.0] }", "-metrics", "",
			`needs values by client: run.client_metrics must hold "loss"`},
		{"run.rounds=1", "-metrics -fault=hello/better/1", "",
			`hello: answers with metrics: has "auc" with better = "up": must be "higher" or "lower"`},
		{"run.rounds=1", "-metrics -fault=hello/computed/1", "",
			`hello: answers with metrics: has "error": fedsim has this measure of every model; leave it out`},
		{"run.rounds=1", "-metrics -fault=evaluate/metric/1", "",
			`model twin: evaluate of train rows of clients from 0 on: answers with metrics.left: ` +
				`is not a field here: known are right, auc`},
		{"run.rounds=1", "-metrics -fault=evaluate/null/1", "",
			`model twin: evaluate of train rows of clients from 0 on: answers with metrics.auc = null of client 0: ` +
				`must be a number, as its loss is one`},
		{"run.rounds=1", "-metrics -fault=evaluate/shorter/1", "",
			`answers with 4 values of metrics.auc: must be 5, one for each client`},
	} {
		of, err := scenario.Parse("small.toml", []byte(small+servedBy(c.keys, strings.Fields(c.model)...)),
			append(slices.Clone(withClasses), c.set))
		if err == nil {
			_, err = gather(t.Context(), of.Experiments, Options{Workers: 1})
		}
		expect.That(t, err != nil && strings.Contains(fmt.Sprint(err), c.want) && !strings.Contains(err.Error(), "\n"),
			"%s %s%s: got\n%v\nwant\n%s", c.set, c.model, c.keys, err, c.want)
	}
}
