package experiment

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// limitedRun has two methods: a device of fedavg holds 4 values, one of ditto three times as many.
const limitedRun = `
[data.synthetic]
clients = 6
features = 4
rows_min = 12
rows_max = 12
[problem]
loss = "logistic"
[run]
rounds = 3
[methods.fedavg]
[methods.ditto]
`

func endsOf(t *testing.T, set ...string) []results.Run {
	t.Helper()
	s := scenarioOf(t, limitedRun, set...)
	return expect.Value(storeOf(t, filepath.Join(t.TempDir(), "run"), s, 1, 0, ""))(t).Runs
}

// A limit above what devices hold changes no bit. Below it, the reference is that of the rows that fit, and the clients
// that cannot hold their models take no part and are counted. No client left is an error.
func TestMemoryOfDevices(t *testing.T) {
	free, ample := endsOf(t), endsOf(t, "data.memory_mb=[1]")
	for i := range free {
		expect.That(t, free[i].ModelHash != 0 && free[i].ModelHash == ample[i].ModelHash, "%s: models %x and %x",
			free[i].Method, free[i].ModelHash, ample[i].ModelHash)
		d := ample[i].Data
		expect.That(t, d == nil || d.ShortClients == 0, "%s: %+v", free[i].Method, d)
	}
	tight := endsOf(t, "data.memory_mb=[1, 0.0001]") // 100 bytes: a model of 32 and a row of 40, and no three models
	for i, unfit := range []int{0, 3} {
		d := tight[i].Data
		expect.That(t, d != nil && d.UnfitClients == unfit && d.ShortClients == 3-unfit,
			"%s: %+v, want %d without room", tight[i].Method, d, unfit)
		expect.That(t, tight[i].ModelHash != free[i].ModelHash, "%s: the limit has no effect", free[i].Method)
	}
	none := scenarioOf(t, limitedRun, "data.memory_mb=[1e-5]")
	_, err := storeOf(t, filepath.Join(t.TempDir(), "run"), none, 1, 0, "")
	const want = "data.memory_mb = [1e-05]: must be larger: no client can hold 1 times the 4 values of a model, and a"
	expect.That(t, err != nil && strings.Contains(err.Error(), want), "the error is %v", err)
	_, err = scenario.Parse("x.toml", []byte(limitedRun+"[data]\nmemory_mb = [0]\n"), nil)
	expect.That(t, err != nil, "a limit of 0 is accepted")
}

// The features of rows cost FLOPs in the first round alone: 12 training rows of 2,000 FLOPs each, at 500 FLOPs a
// second.
func TestEncoderCostsTimeAndEnergyOnce(t *testing.T) {
	slow := []string{"devices.clock_ghz=1e-6", "devices.flops_per_cycle=0.5", "network.jitter=0"}
	plain, encoded := endsOf(t, slow...), endsOf(t, append(slow, "data.encoder_flops=2000")...)
	for i := range plain {
		for h := range plain[i].Rounds[1:] {
			took := func(r *results.Run) (s, j float64) {
				return r.Rounds[h+1].TimeS - r.Rounds[h].TimeS, r.Rounds[h+1].EnergyJ
			}
			before, joules := took(&plain[i])
			now, more := took(&encoded[i])
			want := 0.0
			if h == 0 {
				want = 12 * 2000 / 500.
			}
			expect.That(t, math.Abs(now-before-want) < 1e-6, "%s, round %d takes %g s longer, want %g",
				plain[i].Method, h+1, now-before, want)
			expect.That(t, (more > joules+1e-9) == (h == 0), "%s, round %d: %g J and %g J", plain[i].Method, h+1,
				joules, more)
		}
		expect.That(t, plain[i].ModelHash == encoded[i].ModelHash, "%s: the encoder changes the model", plain[i].Method)
	}
}

// The server holds W and V of 30 tasks of 10 values and a coupling, at first a number, then F of 30 x 7, its diagonal
// and three numbers for each of 7 columns; during the update both, and W once more. A dense coupling of 6 tasks has 36
// entries and a factor. FedAvg has two models, FedAdam two more, FedEM three times two, FedU one for each client, and
// MIFA three and one for each of the clients that have responded.
func TestMemoryOfTheServer(t *testing.T) {
	const text = `
[data.synthetic]
clients = 30
features = 10
[problem]
loss = "logistic"
optimum.when = "never"
[federation]
clients_per_round = 7
protocol = "charged"
[run]
rounds = 1
outer = 2
server_memory = true
[methods.mocha]
[methods.fedavg]
[methods.fedadam]
[methods.fedem]
[methods.fedu]
[methods.mifa]
[methods.fedasync]
`
	end := func(set ...string) map[string][2]float64 {
		s := scenarioOf(t, text, set...)
		ends := map[string][2]float64{}
		for _, r := range expect.Value(storeOf(t, filepath.Join(t.TempDir(), "run"), s, 1, 0, ""))(t).Runs {
			var of [2]float64
			for i, name := range []string{"server_bytes", "server_peak_bytes"} {
				m, ok := r.Metric(name)
				expect.Must(t, ok, "%s has no %s", r.Method, name)
				of[i] = m.Of(&r.Rounds[len(r.Rounds)-1]) / 8
			}
			ends[r.Method] = of
		}
		return ends
	}
	low := 600 + 30*7 + 30 + 3*7. // seven tasks have a model that is not 0
	got := end()
	for method, want := range map[string][2]float64{
		"mocha": {low, 601 + (low - 600) + 300}, "fedavg": {20, 20}, "fedadam": {40, 40}, "fedem": {60, 60},
		"fedu": {300, 300},
	} {
		expect.That(t, got[method] == want, "%s: %v values, want %v", method, got[method], want)
	}
	expect.That(t, got["mifa"][0] >= 30+7*10 && got["mifa"][0] <= 30+14*10, "mifa has %v values", got["mifa"])
	expect.That(t, math.IsNaN(got["fedasync"][0]), "versions depend on time: %v", got["fedasync"])
	dense := end("data.synthetic.clients=6", "federation.clients_per_round=6")["mocha"][0]
	expect.That(t, dense == 120+72, "with a dense coupling %g values", dense)

	_, err := scenario.Parse("x.toml", []byte(text), []string{"run.mode=timing", "run.outer=1"})
	const want = "run.server_memory = true: must be false in timing mode"
	expect.That(t, err != nil && strings.Contains(err.Error(), want), "the error is %v", err)
}
