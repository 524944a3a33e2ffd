package learning

import (
	"testing"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/network"
)

// states gives devices the radio of a profile with all its states, but the rates and
// the latency of the tests.
func states(s *Setup, profile string) {
	s.Network.Profile, s.Network.Radio = profile, network.RadioStates
}

// Two rounds of one device, with long computation and short, on 3G: promotion
// 0.5821 s at 0.6594 W, DCH 4 s at 0.8039 W, FACH 6 s at 0.6013 W (network.Profile).
func TestStatesClosedForm(t *testing.T) {
	const (
		promotionS, promotionW = 0.5821, 0.6594
		dchS, dchW             = 4, 0.8039
		fachS, fachW           = 6, 0.6013
		mbps                   = 8 * message / 1e6 / transferS
		down                   = transferS * (122.12*mbps + 817.88) / 1e3
		up                     = transferS * (868.98*mbps + 817.88) / 1e3
	)
	tail := func(after float64) float64 {
		return min(after, dchS)*dchW + min(max(0, after-dchS), fachS)*fachW
	}
	for _, c := range []struct {
		compute float64 // s
		wakes   float64 // promotions in the round
	}{{1, 1}, {5, 1}, {9.9999, 1}, {10, 2}, {12, 2}} {
		for _, battery := range []float64{batteryNone, 1000} {
			f := start(t, world(t, "mb-sgd", federation.WaitForAll, func(s *Setup) {
				s.Problem = randomProblem(t, features, 10)
				s.Options.(*algorithms.MbSGDOptions).Batch = 10
				s.Devices.ClockGHz = 10 * 4 * features / c.compute / 1e9
				s.Devices.BatteryWh = battery
				states(s, "3g")
			}))
			f.clients.Begin()
			r := f.runRound()
			length := c.wakes*promotionS + 2*transferS + c.compute
			want := idleW*(length-c.compute) + computeW*c.compute +
				c.wakes*promotionS*promotionW + down + up + tail(c.compute)
			if !near(r.TimeS, length, 3*nanosecond) || !near(r.EnergyJ, want, 1e-8) {
				t.Errorf("%g s of computation: %.9f s, %.9f J; want %.9f s, %.9f J", c.compute, r.TimeS, r.EnergyJ, length, want)
			}
			// The next round begins within the tail: nothing wakes at first, and the
			// tail that was cut off is not paid for.
			r2 := f.runRound()
			length -= promotionS
			want -= promotionS * (promotionW + idleW)
			if !near(r2.TimeS-r.TimeS, length, 3*nanosecond) || !near(r2.EnergyJ, want, 1e-8) {
				t.Errorf("%g s of computation, then: %.9f s, %.9f J; want %.9f s, %.9f J", c.compute, r2.TimeS-r.TimeS, r2.EnergyJ, length, want)
			}
		}
	}
}

// Radio states cost time and energy, but schedule no events.
func TestTailsAreNoEvents(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged} {
		events := func(radio string) int64 {
			return run(t, world(t, "mocha", protocol, func(s *Setup) {
				s.Network.Radio = radio
				s.Config.DeadlineS = 3
			})).Events
		}
		if a, b := events(network.RadioActive), events(network.RadioStates); a != b {
			t.Errorf("%s: %d events, %d with the states of radios", protocol, a, b)
		}
	}
}

// Under a deadline the controller of a device includes the promotion after a long
// computation, so that its response is in time.
func TestControllersKnowPromotions(t *testing.T) {
	for _, deadline := range []float64{2, 10.3, 10.6, 11, 11.5, 25} { // around the 10 s of the tail
		f := start(t, world(t, "mocha", federation.Deadline, func(s *Setup) {
			s.Config.DeadlineS = deadline
			states(s, "3g")
		}))
		f.clients.Begin()
		for range 4 {
			if r := f.runRound(); r.Participants != f.setup.Clients {
				t.Errorf("deadline of %g s: %+v", deadline, r)
			}
		}
	}
}

// A recharged device must wake its radio. One that has energy for all but that stalls
// the run at once.
func TestHopelessWithStates(t *testing.T) {
	for _, enough := range []bool{true, false} {
		s := world(t, "mb-sgd", federation.WaitForAll, func(s *Setup) {
			s.Problem = randomProblem(t, features, 10)
			s.Options.(*algorithms.MbSGDOptions).Batch = 10
			s.Schedule.Rounds = 8
			states(s, "3g")
		})
		mains := start(t, s)
		mains.clients.Begin()
		need := mains.runRound().EnergyJ
		share := 1 + 1e-6
		if !enough {
			share = 1 - 1e-6
		}
		const charges = 4
		joules(&s, charges*need)
		s.Devices.Charging, s.Devices.ChargeW, s.Devices.ReturnLevel = devices.WhenDepleted, 10, share/charges
		s.Devices.ChargeDelayS = 20
		f := start(t, s)
		out := finish(t, f)
		if done := out.Status == "done"; done != enough || f.clients.Try(0) > 10 {
			t.Errorf("enough = %t: %s after %d attempts: %s", enough, out.Status, f.clients.Try(0), out.Reason)
		}
	}
}

