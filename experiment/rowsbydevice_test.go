package experiment

import (
	"fmt"
	"testing"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/mtl"
)

// Without run.devices, a run has rows by device if devices times the rounds that it may make are at most 200,000. The
// rounds that its time has are an estimate, which fits the rounds of the run.
func TestRunsHaveUpToSoManyRowsByDevice(t *testing.T) {
	racetest.Skip(t, "compares many small runs; TestRecordedRunsEqualComputedOnes makes runs in parallel")
	t.Parallel()
	const timed = "run.max_time_s=%g"
	for _, c := range []struct {
		sets []string
		want bool
	}{
		{nil, true}, // 20 devices, 100 rounds
		{[]string{"run.rounds=10000"}, true},
		{[]string{"run.rounds=10001"}, false},
		{[]string{"run.rounds=10001", "run.devices=true"}, true},
		{[]string{"run.devices=false"}, false},
		{[]string{`run.devices="auto"`, "run.theta_every=1"}, false},
		{[]string{"run.outer=2", "run.rounds=5001"}, false},
		{[]string{"run.rounds=10001", fmt.Sprintf(timed, 100.0)}, true},
		{[]string{"federation.protocol=deadline", "federation.deadline_s=0.5", fmt.Sprintf(timed, 5000.0)}, true},
		{[]string{"federation.protocol=deadline", "federation.deadline_s=0.5", fmt.Sprintf(timed, 5001.0)}, false},
		{[]string{fmt.Sprintf(timed, 10.0)}, true},
		{[]string{fmt.Sprintf(timed, 1e6)}, false},
		{[]string{"data.synthetic.clients=1000000", "run.rounds=1", "run.mode=timing"}, false},
		{[]string{
			"federation.population=lazy", "run.mode=timing", "federation.selection=uniform-rejection",
			"federation.clients_per_round=2", "devices.battery.wh=mains",
		}, false},
	} {
		run, about, rows, values := described(t, c.sets...)
		got := recordsDevices(run, &about, len(rows), rows, values)
		expect.That(t, got == c.want, "%v: rows by device: %t", c.sets, got)
	}
	inTime := fmt.Sprintf(timed, 20.0)
	run, about, rows, values := described(t, inTime)
	made := len(mustGather(t, scenarioOf(t, twenty, inTime).Experiments, Options{})[0].Rounds) - 1
	n := roundsOf(run, &about, rows, values)
	expect.That(t, n >= float64(made) && n <= 1.5*float64(made), "%d rounds in 20 s, estimated as %g", made, n)
}

const twenty = "[methods.mocha]\n[data.synthetic]\nclients = 20\nfeatures = 10\n"

// described returns the run of a scenario of twenty devices, its method, and the sizes of its data and model.
func described(t *testing.T, sets ...string) (*scenario.RunSpec, algorithms.Description, []int32, int) {
	t.Helper()
	run := &scenarioOf(t, twenty, sets...).Experiments[0].Jobs[0].Candidates[0]
	rows, _, features, outputs, err := data.Sizes(run.Settings.Data)
	expect.NoError(t, err)
	shape := mtl.Shape{Features: features, Outputs: outputs}
	return run, run.Describe(shape), rows, shape.Values()
}
