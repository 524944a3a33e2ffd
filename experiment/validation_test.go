package experiment

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
)

// exportRows writes prepared rows with or without other labels of the test rows, and returns
// the folder.
func exportRows(t *testing.T, invert bool) string {
	t.Helper()
	cfg := data.Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.Features = 8, 10
	split := expect.Value(data.Prepare(cfg))(t)
	for k := range split.Test.Clients {
		for i, y := range split.Test.Clients[k].Y {
			if invert {
				split.Test.Clients[k].Y[i] = -y
			}
		}
	}
	dir := t.TempDir()
	expect.NoError(t, data.Export(split, func(name string, fill func(io.Writer) error) error {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close()
		return fill(f)
	}))
	return dir
}

// The labels of test rows decide neither options nor the end of a run that is tuned and stopped
// by validation rows; those of a run that is tuned by test rows they do.
func TestTestRowsDecideNothing(t *testing.T) {
	racetest.Skip(t, "compares many small runs; TestRecordedRunsEqualComputedOnes makes runs in parallel")
	folders := []string{exportRows(t, false), exportRows(t, true)}
	decide := func(metric string) (decisions []string, errors []float64) {
		for _, folder := range folders {
			s := expect.Value(scenario.Parse("x.toml", []byte(fmt.Sprintf(`
[data]
source = "npz"
path = %q
validation_fraction = 0.25
[run]
rounds = 10
seeds = [1, 2]
stop_at = { %s = 0.2 }
[methods.fedavg]
[methods.mocha]
[[experiment]]
name = "x"
[experiment.tuning]
target = { %[2]s = 0.001 }
extend = 2
[experiment.tune.fedavg]
"options.step" = [1e-4, 1e-2, 1]
[experiment.tune.mocha]
"problem.lambda" = [1e-4, 1e-2, 1, 100]
`, folder, metric)), nil))(t)
			runs := mustGather(t, s.Experiments, Options{})
			text := ""
			for i := range len(runs) {
				r := runs[i]
				text += fmt.Sprintf("%s %v %v after %d rounds, model %x\n", r.Method, r.Tuned, r.Edges, len(r.Rounds),
					r.ModelHash)
				errors = append(errors, r.Rounds[len(r.Rounds)-1].TestError)
			}
			decisions = append(decisions, text)
		}
		return decisions, errors
	}
	d, errors := decide("validation_error")
	expect.That(t, d[0] == d[1], "the labels of test rows decide:\n%s\n%s", d[0], d[1])
	n := len(errors) / 2
	expect.That(t, !slices.Equal(errors[:n], errors[n:]), "the test rows have the same labels")
	if d, _ := decide("test_error"); d[0] == d[1] {
		t.Error("tuned by test rows, other labels make no difference: the test shows nothing")
	}
}

// The error of a round on validation rows is the mean over clients of their own, and unknown
// where the round is not evaluated.
func TestValidationErrorOfRounds(t *testing.T) {
	s := expect.Value(scenario.Parse("x.toml", []byte(`
[data]
validation_fraction = 0.3
[run]
rounds = 3
eval_every = 2
clients_every = 2
client_metrics = ["error"]
[methods.mocha]
[methods.fedavg]
`), nil))(t)
	for _, r := range mustGather(t, s.Experiments, Options{}) {
		x := &r.Rounds[2]
		for _, v := range x.Metrics {
			want := map[string]float64{"validation_error": x.ValidationError,
				"validation_error_clients": x.ValidationErrorClients}[v.FullName()]
			expect.That(t, want == 0 || math.Abs(v.Value-want) <= 1e-12,
				"%s: %s %g, by client %g", r.ID, v.FullName(), want, v.Value)
		}
		if _, ok := r.Metric("validation_error_worst10"); !ok || x.ValidationError == x.TestError {
			t.Errorf("%s: validation error %g, test error %g", r.ID, x.ValidationError, x.TestError)
		}
		if x := r.Rounds[1].ValidationError; !math.IsNaN(x) {
			t.Errorf("%s: %g in a round without an evaluation", r.ID, x)
		}
	}
}
