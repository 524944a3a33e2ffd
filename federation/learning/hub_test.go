package learning

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/racetest"
	"fedsim/mtl"
	"fedsim/network"
)

// The short links of the tests: 5 ms and 8 bits in 2 us each way.
const shortMbps, shortRTTms = 0.5, 10.0

// behind puts devices behind hubs of that many.
func behind(s *Setup, size int) {
	s.Network.HubSize, s.Network.HubMbps, s.Network.HubRTTms = size, shortMbps, shortRTTms
}

// shortS returns the time of a message on a short link.
func shortS(bytes float64) float64 { return shortRTTms/2e3 + bytes*8/(shortMbps*1e6) }

// One hub for all devices: the server's message has a model for each task, and the hub
// sends all responses in one message. Devices pay for their own transfers; the hub's
// radio costs nothing.
func TestARoundBehindOneHubClosedForm(t *testing.T) {
	f := start(t, world(t, "mocha", federation.WaitForAll, func(s *Setup) { behind(s, len(sizes)) }))
	f.clients.Begin()
	n := float64(len(sizes))
	group := 64 + 8*features*n
	link, short := 0.005+8*group/1e6, shortS(message)
	before := 0.0
	for h := range 5 {
		r := f.runRound()
		work, slowest := 0.0, 0.0
		for k := range sizes {
			took := f.workOf(k).FLOPs / rate
			work, slowest = work+took, max(slowest, took)
		}
		took := r.TimeS - before
		if want := 2*link + 2*short + slowest; !near(took, want, 10*nanosecond) {
			t.Errorf("round %d takes %.9f s, want %.9f", h, took, want)
		}
		if r.BytesDown != group || r.BytesUp != group {
			t.Errorf("round %d: %g bytes down, %g up, want %g each way", h, r.BytesDown, r.BytesUp, group)
		}
		ble, _ := network.Lookup("ble")
		radio := (2*ble.RadioBase*short + (ble.RadioDown+ble.RadioUp)*shortMbps*(short-shortS(0))) / 1e3
		if want := n*idleW*took + (computeW-idleW)*work + n*radio; !near(r.EnergyJ, want, 1e-7) {
			t.Errorf("round %d takes %g J, want %g", h, r.EnergyJ, want)
		}
		if r.Participants != len(sizes) {
			t.Errorf("round %d: %d took part", h, r.Participants)
		}
		before = r.TimeS
	}
}

// Devices of one task share a message, and their responses add up to one. Under a
// method with one model all devices do.
func TestAHubsMessageCarriesAModelForEachTask(t *testing.T) {
	// sharing gives devices 0..6 the tasks 0, 1, 0, 2, 1, 0, 2.
	shared := sharing(t)
	for _, c := range []struct {
		method       string
		size, models int
		timed        bool
	}{
		{"mocha", 3, 2 + 3 + 1, false}, {"mocha", 4, 3 + 3, false}, {"mocha", 7, 3, false}, {"mocha", 1, 7, false},
		{"fedavg", 3, 3, false}, {"fedprox", 7, 1, false}, {"mb-sgd", 2, 2 + 2 + 2 + 1, false},
		{"mocha", 3, 2 + 3 + 1, true}, // two devices a task: 0 0 1 | 1 2 2 | 3
	} {
		s := world(t, c.method, federation.WaitForAll, func(s *Setup) {
			behind(s, c.size)
			s.Problem = shared
		})
		if c.timed {
			rows := s.Problem.RowCounts()
			s.Clients, s.Rows, s.Shape, s.PerTask = len(rows), rows, mtl.Shape{Features: features, Outputs: 1}, 2
			s = timedOn(s)
			c.models = 2 + 2 + 1
		}
		r := run(t, s).Rounds[1]
		hubs := (len(sizes) + c.size - 1) / c.size
		if want := float64(64*hubs + 8*features*c.models); r.BytesDown != want || r.BytesUp != want {
			t.Errorf("%s behind hubs of %d, timed %v: %g bytes down, %g up, want %g", c.method, c.size, c.timed, r.BytesDown, r.BytesUp, want)
		}
	}
}

