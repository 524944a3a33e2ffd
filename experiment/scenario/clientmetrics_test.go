package scenario

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// Names of statistics that can have no value are refused with a remedy, and others accepted.
func TestStatisticsAreChecked(t *testing.T) {
	const base = `
[run]
client_metrics = ["error", "loss", "auc"]
[methods.mocha]
[[experiment]]
name = "x"
[experiment.figure]
y = "test_error"
[experiment.tune.mocha]
"options.epochs" = [1.0, 2.0]
[experiment.tuning]
target = { test_error = 0.1 }
`
	const every = "run.clients_every=5"
	for _, c := range []struct {
		set  []string
		want string // empty: accepted
	}{
		{[]string{"run.targets={test_error_worst10=[0.3]}"}, ""},
		{[]string{"run.stop_at={test_error_worst10=0.3}"},
			"run.stop_at.test_error_worst10 = 0.3: needs values by client during the run: run.clients_every must be " +
				"positive"},
		{[]string{"run.stop_at={test_error_worst10=0.3}", every}, ""},
		{[]string{"run.stop_at={train_loss_jain=3}", every}, ""},
		{[]string{"run.stop_at={test_error_worst10=3}", every}, "must be in (0, 1]"},
		{[]string{"run.stop_at={test_auc_p10=0.7}", every}, ""},
		{[]string{"run.stop_at={test_auc=0.7}", every}, ""},
		{[]string{"run.stop_at={test_auc=0.7}"},
			"needs values by client during the run: run.clients_every must be positive"},
		{[]string{"run.stop_at={test_error_clients=0.3}", "run.client_metrics=[]"}, ""},
		{[]string{"run.stop_at={test_accuracy_clients=0.7}", "run.client_metrics=[]"}, ""},
		{[]string{"run.targets={train_loss_clients=[0.7]}"}, ""},
		{[]string{"run.targets={test_loss=[0.7]}", "run.client_metrics=[]"}, `must hold "loss"`},
		{[]string{"run.stop_at={test_error_weighted=0.3}", every},
			`must be "test_error": test_error is the mean by rows, and test_error_clients the mean over clients`},
		{[]string{"run.targets={train_loss_mean=[0.3]}"},
			`must be "train_loss_clients": train_loss is the mean by rows, and train_loss_clients the mean over ` +
				`clients`},
		{[]string{`run.metric="test_accuracy_clients"`}, ""},
		{[]string{`run.metric="test_error_worst10"`}, ""},
		{[]string{`run.metric="test_accuracy_worst10"`},
			`run.metric="test_accuracy_worst10": needs values by client: run.client_metrics must hold "accuracy"`},
		{[]string{`run.metric="test_accuracy_weighted"`},
			`run.metric="test_accuracy_weighted": must be "test_accuracy"`},
		{[]string{`run.metric="test_eror"`}, `did you mean "test_error"?`},
		{[]string{`run.metric="validation_error"`}, "needs validation rows: data.validation_fraction must be positive"},
		{[]string{`run.metric="test_error_clients"`, `run.mode="timing"`},
			`run.metric="test_error_clients": must be left out in mode "timing", which does not learn`},
		{[]string{"run.stop_at={test_accuracy_sd=0.7}", every}, `must hold "accuracy"`},
		{[]string{"run.targets={validation_error_sd=[0.7]}"},
			"needs validation rows: data.validation_fraction must be positive"},
		{[]string{"run.targets={validation_error_sd=[0.7]}", "data.validation_fraction=0.2"}, ""},
		{[]string{"run.targets={test_error_p11=[0.7]}"}, "must be one of suboptimality"},
		{[]string{"run.targets={primal_mean=[0.7]}"}, "must be one of suboptimality"},
		{[]string{"run.targets={test_error_p10=[0.7]}", "data.test_fraction=0"},
			"needs test rows: data.test_fraction must be positive"},
		{[]string{"run.targets={train_error_p10=[0.7]}", "data.test_fraction=0", `experiment.x.figure.y="primal"`,
			"experiment.x.tuning.target.suboptimality=0.1"}, ""},
		{[]string{"run.client_metrics=[]", "run.targets={test_error_p10=[0.7]}"}, `must hold "error"`},
		{[]string{`run.client_metrics=["eror"]`}, `must be one of error, accuracy, loss, auc (did you mean "error"?)`},
		{[]string{`run.client_metrics=["auc", "auc"]`}, "must hold every metric once"},
		{[]string{"run.clients_every=-1"}, "run.clients_every=-1: must not be negative"},
		{[]string{every, "run.eval_every=2"}, "must be a multiple of run.eval_every, which is 2"},
		{[]string{every, "run.client_metrics=[]"}, "must be 0 without run.client_metrics"},
		{[]string{`data.target="real"`, `problem.loss="squared"`},
			`run.client_metrics[2] = "auc": must be "error" or "loss" with real targets`},
		{[]string{`run.mode="timing"`}, `must be empty in mode "timing", which does not learn`},
	} {
		_, err := Parse("x.toml", []byte(base), c.set)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v\nwant %s", c.set, err, c.want)
		}
	}
	for change, want := range map[string]string{
		`y = "test_error_p90"`: "experiment.figure.y = \"test_error_p90\"",
		`y = "test_accuracy_p90"`: `experiment.figure.y = "test_accuracy_p90": needs values by client: ` +
			`run.client_metrics must hold "accuracy"`,
		`target = { test_loss_clients = 1 }`: "experiment.tuning.target.test_loss_clients = 1",
	} {
		key, _, _ := strings.Cut(change, " ")
		old := map[string]string{"y": `y = "test_error"`, "target": "target = { test_error = 0.1 }"}[key]
		_, err := Parse("x.toml", []byte(strings.Replace(base, old, change, 1)), nil)
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: %v\nwant %s", change, err, want)
		_, err = Parse("x.toml", []byte(strings.Replace(base, old, change, 1)),
			[]string{every, `run.client_metrics=["error","loss","accuracy"]`})
		expect.That(t, err == nil, "%s: %v", change, err)
	}
	// A learner may report metrics that the run does not compute.
	const learner = "[methods.own]\nalgorithm = \"external\"\nprogram.command = [\"true\"]\n"
	for _, set := range []string{"run.stop_at={test_accuracy_worst10=0.7}", "run.stop_at={rouge_clients=0.7}"} {
		_, err := Parse("x.toml", []byte(learner), []string{set})
		expect.That(t, err == nil, "%s: %v", set, err)
	}
}
