package learning

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
)

// firstAnswers completes the setup of protocol "first".
func firstAnswers(s *Setup) {
	if s.Config.Protocol == protocols.First {
		s.Options.(*algorithms.MOCHAOptions).Epochs = 1
		s.Config.Clients.Count, s.Config.Over = 3, 1.5

	}
}

// A device is asked above the threshold and not below it. It completes the work that it
// has begun, and no battery is depleted.
func TestLowBatteriesRefuse(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, protocols.Deadline, protocols.Charged,
		protocols.First} {
		var f *Federation
		begun, refused, recovered := 0, 0, 0
		s := world(t, "mocha", protocol, func(s *Setup) {
			d := &s.Devices
			joules(s, 60)
			d.LowBattery, d.ReturnLevel, d.InitialCharge, d.InitialChargeSpread = 0.4, 0.5, 0.7, 0.3
			d.Charging, d.ChargeW, d.ChargeHour, d.ChargeHours = devices.Daily, 3, 0.01, 0.05 // from 36 s to 216 s
			s.Faults.DropProbability.All, s.Faults.DropPhase = 0.1, devices.AtRandom
			s.Schedule.Rounds = 60
			firstAnswers(s)
		})
		s.Hooks = witness(&f, func(e engine.Event, d clients.State) {
			k := int(e.Device)
			if e.Kind == clients.EventBatteryCheck && d.Refuses && !f.clients.Batteries().Low(k, e.At) {
				recovered++
			}
			if f.server.Ended() || e.Kind != clients.EventDownlinkDone {
				return
			}
			begun++
			// It was not low when it was asked, a transfer ago.
			if level := f.clients.Batteries().Level(k, e.At); level < 0.4-2*s.Devices.Device().
				ComputeW*d.Downlink.Seconds()/60 {
				t.Errorf("%s: device %d takes work at a level of %g", protocol, k, level)
			}
		})
		f = start(t, s)
		f.clients.Begin()
		for range 60 {
			at := f.clients.Now()
			low := 0
			for k := range f.setup.Clients {
				if f.clients.Batteries().Low(k, at) != f.clients.State(k).Refuses &&
					!f.clients.Batteries().Depleted(k) {
					// Within a nanosecond of the threshold a level is rounded.
					if level := f.clients.Batteries().Level(k, at); math.Abs(level-0.4) > 1e-9 {
						t.Fatalf("%s: device %d refuses = %t at a level of %g", protocol, k, f.clients.State(k).Refuses,
							level)
					}
				}
				if !f.clients.Available(k) {
					low++
				}
			}
			if low != f.clients.Unavailable() {
				t.Fatalf("%s: %d devices cannot be reached, counted %d", protocol, low, f.clients.Unavailable())
			}
			refused += low
			r := f.runRound()
			if f.server.Stalled() != "" {
				t.Fatalf("%s: round %d: %s", protocol, r.Round, f.server.Stalled())
			}
		}
		if begun < 50 || refused == 0 || recovered == 0 {
			t.Errorf("%s: work was begun %d times, refused %d times, taken again %d times: nothing was tested",
				protocol, begun, refused, recovered)
		}
	}
}
