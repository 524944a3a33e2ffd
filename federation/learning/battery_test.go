package learning

import (
	"math"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/network"
	"fedsim/results"
)

// joules gives device batteries of that energy, full.
func joules(s *Setup, capacity float64) { s.Devices.BatteryWh = capacity / 3600 }

// A round's energy is power times time: the processor's while it computes, that
// of the radio on top of idling while it sends or receives, that of a radio that is
// connected and idle during the latency of a transfer, idling otherwise.
func TestEnergyClosedForm(t *testing.T) {
	for _, battery := range []float64{batteryNone, 1000} { // Wh: mains, and more than is needed
		f := start(t, world(t, "mocha", federation.WaitForAll, func(s *Setup) {
			different(s)
			s.Devices.BatteryWh = battery
		}))
		f.clients.Begin()
		before := 0.0
		for h := range 10 {
			r := f.runRound()
			want := 0.0
			for k := range f.setup.Clients {
				// LTE: 51.97 mW/Mbps down, 438.39 up, 1288.04 mW (Huang et al., 2012).
				radioDown := (51.97*f.clients.Links().Mbps(network.Down, k) + 1288.04) / 1e3
				radioUp := (438.39*f.clients.Links().Mbps(network.Up, k) + 1288.04) / 1e3
				down := 8 * message / 1e6 / f.clients.Links().Mbps(network.Down, k)
				up := 8 * message / 1e6 / f.clients.Links().Mbps(network.Up, k)
				const latency, connected = 2 * 0.015, 1.28804 // both ways, and the power of the radio then
				compute := f.clients.State(k).FLOPs / f.clients.Fleet().Rate(k)
				rest := r.TimeS - before - down - compute - up - latency
				want += (idleW+connected)*latency + (idleW+radioDown)*down + computeW*compute + (idleW+radioUp)*up + idleW*rest
			}
			if !near(r.EnergyJ, want, 1e-7) {
				t.Errorf("battery of %g Wh: round %d takes %.9f J, want %.9f", battery, h, r.EnergyJ, want)
			}
			before = r.TimeS
		}
	}
}

// Every joule that leaves a battery belongs to a round, also while the server works or
// waits for devices.
func TestEnergyIsConserved(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged} {
		f := start(t, world(t, "mb-sdca", protocol, func(s *Setup) {
			s.Problem = learning(t)
			joules(s, 4)
			s.Devices.ChargeW, s.Devices.ReturnLevel, s.Devices.ChargeDelayS = 1, 0.9, 0.3
			s.Devices.InitialCharge, s.Devices.InitialChargeSpread = 0.6, 0.4
			s.Network.Jitter, s.Network.LossProbability = 0.5, 0.1
			s.Faults.DropProbability, s.Faults.DropPhase = 0.2, devices.AtRandom
			s.Config.ServerGFLOPS = 1e-6
			s.Schedule = Schedule{Outer: 4, Rounds: 10, EvalEvery: 1, Optimum: math.NaN()}
			s.Options.(*algorithms.MbSDCAOptions).Batch = 4
		}))
		out := finish(t, f)
		if out.Status != results.Done {
			t.Fatalf("%s: %s after %d rounds: %s", protocol, out.Status, len(out.Rounds)-1, out.Reason)
		}
		sum := 0.0
		for h, r := range out.Rounds {
			if r.EnergyJ < 0 || h > 0 && r.EnergyJ == 0 {
				t.Errorf("%s: round %d takes %g J", protocol, h, r.EnergyJ)
			}
			sum += r.EnergyJ
		}
		e := f.clients.Batteries().Total()
		if !near(sum, e.DrainedJ, 1e-12) {
			t.Errorf("%s: the rounds take %.9f J, the devices %.9f", protocol, sum, e.DrainedJ)
		}
		if in, out := e.InitialJ+e.ChargedJ, e.DrainedJ+e.LeftJ; !near(in, out, 1e-12) {
			t.Errorf("%s: %g J initially and from chargers, %g J drained or left", protocol, in, out)
		}
		if e.ChargedJ == 0 {
			t.Errorf("%s: no battery ran empty: nothing was tested", protocol)
		}
	}
}

// emptied gives all devices small batteries. Device 2, which has the most rows, is
// depleted in about the third round.
func emptied(s *Setup) {
	s.Options.(*algorithms.MOCHAOptions).Epochs = 1
	joules(s, 8)
}

var lopsided = []int{5, 5, 40}

