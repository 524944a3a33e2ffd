package experiment

import (
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
)

// Links that have faded to a half all the time are links of half the rate: every figure
// of every round. Links that do fade are slower than those that do not.
func TestFadedLinksAreSlowLinks(t *testing.T) {
	const source = `
[methods.mocha]
[network]
downlink_mbps = 0.25
uplink_mbps = 0.125
[traces.fading]
`
	faded := mustGather(t, parse(t, source+"levels = [0.5]\nmean_s = [1]\n"), Options{Workers: 2})
	slow := mustGather(t,
		parse(t, source+"levels = [1]\nmean_s = [1]\n", "network.downlink_mbps=0.125", "network.uplink_mbps=0.0625"),
		Options{Workers: 2})
	still := mustGather(t, parse(t, source+"levels = [1, 1, 1]\nmean_s = [0.01, 0.02, 0.03]\n"), Options{Workers: 2})
	often := mustGather(t, parse(t, source+"levels = [1, 0.1]\nmean_s = [0.01, 0.02]\n"), Options{Workers: 2})
	for h, r := range faded[0].Rounds {
		if s := slow[0].Rounds[h]; r.TimeS != s.TimeS || r.Primal != s.Primal || r.BytesUp != s.BytesUp {
			t.Fatalf("round %d: %+v faded, %+v slow", h, r, s)
		}
		if s, f := still[0].Rounds[h],
			often[0].Rounds[h]; h > 0 && (!(s.TimeS < r.TimeS) || !(s.TimeS < f.TimeS) || s.Primal != f.Primal) {
			t.Fatalf("round %d ends at %g s on still links, %g on halved, %g on fading ones", h, s.TimeS, r.TimeS,
				f.TimeS)
		}
	}
}

// The rows of a run's devices are what speed goes with.
func TestFleetsKnowTheData(t *testing.T) {
	racetest.Skip(t, "compares many small runs; other tests run as much in parallel")
	const source = `
[methods.mocha]
[network]
profile = "lte"
[fleet]
name = "mixed"
`
	timeS := map[string]float64{}
	for _, rho := range []string{"-1", "0", "1"} {
		r := mustGather(t,
			parse(t, source, "data.synthetic.clients=40", "data.synthetic.rows_max=300",
				"fleet.data_speed_correlation="+rho), Options{Workers: 2})[0]
		timeS[rho] = r.Rounds[len(r.Rounds)-1].TimeS
	}
	expect.That(t, timeS["-1"] != timeS["0"] && timeS["0"] != timeS["1"] && timeS["-1"] != timeS["1"],
		"runs end at %v s for three correlations of data and speed, must differ", timeS)
}
