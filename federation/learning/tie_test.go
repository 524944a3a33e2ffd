package learning

import (
	"testing"

	"fedsim/algorithms"
	"fedsim/devices"
	"fedsim/federation/protocols"
)

// second makes a single device whose round takes exactly one second, half of it
// to compute, at 0.87890625 W throughout.
func second(t testing.TB) func(*Setup) {
	return func(s *Setup) {
		s.Problem = randomProblem(t, features, 10)
		s.Options.(*algorithms.MbSGDOptions).Batch = 10
		s.Network.Profile, s.Network.RTTms = "ethernet", 500 // whose radio draws nothing
		s.Network.DownlinkMbps, s.Network.UplinkMbps = 1e9, 1e9
		s.Devices.ClockGHz, s.Devices.FlopsPerCycle = 1e-9, 10*4*features*2
		s.Devices.IdleW, s.Devices.ComputeW = 3600*0x1p-12, 3600*0x1p-12
	}
}

// What happens at the same instant happens in this order: an answer that arrives
// at the deadline is in time, and a battery that empties with the last bit of an
// answer has sent it.
func TestTies(t *testing.T) {
	for _, battery := range []float64{batteryNone, 0x1p-12} { // the latter: one second's worth
		for _, charger := range []float64{0, 1} {
			f := start(t, world(t, "mb-sgd", protocols.Deadline, func(s *Setup) {
				second(t)(s)
				s.Config.DeadlineS = 1
				s.Devices.BatteryWh, s.Devices.ChargeW = battery, charger
			}))
			f.clients.Begin()
			r := f.runRound()
			if d := f.clients.State(0); d.Downlink.Seconds() != 0.25 || d.Compute.Seconds() != 0.5 ||
				d.Uplink.Seconds() != 0.25 {
				t.Fatalf("the phases take %v, %v and %v, want 0.25, 0.5 and 0.25 s", d.Downlink, d.Compute, d.Uplink)
			}
			if r.TimeS != 1 || r.Participants != 1 || r.Dropped != 0 || r.Late != 0 || r.BytesUp != message {
				t.Errorf("battery of %g Wh: %+v: the answer is in time", battery, r)
			}
			if dead := battery != batteryNone; f.clients.Batteries().Depleted(0) != dead {
				t.Errorf("battery of %g Wh: flat: %v", battery, !dead)
			}
		}
	}
	// A nanosecond less is too late, or too little.
	for name, change := range map[string]func(*Setup){
		"deadline": func(s *Setup) { s.Config.DeadlineS = 1 - nanosecond },
		"battery":  func(s *Setup) { s.Devices.BatteryWh = 0x1p-12 * (1 - 1.5*nanosecond) },
	} {
		f := start(t, world(t, "mb-sgd", protocols.Deadline, func(s *Setup) {
			second(t)(s)
			s.Config.DeadlineS = 1
			change(s)
		}))
		f.clients.Begin()
		// The controller sees a shorter clock cycle and does a row less.
		if r := f.runRound(); name == "battery" && (r.Participants != 0 || r.Dropped != 1) {
			t.Errorf("%s: %+v: want no answer", name, r)
		} else if name == "deadline" && (r.Participants != 1 || f.workOf(0).Steps != 9) {
			t.Errorf("%s: %+v after %d steps: want an answer after 9", name, r, f.workOf(0).Steps)
		}
	}
}

// A device that never answers does not do so on a link that takes no time
// either, wherever it drops.
func TestStrikeInPhasesOfNoLength(t *testing.T) {
	for _, where := range []string{devices.AtStart, devices.AtCompute, devices.AtUpload, devices.AtRandom} {
		for _, protocol := range []string{protocols.Deadline, protocols.Charged} {
			for _, idle := range []bool{false, true} {
				f := start(t, world(t, "mocha", protocol, func(s *Setup) {
					s.Network.RTTms, s.Network.DownlinkMbps, s.Network.UplinkMbps = 0, 1e9, 1e9
					s.Faults.Never, s.Faults.DropPhase = []int{0, 4}, where
					if idle {
						s.Devices.ClockGHz = 1e5 // a step takes no time either
						s.Config.DeadlineS = 1e-9
					}
				}))
				f.clients.Begin()
				for h := range 10 {
					r := f.runRound()
					if f.server.Attempt(int(0)).Responded || f.server.Attempt(int(4)).Responded ||
						r.Participants != 5 || r.Dropped != 2 {
						t.Errorf("%s, %s: round %d: %+v: devices 0 and 4 never answer", where, protocol, h, r)
					}
				}
			}
		}
	}
}