// Wait-for-all stalls when a depleted device is never charged.
func TestStalledByAnEmptyBattery(t *testing.T) {
	s := world(t, "mocha", federation.WaitForAll, func(s *Setup) {
		s.Problem = randomProblem(t, features, lopsided...)
		emptied(s)
	})
	f := start(t, s)
	observed := 0
	out, err := f.Run(t.Context(), func(results.Round) { observed++ })
	if err != nil {
		t.Fatal(err)
	}
	const want = `device 2 has an empty battery and is never charged, and protocol "wait-for-all" waits for it`
	if out.Status != results.Stalled || out.Reason != want {
		t.Errorf("status %s, reason %q; want stalled: %s", out.Status, out.Reason, want)
	}
	if n := len(out.Rounds); n < 3 || n > 10 || observed != n {
		t.Errorf("%d rows, %d of them observed, want some", n, observed)
	}
	if !f.clients.Batteries().Depleted(2) || f.clients.Batteries().Depleted(0) || f.clients.Batteries().Depleted(1) {
		t.Error("want device 2 flat and no other")
	}
	// What had arrived is the beginning of the run on mains.
	whole := run(t, world(t, "mocha", federation.WaitForAll, func(s *Setup) { s.Problem = randomProblem(t, features, lopsided...) }))
	if err := same(out.Rounds[1:], withoutEnergy(whole.Rounds[1:len(out.Rounds)], out.Rounds[1:])); err != nil {
		t.Error(err)
	}
}

// withoutEnergy returns rounds with the energy of other rounds: on mains and on
// batteries the sums have different rounding.
func withoutEnergy(rounds, others []results.Round) []results.Round {
	all := append([]results.Round(nil), rounds...)
	for h := range all {
		all[h].EnergyJ = others[h].EnergyJ
	}
	return all
}

// A battery that is depleted after the response stalls the next round, not this one.
func TestStalledBeforeTheNextRound(t *testing.T) {
	// Device 0 is done early and idles; it dies then.
	f := start(t, world(t, "mocha", federation.WaitForAll, func(s *Setup) {
		s.Problem = randomProblem(t, features, 5, 100)
		s.Devices.IdleW, s.Devices.ComputeW = 10, 0.01
		joules(s, 20) // 2 s of idling; device 1 computes for more than 3
	}))
	f.clients.Begin()
	r := f.runRound()
	if f.server.Stalled() != "" || r.Participants != 2 || r.Dropped != 0 {
		t.Fatalf("the first round: %+v, stalled: %q", r, f.server.Stalled())
	}
	if !f.clients.Batteries().Depleted(0) {
		t.Fatal("device 0 has survived")
	}
	f.runRound()
	if !strings.HasPrefix(f.server.Stalled(), "device 0 has an empty battery") {
		t.Errorf("stalled: %q", f.server.Stalled())
	}
}

// Under a deadline the other devices continue.
func TestDeadlineContinuesWithoutDepletedDevices(t *testing.T) {
	for _, protocol := range []string{federation.Deadline, federation.Charged} {
		out := run(t, world(t, "mocha", protocol, func(s *Setup) {
			s.Problem = randomProblem(t, features, lopsided...)
			s.Config.DeadlineS, s.Schedule.Rounds = 1, 40
			joules(s, 6)
			s.Devices.IdleW = 1e-3
			// Device 2 drains its battery; the others do next to nothing.
			s.Faults.DropProbabilityPerDevice = []float64{0.9, 0.9, 0}
		}))
		if out.Status != results.Done || len(out.Rounds) != 41 {
			t.Fatalf("%s: %s after %d rounds: %s", protocol, out.Status, len(out.Rounds)-1, out.Reason)
		}
		died := 0
		for h, r := range out.Rounds[1:] {
			if r.Participants+r.Dropped != 3 {
				t.Errorf("%s: round %d: %+v", protocol, h+1, r)
			}
			if died == 0 && r.Dropped == 3 {
				died = h + 1
			}
		}
		if died == 0 || out.Rounds[40].EnergyJ > out.Rounds[1].EnergyJ/10 {
			t.Errorf("%s: a round takes %g J in the end, %g at first: nobody has died", protocol, out.Rounds[40].EnergyJ, out.Rounds[1].EnergyJ)
		}
	}
}

