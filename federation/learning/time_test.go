package learning

import (
	"fmt"
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/network"
)

// different makes devices and links of different speeds.
func different(s *Setup) {
	s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 0.5
	s.Network.RateSpread, s.Network.RTTms = 0.5, 30
	s.Network.DownlinkMbps, s.Network.UplinkMbps = 0.02, 0.01
}

// The units of the released drivers: 8 (MOCHA, CoCoA), 6 (mini-batch SDCA) or 4
// (mini-batch SGD) a step, added up over tasks, or for CoCoA the most steps of
// a task times their number, and 10, 100 or 1000 a round; one unit is a
// millisecond.
func TestAuthorsCost(t *testing.T) {
	rows := []int{5, 9, 7} // 21, at most 9
	problem := randomProblem(t, features, rows...)
	for _, c := range []struct {
		name, method, protocol, profile string
		options                         func(algorithms.Options)
		ms                              float64
	}{
		{"mocha", "mocha", federation.WaitForAll, "lte",
			func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 2 }, 8*2*21 + 100},
		{"mocha on wifi", "mocha", federation.WaitForAll, "wifi", nil, 8*21 + 10},
		{"cocoa", "cocoa", federation.WaitForAll, "lte", func(o algorithms.Options) {
			// No accuracy is ever reached in a single pass over every row.
			*o.(*algorithms.CoCoAOptions) = algorithms.CoCoAOptions{Theta: 1e-9, Stop: algorithms.StopTheta,
				CheckEvery: 1, MaxEpochs: 1}
		}, 8*3*9 + 100},
		{"mb-sdca", "mb-sdca", federation.WaitForAll, "3g",
			func(o algorithms.Options) { o.(*algorithms.MbSDCAOptions).Batch = 6 }, 6*(5+6+6) + 1000},
		{"mb-sgd", "mb-sgd", federation.WaitForAll, "lte",
			func(o algorithms.Options) { o.(*algorithms.MbSGDOptions).Batch = 6 }, 4*(5+6+6) + 100},
		// Everyone is charged 2 n_min steps, whatever they do.
		{"charged", "mocha", protocols.Charged, "lte", nil, 8*3*2*5 + 100},
		{"charged mb-sgd", "mb-sgd", protocols.Charged, "wifi", nil, 4*3*2*5 + 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := run(t, world(t, c.method, c.protocol, func(s *Setup) {
				s.Problem = problem
				s.Config.Cost, s.Config.StepsHigh = federation.Authors, 2
				s.Network.Profile = c.profile
				if c.options != nil {
					c.options(s.Options)
				}
			}))
			for h, r := range out.Rounds {
				if want := float64(h) * c.ms / 1e3; math.Abs(r.TimeS-want) > 3*nanosecond*float64(h) {
					t.Errorf("round %d ends at %.9f s, want %.9f", h, r.TimeS, want)
				}
			}
		})
	}
}

// The server's step takes its FLOPs' time after each round, and so does an
// Omega update.
func TestServerTime(t *testing.T) {
	const gflops = 1e-6
	run := func(speed float64) []float64 {
		out := run(t, world(t, "mocha", federation.WaitForAll, func(s *Setup) {
			s.Config.ServerGFLOPS = speed
			s.Problem = learning(t)
			s.Schedule.Outer, s.Schedule.Rounds = 2, 2
		}))
		var times []float64
		for _, r := range out.Rounds {
			times = append(times, r.TimeS)
		}
		return times
	}
	m, d := float64(len(sizes)), float64(features)
	// More tasks than features: the learned coupling has low rank.
	identity, learnt, update := m*d, m*d*(4*d+2), 4*m*d*d+20*d*d*d
	server := []float64{0, identity, 2 * identity, 2*identity + update + learnt, 2*identity + update + 2*learnt}
	free, paid := run(0), run(gflops)
	if len(free) != 5 || len(paid) != 5 {
		t.Fatalf("%d and %d rows, want 5", len(free), len(paid))
	}
	for h := range free {
		if want := server[h] / (gflops * 1e9); !near(paid[h]-free[h], want, 1e-7) {
			t.Errorf("round %d: the server has taken %g s, want %g", h, paid[h]-free[h], want)
		}
	}
}

