package experiment

import (
	"math"
	"strings"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// Each FLOP of a scaled device stands for a thousand, as on a device of a thousandth of the
// clock, and each byte for a hundred, as on links of a hundredth of the rates, also where links
// share a server's. Counts remain those of the model that runs.
func TestScalesOfWork(t *testing.T) {
	const methods = `
[network]
profile = "lte"
jitter = 0.3
[methods.mocha]
[methods.fedavg]
`
	for name, more := range map[string][]string{
		"links":    nil,
		"deadline": {"federation.protocol=deadline", "federation.deadline_s=20"},
		"timing":   {"run.mode=timing"},
		"energy":   {"network.bytes_scale=1", "network.downlink_mbps=", "network.uplink_mbps="},
	} {
		slow := mustGather(t,
			parse(t, methods,
				append([]string{"run.rounds=5", "devices.clock_ghz=2e-6", "devices.flops_per_cycle=1",
					"network.downlink_mbps=0.4", "network.uplink_mbps=0.1"}, more...)...), Options{})
		scaled := mustGather(t,
			parse(t, methods,
				append([]string{"run.rounds=5", "devices.clock_ghz=2e-3", "devices.flops_per_cycle=1",
					"network.downlink_mbps=40", "network.uplink_mbps=10", "devices.flops_scale=1000",
					"network.bytes_scale=100"}, more...)...), Options{})
		for i := range slow {
			a, b := lastRound(slow[i]), lastRound(scaled[i])
			if math.Abs(a.TimeS-b.TimeS) > 1e-6*a.TimeS || a.TimeS < 1 || a.FLOPs != b.FLOPs || a.BytesUp != b.BytesUp {
				t.Errorf("%s, %s: slow %g s, %g FLOPs, %g bytes; scaled %g s, %g FLOPs, %g bytes", name, slow[i].Method,
					a.TimeS, a.FLOPs, a.BytesUp, b.TimeS, b.FLOPs, b.BytesUp)
			}
			expect.That(t, name != "energy" || math.Abs(a.EnergyJ-b.EnergyJ) <= 1e-6*a.EnergyJ,
				"%s: slow %g J, scaled %g J", slow[i].Method, a.EnergyJ, b.EnergyJ)
			if w := scaled[i].Warnings; len(w) == 0 ||
				!strings.Contains(w[0].Text, "each FLOP stands for 1000 in times") {
				t.Errorf("%s: warnings %v do not name the scale", name, w)
			}
		}
	}

	shared := func(server string, more ...string) float64 {
		runs := mustGather(t,
			parse(t, methods,
				append([]string{"run.rounds=3", "network.jitter=0", "network.rtt_ms=0",
					"network.shared.server_up_mbps=" + server}, more...)...), Options{})
		return lastRound(runs[0]).TimeS
	}
	if slow, scaled := shared("0.01", "network.downlink_mbps=0.4", "network.uplink_mbps=0.1"),
		shared("1", "network.downlink_mbps=40", "network.uplink_mbps=10",
			"network.bytes_scale=100"); math.Abs(slow-scaled) > 1e-6*slow {
		t.Errorf("shared links: slow %g s, scaled %g s", slow, scaled)
	}

	for _, key := range []string{
		"devices.flops_scale", "network.bytes_scale",
		"overhead.task_s", "overhead.step_s", "overhead.s_per_gb", "overhead.compute_jitter",
	} {
		_, err := scenario.Parse("x.toml", []byte(small+"[methods.mocha]\n"),
			[]string{key + "=2", "federation.cost=relative"})
		expect.That(t, err != nil && strings.Contains(err.Error(), key), "%s with relative costs: %v", key, err)
	}
}

func lastRound(r results.Run) results.Round { return r.Rounds[len(r.Rounds)-1] }