// On a shared link that is never full, radios take the energy of a link that is not
// shared. On a full one bytes cost the same, and the longer time costs the base power.
func TestRadiosOnSharedLinks(t *testing.T) {
	setup := func(battery, server float64) Setup {
		return world(t, "mocha", federation.WaitForAll, func(s *Setup) {
			states(s, "lte")
			s.Devices.BatteryWh = battery
			s.Network.ServerDownMbps, s.Network.ServerUpMbps = server, server
		})
	}
	for _, battery := range []float64{batteryNone, 1000} {
		own, wide := run(t, setup(battery, 0)), run(t, setup(battery, 1e6))
		for h := range own.Rounds {
			if a, b := own.Rounds[h].EnergyJ, wide.Rounds[h].EnergyJ; !near(b, a, 1e-7) {
				t.Errorf("round %d takes %.9f J on a wide link, %.9f on its own", h, b, a)
			}
		}
		f := start(t, setup(battery, 0.01))
		f.clients.Begin()
		r := f.runRound()
		const (
			promotion, tail = 0.26 * 1.21, 1.06
			base            = 1.28804
		)
		want, n := 0.0, float64(len(sizes))
		for k := range f.setup.Clients {
			compute := f.clients.State(k).FLOPs / f.clients.Fleet().Rate(k)
			// Everyone's download ends together; the uploads do not.
			want += promotion + compute*(computeW-idleW+tail) + idleW*r.TimeS + message*8/1e9*(51.97+438.39)
		}
		down := 0.005 + n*message*8/0.01e6
		want += n * down * base
		if r.EnergyJ < want || r.EnergyJ > want+n*(r.TimeS-down)*base {
			t.Errorf("a round on a narrow link takes %.9f J, want %.9f and the uploads", r.EnergyJ, want)
		}
	}
}

// During the latency a radio is connected and moves no bytes; then they move at the
// rate of the link. A device whose battery lasts for part of a downlink is depleted
// there, with a whole number of bytes, on shared links and others.
func TestLatencyMovesNoBytes(t *testing.T) {
	const moving = transferS - latencyS
	for _, c := range []struct {
		name  string
		of    float64 // the part of the download, in seconds
		bytes float64
	}{
		{"half the latency", latencyS / 2, 0},
		{"the latency", latencyS, 0},
		{"half the bytes", latencyS + 0.5*moving, 56},
		{"nine tenths of the bytes", latencyS + 0.9*moving, 100}, // of 100.8
	} {
		for _, change := range []func(*Setup){
			func(*Setup) {},
			func(s *Setup) { s.Network.ServerDownMbps = 1e6 },
			func(s *Setup) { s.Network.Radio, s.Network.Profile = network.RadioStates, "ble" }, // which nothing wakes
		} {
			var told entries
			s := world(t, "mb-sgd", federation.WaitForAll, func(s *Setup) {
				s.Problem = randomProblem(t, features, 10)
				s.Options.(*algorithms.MbSGDOptions).Batch = 10
				change(s)
			})
			mains := start(t, s)
			mains.clients.SetBytesDown(message)
			mains.clients.PrepareDownlink(0, 0, 0)
			// One nanojoule is for rounding.
			joules(&s, connected(mains)*min(c.of, latencyS)+mains.clients.Power(0, clients.Downlink)*max(0, c.of-latencyS)+1e-9)
			s.Journal = &told
			run(t, s)
			for _, e := range told {
				switch e.Kind {
				case federation.ActivitySpan:
					if e.Activity == clients.Downlink && e.Amount != c.bytes {
						t.Errorf("%s: %g bytes have moved, want %g", c.name, e.Amount, c.bytes)
					}
				case federation.AttemptFailed:
					if !near(e.To.Seconds(), c.of, 1e-6) {
						t.Errorf("%s: the battery is empty after %.9f s, want %.9f", c.name, e.To.Seconds(), c.of)
					}
				}
			}
			if len(told) == 0 {
				t.Error("nothing happened")
			}
		}
	}
}
