package steady

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"fedsim/cmd/fedsim/command"
	"fedsim/results/rundir"
)

// A run of so many devices and rounds takes their product in steps of each, and never
// breaks weak duality.
func TestStepsAreTheSameEverywhere(t *testing.T) {
	const scenario = `
[data.synthetic]
clients = 6
rows_min = 10
rows_max = 90
[problem]
optimum.when = "never"
[run]
rounds = 15
[methods.steady]
options.steps = 37
`
	dir := t.TempDir()
	file, made := filepath.Join(dir, "x.toml"), filepath.Join(dir, "x")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := command.Main([]string{"run", file, "--out", made}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, &out, &errs)
	}
	r, err := rundir.Read(made)
	if err != nil {
		t.Fatal(err)
	}
	run := r.Runs[0]
	if want := int64(6 * 15 * 37); run.Steps != want {
		t.Errorf("%d steps, want %d", run.Steps, want)
	}
	last := run.Rounds[0].Gap
	for _, x := range run.Rounds[1:] {
		if x.Participants != 6 || x.Gap < -1e-9*math.Abs(x.Primal) {
			t.Errorf("round %d: %d took part, gap %g", x.Round, x.Participants, x.Gap)
		}
	}
	if got := run.Rounds[15].Gap; !(got < 0.5*last) {
		t.Errorf("the gap went from %g to %g: nothing was learnt", last, got)
	}
}
