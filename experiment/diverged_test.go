package experiment

import (
	"path/filepath"
	"testing"

	"fedsim/internal/tools/expect"
)

// A trial whose model is NaN when Omega would be updated keeps the coupling, loses, and ends no run.
func TestDivergedTrialsLoseBeforeAnUpdateOfOmega(t *testing.T) {
	const text = `
[data]
target = "real"
validation_fraction = 0.2
[data.synthetic]
clients = 5
features = 4
[problem]
loss = "squared"
optimum.when = "never"
[run]
rounds = 40
outer = 2
[methods.fedavg]
[[experiment]]
name = "e"
tuning.target = { validation_error = 0.0001 }
tune.fedavg = { "options.step" = [0.01, 100] }
`
	found := expect.Value(storeOf(t, filepath.Join(t.TempDir(), "run"), scenarioOf(t, text), 1, 0, ""))(t)
	tuned := found.Runs[0].Tuned
	expect.That(t, len(tuned) == 1 && tuned[0].Value == "0.01", "tuned to %v", tuned)
}
