package learning

import (
	"math"
	"strings"
	"testing"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/network"
)

// class returns a class that is what world's tables say.
func class(name string, share float64) fleets.Class {
	return fleets.Class{
		Name: name, Share: share, ClockGHz: 1e-6, FlopsPerCycle: 1, IdleW: idleW, ComputeW: computeW, BatteryWh: batteryNone,
		Link: "lte", DownlinkMbps: 1, UplinkMbps: 1, RTTms: 10,
	}
}

// A fleet of one class without spread is its profile, and two classes that are alike
// are one: every bit of every run.
func TestOneClassEqualsItsProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds")
	}
	alike := &fleets.Fleet{Classes: []fleets.Class{class("a", 0.4), class("b", 0.6)}}
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged, federation.First} {
		for name, change := range map[string]func(*Setup){
			"mains": busyNetwork,
			"batteries": func(s *Setup) {
				busyNetwork(s)
				s.Devices.BatteryWh, s.Devices.ChargeW = 2e-3, 5
				s.Devices.LowBattery, s.Devices.LowBatteryAction = 0.5, devices.Slow
			},
			"radios":       func(s *Setup) { s.Network.Radio, s.Network.Jitter = network.RadioStates, 0.2 },
			"shared links": func(s *Setup) { s.Network.ServerDownMbps, s.Network.TCPSlowStart = 2, true },
		} {
			plain := world(t, "mocha", protocol, func(s *Setup) {
				s.Options = s.Factory.Options()
				change(s)
			})
			mixed := plain
			fleet := *alike
			fleet.Classes = append([]fleets.Class(nil), alike.Classes...)
			for k := range fleet.Classes {
				// The world overrides phone-2017, and has its lower clock.
				fleet.Classes[k].Device, fleet.Classes[k].BatteryWh = "phone-2017", plain.Devices.BatteryWh
			}
			mixed.Fleet = &fleet
			if err := same(run(t, plain), run(t, mixed)); err != nil {
				t.Errorf("%s, %s: %v", protocol, name, err)
			}
		}
	}
}

// Each device computes and sends as its class does: twice the clock, half the time;
// another round trip, another transfer.
func TestDevicesAreOfTheirClasses(t *testing.T) {
	fast, far := class("fast", 0.4), class("far", 0.6)
	fast.ClockGHz, far.RTTms, far.UplinkMbps = 2e-6, 100, 0.5
	for _, flows := range []bool{false, true} {
		s := world(t, "mocha", federation.WaitForAll, func(s *Setup) {
			s.Fleet = &fleets.Fleet{Classes: []fleets.Class{fast, far}}
			s.Schedule.Rounds = 1
			if flows {
				s.Network.ServerDownMbps = 1e6
			}
		})
		machines, _ := s.Fleet.Assemble(len(sizes), s.Rows, s.Seed)
		var f *Federation
		computed, seen := map[int]float64{}, 0
		s.Hooks = witness(&f, func(e engine.Event, d clients.State) {
			switch e.Kind {
			case clients.EventDownlinkDone, clients.EventComputeDone:
				computed[int(e.Device)] = e.At.Seconds()
			case clients.EventUplinkDone:
				seen++
				up := e.At.Seconds() - computed[int(e.Device)]
				want := transferS
				if machines.Class[e.Device] == 1 {
					want = 0.05 + 8*message/0.5e6
				}
				if math.Abs(up-want) > 2*nanosecond {
					t.Errorf("device %d of class %d sends for %g s, must be %g", e.Device, machines.Class[e.Device], up, want)
				}
			}
		})
		f = start(t, s)
		finish(t, f)
		counts := [2]int{}
		for k, of := range machines.Class {
			counts[of]++
			perSecond := rate
			if of == 0 {
				perSecond = 2 * rate
			}
			want := f.clients.State(k).FLOPs / perSecond
			if got := f.clients.State(k).Compute.Seconds(); math.Abs(got-want) > nanosecond {
				t.Errorf("device %d of class %d computes for %g s, must be %g", k, of, got, want)
			}
		}
		if counts != [2]int{3, 4} || !flows && seen != len(sizes) {
			t.Errorf("%v devices of the classes, %d answers", counts, seen)
		}
	}
}

// Devices on mains beside some with batteries, wires beside radios with states:
// energy is conserved, and those with batteries die while the others go on.
func TestMixedEnergyIsConserved(t *testing.T) {
	for _, protocol := range []string{federation.Deadline, federation.Charged, federation.First} {
		wired, battery := class("wired", 0.5), class("battery", 0.5)
		wired.Link, battery.BatteryWh = "ethernet", 1e-3
		s := world(t, "mocha", protocol, func(s *Setup) {
			s.Fleet, s.Options = &fleets.Fleet{Classes: []fleets.Class{wired, battery}}, s.Factory.Options()
			s.Network.Radio, s.Schedule.Rounds = network.RadioStates, 20
			s.Devices.ChargeW, s.Devices.ChargeDelayS = 3, 1
		})
		machines, _ := s.Fleet.Assemble(len(sizes), s.Rows, s.Seed)
		var f *Federation
		died := map[int32]bool{}
		s.Hooks = witness(&f, func(e engine.Event, d clients.State) {
			if e.Kind == clients.EventRecharged {
				died[e.Device] = true
			}
		})
		f = start(t, s)
		finish(t, f)
		e := f.clients.Batteries().Total()
		if d := e.DrainedJ + e.LeftJ - e.InitialJ - e.ChargedJ; math.Abs(d) > 1e-9*e.DrainedJ {
			t.Errorf("%s: %+v: %g J are lost", protocol, e, d)
		}
		for k, of := range machines.Class {
			if died[int32(k)] != (of == 1) {
				t.Errorf("%s: device %d of class %d has come back: %t", protocol, k, of, died[int32(k)])
			}
		}
	}
}

// The costs of the paper and of the authors are those of one link.
func TestFleetsNeedPhysicalCosts(t *testing.T) {
	for _, cost := range []string{federation.Relative, federation.Authors} {
		_, err := New(world(t, "mocha", federation.WaitForAll, func(s *Setup) {
			s.Config.Cost, s.Fleet = cost, &fleets.Fleet{Classes: []fleets.Class{class("a", 1)}}
		}))
		if err == nil || !strings.Contains(err.Error(), `must be "physical" with a fleet`) {
			t.Errorf("%s: %v", cost, err)
		}
	}
}