// Time(h, t) = FLOPs(h, t)/rate(t) + Comm(h, t) (appendix, "Estimated Time"),
// and a round under wait-for-all takes as long as the slowest device.
func TestRoundTakesAsLongAsTheSlowestDevice(t *testing.T) {
	for _, method := range withoutHubs() {
		t.Run(method, func(t *testing.T) {
			f := start(t, world(t, method, federation.WaitForAll, different))
			f.clients.Begin()
			before, slowest := 0.0, map[int]bool{}
			for h := range 10 {
				r := f.runRound()
				longest, who := 0.0, noDevice
				for k := range f.setup.Clients {
					received := float64(message)
					if method == "scaffold" { // the server's control variate
						received += 8 * features
					}
					if method == "ifca" || method == "fedem" { // more models
						down, _ := f.work.MessageValues(features)
						received += float64(8 * (down - features))
					}
					if method == "fedrep" || method == "fedper" { // one feature stays with the client
						received -= 8
					}
					if method == "gossip" { // what both neighbors have sent in the round before
						received = 64 + float64(min(h, 1)*2*8*features)
					}
					down := 0.015 + 8*received/1e6/f.clients.Links().Mbps(network.Down, k)
					sent := float64(message + 8*(f.workOf(k).Values-features)) // async-mocha and scaffold send more
					up := 0.015 + 8*sent/1e6/f.clients.Links().Mbps(network.Up, k)
					if took := down + f.workOf(k).FLOPs/f.clients.Fleet().Rate(k) + up; took > longest {
						longest, who = took, k
					}
				}
				slowest[who] = true
				if took := r.TimeS - before; math.Abs(took-longest) > 3*nanosecond {
					t.Errorf("round %d took %.10f s, want %.10f, the time of device %d", h, took, longest, who)
				}
				before = r.TimeS
			}
			if slowest[noDevice] {
				t.Error("a round took no time")
			}
		})
	}
}

// A device's controller subtracts the downlink and the expected uplink, longer by the
// margin, from the clock cycle.
func TestControllerFillsTheClockCycle(t *testing.T) {
	for _, method := range []string{"mocha", "mb-sdca", "mb-sgd"} {
		for _, margin := range []float64{0, 0.5} {
			t.Run(fmt.Sprintf("%s/%g", method, margin), func(t *testing.T) {
				f := start(t, world(t, method, protocols.Deadline, func(s *Setup) {
					different(s)
					s.Config.DeadlineS, s.Config.Margin = 2, margin
				}))
				f.clients.Begin()
				flops := f.work.StepFLOPs
				for h := range 5 {
					r := f.runRound()
					if r.Participants != f.setup.Clients || r.Late != 0 {
						t.Errorf("round %d: %d took part, %d were late: without jitter everyone is in time", h,
							r.Participants, r.Late)
					}
					for k := range f.setup.Clients {
						received := float64(message)
						if method == "scaffold" { // the server's control variate
							received += 8 * features
						}
						down := 0.015 + 8*received/1e6/f.clients.Links().Mbps(network.Down, k)
						sent := float64(message + 8*(f.workOf(k).Values-features)) // async-mocha and scaffold send more
						up := 0.015 + 8*sent/1e6/f.clients.Links().Mbps(network.Up, k)
						left := 2 - down - (1+margin)*up
						// The clock's resolution may decide at the very edge.
						low := int(math.Floor((left - 3*nanosecond) * f.clients.Fleet().Rate(k) / flops))
						high := int(math.Floor((left + 3*nanosecond) * f.clients.Fleet().Rate(k) / flops))
						if got := int(f.budget(k)); got < low || got > high || got == 0 {
							t.Errorf("round %d: device %d may take %d steps, want %d", h, k, got, low)
						}
						if method == "mocha" && f.workOf(k).Steps != int(f.budget(k)) {
							t.Errorf("round %d: device %d took %d steps of %d", h, k, f.workOf(k).Steps, f.budget(k))
						}
					}
				}
			})
		}
	}
}
