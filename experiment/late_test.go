package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fedsim/internal/tools/expect"
)

// An availability trace carries tasks that appear late or vanish (docs/personal.md). Until client 3 appears its dual
// variables are 0 and the duality gap holds; then MOCHA goes to the optimum of all tasks, as if it had been there from
// the start. Client 2 vanishes after its task is solved, and keeps its model.
func TestTasksAppearLateAndVanish(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "clients.csv")
	text := "device,time_s,kind,value\n"
	for _, rows := range []string{"a,0,available,1", "b,0,available,1", "c,0,available,1\nc,300,available,0",
		"d,0,available,0\nd,30,available,1"} {
		text += rows + "\n" + rows[:1] + ",1000,end,\n"
	}
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	const settings = `
[data.synthetic]
clients = 4
features = 6
rows_min = 10
rows_max = 20
[problem]
regularizer = "mean"
optimum.gap = 1e-10
[devices]
battery.wh = "mains"
[federation]
protocol = "deadline"
deadline_s = 0.3
[run]
rounds = 1500
[methods.mocha]
options.epochs = 5
`
	trace := fmt.Sprintf("traces.files=[%q]", path)
	runs := mustGather(t, scenarioOf(t, settings, trace, "traces.wrap=false", "traces.assignment=in-order").Experiments,
		Options{})
	early, late, gone := 0.0, 0.0, 0
	for _, r := range runs[0].Rounds {
		expect.That(t, r.Gap > -1e-12, "round %d has a gap of %g", r.Round, r.Gap)
		switch {
		case r.Round == 0:
		case r.TimeS < 29:
			early = r.Suboptimality
			expect.That(t, r.Participants == 3, "%d clients at %g s", r.Participants, r.TimeS)
		case r.TimeS > 301:
			late, gone = r.Suboptimality, gone+1
			expect.That(t, r.Participants == 3, "%d clients at %g s", r.Participants, r.TimeS)
		}
	}
	expect.That(t, early > 1e-2, "without client 3 the sub-optimality is %g", early)
	expect.That(t, late < 1e-9 && gone > 400, "at the end it is %g", late)
}