// A device that charges misses all rounds until it is recharged, to the nanosecond, and
// is then asked again.
func TestChargedDevicesComeBack(t *testing.T) {
	for _, protocol := range []string{federation.Deadline, federation.Charged} {
		var f *Federation
		type span struct{ from, to engine.Time }
		away := map[int][]span{}
		s := world(t, "mocha", protocol, func(s *Setup) {
			joules(s, 6)
			s.Devices.ChargeW, s.Devices.ReturnLevel, s.Devices.ChargeDelayS = 2, 0.5, 0.25
			s.Devices.InitialCharge, s.Devices.InitialChargeSpread = 0.5, 0.5
			s.Hooks = witness(&f, func(e engine.Event, d clients.State) {
				k := int(e.Device)
				if at, ok := f.clients.Batteries().EmptyAt(k); e.Kind == clients.EventBatteryCheck && ok && at == e.At {
					away[k] = append(away[k], span{e.At, engine.Never})
				}
				if e.Kind == clients.EventRecharged {
					last := &away[k][len(away[k])-1]
					last.to = e.At
					// Plugged in after 0.25 s, charged to 3 J at 2 W: 1.5 s.
					if want := last.from.Add(engine.FromSeconds(1.75)); e.At != want {
						t.Errorf("device %d: empty at %v, back at %v, want %v", k, last.from, e.At, want)
					}
				}
			})
		})
		f = start(t, s)
		f.clients.Begin()
		missed := 0
		for h := range 60 {
			begin := f.clients.Now()
			r := f.runRound()
			for k := range f.setup.Clients {
				out := false // flat for some time of the round before its answer
				for _, a := range away[k] {
					out = out || a.from <= begin && begin < a.to
				}
				if out && f.server.Attempt(int(k)).Responded {
					t.Errorf("%s: round %d: device %d has answered, flat at the start", protocol, h, k)
				}
				if out {
					missed++
				}
			}
			if r.Participants+r.Dropped+r.Late != f.setup.Clients {
				t.Errorf("%s: round %d: %+v", protocol, h, r)
			}
		}
		back := 0
		for k := range away {
			for _, a := range away[k] {
				if a.to != engine.Never {
					back++
				}
			}
		}
		if missed < 20 || back < 20 {
			t.Errorf("%s: rounds were missed %d times, devices came back %d times: too few to test", protocol, missed, back)
		}
	}
}

// When no device is available, a round begins as soon as the first one is.
func TestDeadlineWaitsForTheFirstToComeBack(t *testing.T) {
	const capacity, charger = 3.0, 1.5
	f := start(t, world(t, "mocha", federation.Deadline, func(s *Setup) {
		joules(s, capacity)
		s.Devices.ChargeW, s.Devices.ReturnLevel = charger, 1 // back after 2 s
		s.Config.DeadlineS = 1
		// Nobody does anything but idle: 85 to 95 % of 3 J last for 5.1 to 5.7 s.
		s.Faults.DropProbability = 1
		s.Devices.InitialCharge, s.Devices.InitialChargeSpread = 0.9, 0.05
	}))
	f.clients.Begin()
	first, last := math.Inf(1), 0.0 // when batteries are empty
	for k := range f.setup.Clients {
		at, _ := f.clients.Batteries().EmptyAt(k)
		first, last = min(first, at.Seconds()), max(last, at.Seconds())
	}
	if first < 5.1 || last > 5.7 {
		t.Fatalf("batteries last from %g to %g s, want between 5.1 and 5.7", first, last)
	}
	var ends []float64
	for range 8 {
		r := f.runRound()
		if r.Dropped != f.setup.Clients {
			t.Errorf("round %d: %+v", r.Round, r)
		}
		ends = append(ends, r.TimeS)
	}
	// Rounds 1 to 6 end at 1..6 s, when the last is flat; the seventh begins when
	// the first to be empty is back, full, 2 s later.
	for h := range 6 {
		if !near(ends[h], float64(h+1), nanosecond) {
			t.Errorf("round %d ends at %.9f s, want %d", h+1, ends[h], h+1)
		}
	}
	if want := first + capacity/charger + 1; !near(ends[6], want, 3*nanosecond) {
		t.Errorf("round 7 ends at %.9f s, want %.9f", ends[6], want)
	}
}

