package experiment

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedsim/internal/tools/expect"
)

// Links of different rates and much jitter, and four timeouts, each of which ends some tries. Every latency is 0.1 s.
const givenUp = `
[data.synthetic]
clients = 5
features = 6
rows_min = 10
rows_max = 30
[devices]
flops_scale = 1e6
battery.wh = "mains"
[network]
profile = "wifi"
downlink_mbps = 0.004
uplink_mbps = 0.003
rtt_ms = 200
rate_spread = 0.5
jitter = 0.6
wire.timeout_s = 0.7
wire.idle_timeout_s = 0.15
[federation]
protocol = "deadline"
deadline_s = 1.2
protocol_options.fit_work = false
[run]
mode = "timing"
rounds = 3000
[methods.mocha]
`

func before(t *testing.T, source string, set ...string) *FirstTries {
	t.Helper()
	return expect.Value(Before(t.Context(), scenarioOf(t, source, set...).Experiments))(t)[0]
}

// As many tries bring a response as was expected before the first round.
func TestBeforeForetellsResponses(t *testing.T) {
	for _, set := range [][]string{nil, {"network.wire.idle_timeout_s="}, {"network.wire.timeout_s="},
		{"network.jitter=0"}, {"federation.deadline_s=0.9"}, {"federation.protocol_options.fit_work=true"}} {
		run := mustGather(t, scenarioOf(t, givenUp, set...).Experiments, Options{Workers: 1})[0]
		n, taken := 0.0, 0.0
		for i := range run.Rounds[1:] {
			n, taken = n+5, taken+float64(run.Rounds[1+i].Participants)
		}
		got := before(t, givenUp, set...)
		if math.Abs(taken/n-got.Arrives) > 4*math.Sqrt(0.25/n) {
			t.Errorf("%v: %.4f of the tries brought a response, %.4f were expected", set, taken/n, got.Arrives)
		}
		sum := got.Arrives
		for _, e := range got.Ends {
			sum += e.Share
		}
		expect.That(t, math.Abs(sum-1) < 1e-9, "%v: the probabilities have the sum %v", set, sum)
	}
}

// The timeout that ends a try first is the first in a loop over drawn tries.
func TestBeforeNamesTheFirstTimeout(t *testing.T) {
	const draws, latency = 100_000, 0.1
	got := before(t, givenUp)
	sigma, rng := math.Sqrt(math.Log1p(0.6*0.6)), rand.New(rand.NewPCG(3, 5))
	jitter := func() float64 { return math.Exp(sigma*rng.NormFloat64() - sigma*sigma/2) }
	ends := map[FirstEnd]float64{}
	for range draws {
		w, now, end := got.Worst[rng.IntN(5)], 0.0, FirstEnd{}
		for _, way := range []string{"downlink", "uplink"} {
			length, factor := w.DownlinkS, jitter()
			if way == "uplink" {
				length, now = w.UplinkS, now+w.ComputeS
			}
			at := now + length*factor
			for _, e := range got.Ends {
				e.Share = 0
				switch quiet, after := e.Key == "network.wire.idle_timeout_s", now+e.AfterS; {
				case e.During == way && (!quiet || latency*factor > e.AfterS) && after < at:
					at, end = after, e
				case e.During == "try" && e.AfterS < at:
					at, end = max(now, e.AfterS), e
				}
			}
			if end != (FirstEnd{}) {
				break
			}
			now = at
		}
		ends[end] += 1. / draws
	}
	for _, e := range got.Ends {
		share := e.Share
		e.Share = 0
		if math.Abs(share-ends[e]) > 4*math.Sqrt(share*(1-share)/draws)+2e-3 || share < 0.01 {
			t.Errorf("%+v ends %.4f of the tries first, %.4f of those drawn", e, share, ends[e])
		}
	}
	expect.That(t, math.Abs(got.Arrives-ends[FirstEnd{}]) < 8e-3, "%v arrive, %v of those drawn", got.Arrives,
		ends[FirstEnd{}])
}