// Hubs of one device each, without delay, change nothing: the rounds are the same, with
// different devices and links, jitter and drops.
func TestHubsOfOneAtNoDistanceAreNone(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged, federation.First} {
		for _, method := range []string{"mocha", "fedavg"} {
			scene := func(size int) *Outcome {
				return run(t, world(t, method, protocol, func(s *Setup) {
					different(s)
					s.Options = s.Factory.Options()
					s.Network.Jitter = 0.5
					s.Network.HubSize, s.Network.HubMbps, s.Network.HubRTTms = size, 1e9, 0
					s.Config.Fraction = 0.8
					if protocol != federation.WaitForAll { // there the server would ask again later than a hub
						s.Faults.DropProbability, s.Faults.DropPhase = 0.2, devices.AtCompute
					}
					if protocol == federation.First {
						s.Config.Over = 1.5
					}
					if protocol == federation.Deadline {
						s.Config.Margin = 0.3
						s.Config.Selection = "speed"
						s.Config.DeadlineS = 2
					}
				}))
			}
			none, ones := scene(0), scene(1)
			for h := range none.Rounds {
				none.Rounds[h].EnergyJ, ones.Rounds[h].EnergyJ = 0, 0 // a radio that is never on
				// A transfer that is cut short is of another length in nanoseconds.
				x, y := &none.Rounds[h], &ones.Rounds[h]
				if math.Abs(x.BytesDown-y.BytesDown) < 1e-6 && math.Abs(x.BytesUp-y.BytesUp) < 1e-6 {
					y.BytesDown, y.BytesUp = x.BytesDown, x.BytesUp
				}
			}
			if err := same(none.Rounds, ones.Rounds); err != nil || none.ModelHash != ones.ModelHash {
				t.Errorf("%s, %s: %v", method, protocol, err)
			}
		}
	}
}

// A round under wait-for-all takes as long as its slowest hub: its two transfers, and
// its slowest device between them. One line computes the same, on random setups.
func TestARoundLastsAsLongAsItsSlowestHub(t *testing.T) {
	problem := randomProblem(t, features, sizes...)
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, len(sizes)).Draw(rt, "hub_size")
		s := world(t, "mb-sdca", federation.WaitForAll, func(s *Setup) {
			different(s)
			behind(s, size)
			s.Problem, s.Seed = problem, rapid.Uint64().Draw(rt, "seed")
			s.Network.Jitter = rapid.Float64Range(0, 2).Draw(rt, "jitter")
			s.Network.HubRTTms = rapid.Float64Range(0, 500).Draw(rt, "hub_rtt_ms")
		})
		f := start(t, s)
		f.clients.Begin()
		between := network.NewLinks(s.Network, s.Network.Hubs(len(sizes)), s.Seed)
		short := s.Network.HubRTTms/2e3 + message*8/(shortMbps*1e6)
		before := 0.0
		for h := range 3 {
			r := f.runRound()
			slowest := 0.0
			for g := range s.Network.Hubs(len(sizes)) {
				from := g * s.Network.HubSize
				to := min(from+s.Network.HubSize, len(sizes))
				bytes, work := float64(64+8*features*(to-from)), 0.0
				for k := from; k < to; k++ {
					work = max(work, f.clients.Fleet().ComputeTime(k, devices.Work{FLOPs: f.workOf(k).FLOPs}).Seconds())
				}
				slowest = max(slowest, between.Send(network.Down, g, h, 0, bytes).Duration.Seconds()+2*short+work+between.Send(network.Up, g, h, 0, bytes).Duration.Seconds())
			}
			if took := r.TimeS - before; !near(took, slowest, 20*nanosecond) {
				rt.Fatalf("round %d takes %.9f s, want %.9f", h, took, slowest)
			}
			before = r.TimeS
		}
	})
}

// A hub does not wait for a device that drops: it sends the responses of the others,
// without that device's model.
func TestAHubSendsWithoutThoseThatAreLost(t *testing.T) {
	const gone = 5 // the device with the most rows
	f := start(t, world(t, "mb-sgd", federation.Charged, func(s *Setup) {
		behind(s, len(sizes))
		s.Faults.Never, s.Faults.DropPhase = []int{gone}, devices.AtCompute
		s.Options = s.Factory.Options()
		s.Options.(*algorithms.MbSGDOptions).Batch = 3
	}))
	f.clients.Begin()
	r := f.runRound()
	if want := 64 + 8*features*float64(len(sizes)-1); r.BytesUp != want || r.Participants != len(sizes)-1 || r.Dropped != 1 {
		t.Errorf("%g bytes up, want %g; %+v", r.BytesUp, want, r)
	}
}

