package learning

import (
	"math"
	"testing"

	"fedsim/clients"
	"fedsim/devices/fleets"
	"fedsim/engine"
	"fedsim/federation"
)

// class returns a class that is what world's tables say.
func class(name string, share float64) fleets.Class {
	return fleets.Class{
		Name: name, Share: share, ClockGHz: 1e-6, FlopsPerCycle: 1, IdleW: idleW, ComputeW: computeW,
		BatteryWh: batteryNone, Link: "lte", DownlinkMbps: 1, UplinkMbps: 1, RTTms: 10,
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
					t.Errorf("device %d of class %d sends for %g s, must be %g", e.Device, machines.Class[e.Device], up,
						want)
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
