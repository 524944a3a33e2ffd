package experiment

import (
	"math"
	"strings"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
)

const refitted = `
[data]
validation_fraction = 0.3
[methods.mocha]
[methods.fedavg]
[[experiment]]
name = "x"
[experiment.tuning]
target = { validation_error = 0.0001 }
refit = true
[experiment.tune.mocha]
"problem.lambda" = [0.1, 0.001]
`

// With refit, options are chosen by validation rows, and the runs have the bits of runs of the
// winner on all training rows.
func TestRefitTrainsOnValidationRows(t *testing.T) {
	varied := []string{"run.seeds=[1, 2]", "run.vary=split", "run.rounds=5"}
	got := mustGather(t, parse(t, refitted, varied...), Options{})
	lambda := got[0].Tuned[0].Value
	plain := strings.NewReplacer("validation_fraction = 0.3", "", "refit = true", "").Replace(refitted)
	plain, _, _ = strings.Cut(plain, "[experiment.tuning]")
	want := mustGather(t, parse(t, plain, append(varied, "problem.lambda="+lambda)...), Options{})
	held := mustGather(t, parse(t, strings.Replace(refitted, "refit = true", "", 1), varied...), Options{})
	for i := range want {
		expect.That(t, got[i].ModelHash == want[i].ModelHash,
			"run %d: the model differs from that on all training rows", i)
		expect.That(t, held[i].ModelHash != want[i].ModelHash,
			"run %d: validation rows are trained on without refit", i)
		r := got[i]
		if last, _ := r.Last(); !math.IsNaN(last.ValidationError) {
			t.Errorf("run %d: the error on validation rows is %g, and there are none", i, last.ValidationError)
		}
	}
	expect.That(t, held[0].Tuned[0].Value == lambda, "refit changes the choice")
}

func TestRefitNeedsValidationRows(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"data.validation_fraction=0", "must be positive with experiment.tuning.refit"},
		{"run.stop_at={validation_error=0.1}", "runs of winners have no validation rows"},
	} {
		_, err := scenario.Parse("small.toml",
			[]byte(small+strings.Replace(refitted, "validation_error", "test_error", 1)), []string{c.set})
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "%s: %v", c.set, err)
	}
}