// A hub's lost message is sent again half a round trip after it was due. Under wait-
// for-all there is no limit; otherwise retries is the limit, and then all devices
// behind the hub are dropped for the round.
func TestHubsRepeatMessagesThatAreLost(t *testing.T) {
	const loss = 0.5
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline} {
		for _, retries := range []int{0, 2} {
			if protocol == federation.WaitForAll && retries > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s with %d retries", protocol, retries), func(t *testing.T) {
				s := world(t, "mb-sgd", protocol, func(s *Setup) {
					s.Problem = randomProblem(t, features, 10, 10)
					behind(s, 2)
					s.Network.LossProbability = loss
					s.Config.Retries = retries
					s.Options.(*algorithms.MbSGDOptions).Batch = 10
					if protocol == federation.Deadline {
						s.Config.Fit, s.Config.DeadlineS = false, 100
					}
				})
				f := start(t, s)
				f.clients.Begin()
				between := network.NewLinks(s.Network, 1, s.Seed)
				bytes := 64 + 2*8.0*features
				once := 0.005 + 8*bytes/1e6
				allowed := retries + 1
				if protocol == federation.WaitForAll {
					allowed = math.MaxInt
				}
				tries := func(lost func(attempt int) bool) (n int, arrived bool) {
					for n = 1; lost(n - 1); n++ {
						if n == allowed {
							return n, false
						}
					}
					return n, true
				}
				const work = 10 * 4 * features / rate
				gaveUp := 0
				for h := range 40 {
					before := f.clients.Now().Seconds()
					r := f.runRound()
					down, there := tries(func(a int) bool { return between.Send(network.Down, 0, h, a, bytes).Lost })
					up, back := 0, false
					if there {
						up, back = tries(func(a int) bool { return between.Send(network.Up, 0, h, a, bytes).Lost })
					}
					if r.BytesDown != float64(down)*bytes || r.BytesUp != float64(up)*bytes {
						t.Fatalf("round %d: %g bytes down, %g up; want %d and %d messages of %g", h, r.BytesDown, r.BytesUp, down, up, bytes)
					}
					if back && (r.Participants != 2 || r.Dropped != 0) || !back && (r.Participants != 0 || r.Dropped != 2) || r.Late != 0 {
						t.Fatalf("round %d: arrived %v, %+v", h, back, r)
					}
					if !back {
						gaveUp++
					}
					want := float64(down+up)*once + float64(down+up-2)*0.005 + 2*shortS(message) + work
					if took := r.TimeS - before; protocol == federation.WaitForAll && !near(took, want, 20*nanosecond) {
						t.Fatalf("round %d takes %.9f s, want %.9f: %d messages down, %d up", h, took, want, down, up)
					}
				}
				if gaveUp == 0 != (protocol == federation.WaitForAll) {
					t.Errorf("the answers of %d rounds never came", gaveUp)
				}
			})
		}
	}
}

// Responses behind one hub arrive together: a round that ends with the first one takes
// them all, and those of other hubs are late.
func TestResponsesBehindAHubArriveTogether(t *testing.T) {
	f := start(t, world(t, "mocha", federation.First, func(s *Setup) {
		s.Options = s.Factory.Options()
		behind(s, 3)
		s.Config.Clients, s.Config.Over = 1, float64(len(sizes))
	}))
	f.clients.Begin()
	for h := range 5 {
		r := f.runRound()
		if r.Participants != 3 && r.Participants != 1 || r.Participants+r.Late != len(sizes) {
			t.Errorf("round %d: %d took part, %d late; hubs have 3, 3 and 1 devices", h, r.Participants, r.Late)
		}
		for g := range 3 {
			if hub := f.clients.Hub(g); hub != (clients.HubState{}) {
				t.Errorf("round %d: hub %d is left as %+v", h, g, hub)
			}
		}
	}
}

// The slowest device of a hub delays the others: if it misses the deadline, all are
// late. With a controller that knows the hub's transfers all are in time.
func TestASlowDeviceMakesItsHubLate(t *testing.T) {
	scene := func(fit bool) []int {
		out := run(t, world(t, "mocha", federation.Deadline, func(s *Setup) {
			behind(s, 3) // devices 0..2, 3..5 and 6, of which 1 and 5 have by far the most rows
			s.Config.Fit, s.Config.DeadlineS = fit, 0.55
			if !fit {
				s.Options.(*algorithms.MOCHAOptions).Epochs = 1
			}
		}))
		late := make([]int, 0, 10)
		for _, r := range out.Rounds[1:] {
			late = append(late, r.Late)
			if r.Participants+r.Late != len(sizes) {
				t.Errorf("%+v", r)
			}
		}
		return late
	}
	// 15 steps of 32 ms fit into 0.55 s beside transfers; 31 do not, even if none of
	// them moves and so takes 20 ms.
	for h, late := range scene(false) {
		if late != 6 {
			t.Errorf("round %d: %d are late, want the 6 behind two hubs", h, late)
		}
	}
	for h, late := range scene(true) {
		if late != 0 {
			t.Errorf("round %d: %d are late though work was to fit", h, late)
		}
	}
}