// When all devices are depleted and none is charged, the run stalls.
func TestDeadlineStallsWithoutAnyDevice(t *testing.T) {
	for _, protocol := range []string{federation.Deadline, federation.Charged} {
		out := run(t, world(t, "mocha", protocol, func(s *Setup) {
			joules(s, 2)
			s.Schedule.Rounds = 1000
		}))
		const want = "every device's battery is empty and none is ever charged"
		if out.Status != results.Stalled || out.Reason != want {
			t.Errorf("%s: status %s, reason %q, want %s", protocol, out.Status, out.Reason, want)
		}
		if n := len(out.Rounds); n < 3 || n > 20 {
			t.Errorf("%s: %d rows", protocol, n)
		}
	}
}

// Batteries that are empty at the start never work.
func TestEmptyFromTheStart(t *testing.T) {
	for protocol, want := range map[string]string{
		federation.WaitForAll: "device 0 has an empty battery",
		federation.Deadline:   "every device's battery is empty",
	} {
		s := world(t, "mocha", protocol, func(s *Setup) {
			joules(s, 10)
			s.Devices.InitialCharge = 0
		})
		out := run(t, s)
		if out.Status != results.Stalled || !strings.HasPrefix(out.Reason, want) {
			t.Errorf("%s: status %s, reason %q, want %s", protocol, out.Status, out.Reason, want)
		}
		for h, r := range out.Rounds {
			if r.EnergyJ != 0 || r.Participants != 0 {
				t.Errorf("%s: round %d: %+v", protocol, h, r)
			}
		}
		// With a charger they come, each of them when it is full enough.
		s.Devices.Charging, s.Devices.ChargeW, s.Devices.ReturnLevel = devices.WhenDepleted, 1, 1
		f := start(t, s)
		f.clients.Begin()
		took := 0
		for range 10 {
			r := f.runRound()
			if f.server.Stalled() != "" {
				t.Fatal(f.server.Stalled())
			}
			took += r.Participants
		}
		if took == 0 {
			t.Errorf("%s: nobody took part in 10 rounds", protocol)
		}
	}
}

// A device that is recharged to less than an attempt takes would be asked forever: the
// run stalls at once. With slightly more it responds, one attempt for each charge.
func TestStalledByABatteryTooSmallForAnAttempt(t *testing.T) {
	for _, loss := range []float64{0, 0.3} {
		for _, enough := range []bool{true, false} {
			s := world(t, "mb-sgd", federation.WaitForAll, func(s *Setup) {
				s.Problem = randomProblem(t, features, 10)
				s.Options.(*algorithms.MbSGDOptions).Batch = 10
				s.Network.LossProbability = loss
				s.Schedule.Rounds = 30
			})
			mains := start(t, s)
			need := 2*connected(mains)*latencyS + (mains.clients.Power(0, clients.Downlink)+mains.clients.Power(0, clients.Uplink))*(transferS-latencyS) + computeW*10*4*features/rate
			share := 1 + 1e-6
			if !enough {
				share = 1 - 1e-6
			}
			const charges = 4
			joules(&s, charges*need)
			s.Devices.Charging, s.Devices.ChargeW, s.Devices.ReturnLevel = devices.WhenDepleted, 10, share/charges
			f := start(t, s)
			out := finish(t, f)
			if enough {
				if out.Status != results.Done || len(out.Rounds) != 31 {
					t.Errorf("loss %g: %s after %d rounds (%s), want all 30", loss, out.Status, len(out.Rounds)-1, out.Reason)
				}
				continue
			}
			const want = `device 0 comes back with a battery that cannot last for one attempt (devices.return_level), and protocol "wait-for-all" waits for it`
			if out.Status != results.Stalled || out.Reason != want || f.clients.Try(0) > 100 {
				t.Errorf("loss %g: %s after %d attempts: %s; want stalled: %s", loss, out.Status, f.clients.Try(0), out.Reason, want)
			}
		}
	}
}

// With jitter the next transfer may be short enough: the run does not stall early.
func TestSmallBatteryWithJitterIsTriedOn(t *testing.T) {
	out := run(t, world(t, "mb-sgd", federation.WaitForAll, func(s *Setup) {
		s.Problem = randomProblem(t, features, 10)
		s.Options.(*algorithms.MbSGDOptions).Batch = 1
		// 54 mJ for each charge: less than an attempt takes without jitter.
		s.Network.Jitter = 1
		joules(s, 4*0.054)
		s.Devices.ChargeW, s.Devices.ReturnLevel = 10, 0.25
	}))
	if out.Status != results.Done || len(out.Rounds) != 11 {
		t.Errorf("%s after %d rounds: %s", out.Status, len(out.Rounds)-1, out.Reason)
	}
}
