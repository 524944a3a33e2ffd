package experiment

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
)

// A join of FedAvg is a message of 5 values and 5 gradient steps on the rows: its bytes, seconds and joules are
// computed here from the numbers of the devices and links. Without rows a client does no work. No target of a tuning
// is an error of new clients; the run after the trials, which evaluate none, has them.
func TestJoinsCostBytesTimeAndEnergy(t *testing.T) {
	const text = `
[data]
new_clients = 0.25
new_rows = [0, 4]
validation_fraction = 0.2
[data.synthetic]
clients = 8
features = 5
rows_min = 10
rows_max = 10
[problem]
loss = "logistic"
optimum.when = "never"
[devices]
clock_ghz = 1e-6
flops_per_cycle = 0.5
flops_scale = 2
idle_w = 1
compute_w = 3
battery.wh = "mains"
[network]
downlink_mbps = 8e-3
rtt_ms = 500
wire.header_bytes = 60
[run]
rounds = 2
[methods.fedavg]
[[experiment]]
name = "e"
tuning.target = { validation_error = 0.001 }
tune.fedavg = { "options.step" = [0.1, 0.2] }
`
	_, err := scenario.Parse("x.toml", []byte(strings.Replace(text, "validation_error =", "new_error_4 =", 1)), nil)
	const want = `experiment.tuning.target = "new_error_4": must be one of`
	expect.That(t, err != nil && strings.Contains(err.Error(), want), "tuning by new clients: %v", err)
	s := scenarioOf(t, text)
	found := expect.Value(storeOf(t, filepath.Join(t.TempDir(), "run"), s, 1, 0, ""))(t)
	r := &found.Runs[0]
	last := func(name string) float64 {
		m, ok := r.Metric(name)
		expect.Must(t, ok, "no metric %s in %v", name, r.Metrics)
		return m.Of(&r.Rounds[len(r.Rounds)-1])
	}
	near := func(name string, want float64) {
		t.Helper()
		expect.That(t, math.Abs(last(name)-want) < 1e-6*want, "%s = %g, want %g", name, last(name), want)
	}
	const down = 0.25 + 100*8/8e3 // half the round trip, and 5 values of 8 bytes with a header of 60
	const flops = 5 * (4*4*5 + 5*5)
	const compute = 2 * flops / 500.
	near("new_bytes_0", 100)
	near("new_bytes_4", 100)
	near("new_time_s_0", down)
	near("new_flops_4", flops)
	near("new_time_s_4", down+compute)
	receives := last("new_energy_j_0") / down // the idle power, and that of the radio
	expect.That(t, receives > 1, "a client draws %g W while it receives", receives)
	near("new_energy_j_4", receives*down+3*compute)
}