// With random failures behind hubs the server's counts are consistent, and workers and
// queues give the same bits. Under wait-for-all the model is that of a run without hubs
// and failures.
func TestChurnBehindHubs(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	problem := randomProblem(t, features, sizes...)
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64Range(0, 1<<32).Draw(rt, "seed")
		protocol := rapid.SampledFrom([]string{federation.WaitForAll, federation.Deadline, federation.Charged, federation.First}).Draw(rt, "protocol")
		size := rapid.IntRange(0, len(sizes)).Draw(rt, "hub_size")
		share := rapid.Float64Range(0.5, 1).Draw(rt, "presence")
		resume := rapid.Bool().Draw(rt, "resume") || protocol == federation.WaitForAll
		retries := rapid.IntRange(0, 2).Draw(rt, "retries")
		battery := rapid.Bool().Draw(rt, "battery") && protocol != federation.WaitForAll
		fraction := rapid.SampledFrom([]float64{1, 0.6}).Draw(rt, "fraction")
		scene := func(workers int, queue string) *Outcome {
			var f *Federation
			s := world(t, "mocha", protocol, func(s *Setup) {
				busyNetwork(s)
				behind(s, size)
				s.Problem, s.Seed, s.Queue = problem, seed, queue
				s.Availability, s.Pool = coins{seed, share}, parallel.NewPool(workers)
				s.Config.Fraction = fraction
				if resume {
					s.Faults.OnReturn = devices.Resume
				}
				if battery {
					s.Devices.BatteryWh, s.Devices.ChargeW, s.Devices.ReturnLevel = 2.0/3600, 1, 0.5
				}
				switch protocol {
				case federation.First:
					s.Config.Over, s.Config.Retries = 1.3, retries
				case federation.Deadline:
					s.Config.DeadlineS, s.Config.Fit, s.Config.Retries = 0.8, seed%2 == 0, retries
				}
				most := bounded()
				s.Hooks = &engine.Hooks{Fired: func(e engine.Event) {
					most.Fired(e)
					if f != nil && !f.server.Ended() && protocol != federation.WaitForAll && f.server.CurrentRound().Outstanding() < 0 {
						rt.Fatalf("%d answers may still come", f.server.CurrentRound().Outstanding())
					}
				}}
			})
			f = start(t, s)
			out, err := f.Run(t.Context(), nil)
			if err != nil {
				rt.Fatal(err)
			}
			return out
		}
		out := scene(1, "")
		if out.Status != "done" {
			rt.Fatalf("%s: %s", out.Status, out.Reason)
		}
		for _, queue := range engine.Queues() {
			if err := same(out, scene(2, queue)); err != nil {
				rt.Fatalf("two workers, queue %s: %v", queue, err)
			}
		}
		for h, r := range out.Rounds[1:] {
			if r.TimeS < out.Rounds[h].TimeS || r.Gap < -1e-9*math.Abs(r.Primal) || r.Participants+r.Late > len(sizes) {
				rt.Fatalf("round %d: %+v", h+1, r)
			}
			if protocol == federation.WaitForAll && fraction == 1 && r.Participants != len(sizes) {
				rt.Fatalf("round %d: %d took part", h+1, r.Participants)
			}
		}
		if protocol == federation.WaitForAll && fraction == 1 {
			calm := run(t, world(t, "mocha", protocol, func(s *Setup) { s.Problem, s.Seed = problem, seed }))
			if calm.ModelHash != out.ModelHash {
				rt.Fatal("the model is not that of a world in which nothing fails")
			}
		}
	})
}

// Settings that exclude hubs are refused.
func TestHubsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, method, protocol string
		change                 func(*Setup)
		want                   string
	}{
		{"asynchronous", "fedbuff", federation.Asynchronous, nil,
			`federation.protocol = "asynchronous": must be another with network.hub_size: a hub gathers the answers of a round`},
		{"remembered changes", "mifa", federation.WaitForAll, nil,
			`network.hub_size = 2: must be 0: the server of mifa needs the response of each client, and hubs add them up`},
		{"relative costs", "mocha", federation.WaitForAll, func(s *Setup) { s.Config.Cost = federation.Relative },
			`federation.cost = "relative": must be "physical" with network.hub_size: under others there is one transfer each way`},
		{"shared links", "mocha", federation.WaitForAll, func(s *Setup) { s.Network.ServerUpMbps = 3 },
			`network.hub_size = 2: must be 0 where transfers share links, start slowly or have rates that change`},
		{"late answers", "mocha", federation.Deadline, func(s *Setup) { s.Config.Late = federation.Keep },
			`federation.late = "keep": must be "drop" with network.hub_size: a hub gathers the answers of one round`},
		{"a fleet", "mocha", federation.WaitForAll, func(s *Setup) { s.Fleet = &fleets.Fleet{Classes: []fleets.Class{class("lte", 1)}} },
			`network.hub_size = 2: must be 0 with a fleet, whose classes have links of their own`},
		{"few devices", "mocha", federation.WaitForAll, func(s *Setup) { s.Network.HubSize = 8 },
			`network.hub_size = 8: must be at most 7, the number of devices`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(world(t, c.method, c.protocol, func(s *Setup) {
				s.Options = s.Factory.Options()
				behind(s, 2)
				if c.change != nil {
					c.change(s)
				}
			}))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
