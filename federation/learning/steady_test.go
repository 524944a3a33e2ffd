//go:build !race

package learning

// The race detector empties pools at random, so allocations are not counted
// under it.

import (
	"fmt"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/parallel"
)

// busy makes n devices of ten rows with faults, jitter and batteries.
func busy(t testing.TB, n int, protocol string, change ...func(*Setup)) *Federation {
	rows := make([]int, n)
	for k := range rows {
		rows[k] = 10
	}
	f := start(t, world(t, "mocha", protocol, func(s *Setup) {
		p := randomProblem(t, features, rows...)
		cfg := p.Config
		cfg.Regularizer = "independent" // the algorithm's own work stays linear in n
		s.Problem = withConfig(t, p, cfg)
		s.Pool = parallel.NewPool(1)
		joules(s, 1000)
		s.Devices.ChargeW = 100
		s.Network.Jitter, s.Network.LossProbability = 0.3, 0.05
		s.Faults.DropProbability.All, s.Faults.DropPhase = 0.1, devices.AtRandom
		for _, c := range change {
			c(s)
		}
	}))
	f.clients.Begin()
	return f
}

// A round allocates the closures of its parallel loop and nothing for a device or an event, also
// behind hubs, and where what devices and links do changes all the time.
func TestRoundsAllocateNothingPerDevice(t *testing.T) {
	for name, change := range map[string]func(*Setup){
		"plain": func(*Setup) {},
		"hubs":  func(s *Setup) { s.Network.HubSize = 10 },
		"models": func(s *Setup) {
			s.Speed, s.Bandwidth = servertest.Turns{Each: 20_000_000, Fast: 1, Slow: 0.3}, steady{0.7}
		},
	} {
		for _, protocol := range []string{federation.WaitForAll, protocols.Deadline, protocols.Charged} {
			var per [2]float64
			for i, n := range []int{300, 1500} { // few devices have no parallel loops
				f := busy(t, n, protocol, change)
				for range 10 { // until the engine's tables have grown
					f.runRound()
				}
				per[i] = testing.AllocsPerRun(5, func() { f.runRound() })
				if f.server.Stalled() != "" {
					t.Fatal(f.server.Stalled())
				}
			}
			t.Logf("%s, %s: %g allocations a round of 300 devices, %g of 1500", name, protocol, per[0], per[1])
			// Six with one worker for each of three loops: what parallel.For keeps of
			// a loop, its closure and the bound handler.
			if per[0] > 18 || per[1] > per[0]+2 { // a table of the engine may still grow
				t.Errorf("%s, %s: %g allocations a round of 300 devices, %g of 1500: want the same few", name, protocol,
					per[0], per[1])
			}
		}
	}
}

func BenchmarkRound(b *testing.B) {
	for _, protocol := range []string{federation.WaitForAll, protocols.Deadline} {
		for _, n := range []int{30, 1000} {
			b.Run(fmt.Sprintf("%s/%d", protocol, n), func(b *testing.B) {
				f := busy(b, n, protocol)
				b.ReportAllocs()
				b.ResetTimer()
				fired := f.clients.Clock().Fired()
				for range b.N {
					f.runRound()
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rounds/s")
				b.ReportMetric(float64(f.clients.Clock().Fired()-fired)/float64(b.N), "events/round")
			})
		}
	}
}

// steady is a bandwidth that does not change, or does at every instant of a grid to
// the same.
type steady struct{ factor float64 }

func (s steady) Downlink(_ int, usual float64, at engine.Time) (float64, engine.Time) {
	return usual * s.factor, (at/toss + 1) * toss
}

func (s steady) Uplink(device int, usual float64, at engine.Time) (float64, engine.Time) {
	return s.Downlink(device, usual, at)
}
