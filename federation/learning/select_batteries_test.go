package learning

import (
	"math"
	"testing"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/racetest"
)

const batteryReport = 500 // bytes

func init() {
	federation.RegisterSelector(federation.SelectorFactory{Name: "careful", Batteries: true, ReportBytes: batteryReport,
		New: func(federation.SelectorSetup, config.Options) (federation.Selector, error) { return script, nil }})
}

// A selector sees the state of charge and the charger of every available client when the round
// opens, and nothing of others.
func TestSelectorsSeeBatteries(t *testing.T) {
	racetest.Skip(t, "checks what a selector sees, which one goroutine tells")
	var f *Federation
	plugged, seen, others := 0, 0, 0
	script = func(s *federation.Selection) []int32 {
		now := f.clients.Now()
		for k := range sizes {
			level, charging := s.Battery(int32(k)), s.Charging(int32(k))
			if !f.clients.Available(k) {
				if others++; !math.IsNaN(level) || charging {
					t.Errorf("round %d: client %d is not available: %g, %t", s.Round, k, level, charging)
				}
				continue
			}
			// The report itself takes a little of the battery.
			if is := f.clients.Batteries().Level(k, now); level < is || level > is+1e-2 || level > 1 {
				t.Errorf("round %d: client %d reports a level of %g, has %g", s.Round, k, level, is)
			}
			if since := math.Mod(now.Seconds(), 86400) - 36; charging != (since >= 0 && since < 180) {
				t.Errorf("round %d at %g s: client %d charges: %t", s.Round, now.Seconds(), k, charging)
			} else if seen++; charging {
				plugged++
			}
		}
		return s.Uniform(s.Size, nil)
	}
	f = start(t, world(t, "mocha", federation.WaitForAll, func(s *Setup) {
		d := &s.Devices
		joules(s, 60)
		d.InitialCharge, d.InitialChargeSpread = 0.7, 0.3
		d.Charging, d.ChargeW, d.ChargeHour, d.ChargeHours = devices.Daily, 3, 0.01, 0.05 // from 36 s to 216 s
		s.Config.Selection, s.Config.Clients.Count = "careful", 3
		s.Availability = servertest.Coins{Seed: 7, Share: 0.8}
		s.Schedule.Rounds = 60
	}))
	finish(t, f)
	if plugged == 0 || plugged == seen || others == 0 {
		t.Errorf("%d of %d reports are of plugged clients, %d clients were not available: the test shows little",
			plugged, seen, others)
	}
}

// A client without a battery reports none, and that it is plugged in.
func TestClientsOnMainsHaveNoBattery(t *testing.T) {
	calls := 0
	script = func(s *federation.Selection) []int32 {
		calls++
		for k := range int32(len(sizes)) {
			if !math.IsNaN(s.Battery(k)) || !s.Charging(k) {
				t.Errorf("client %d: %g, %t", k, s.Battery(k), s.Charging(k))
			}
		}
		return s.Uniform(s.Size, nil)
	}
	run(t, world(t, "fedavg", federation.WaitForAll, func(s *Setup) {
		s.Devices.BatteryWh = batteryNone
		s.Config.Selection, s.Config.Clients.Count = "careful", 3
	}))
	if calls == 0 {
		t.Error("the selector is not called")
	}
}

// Reports of batteries cost a message and its answer for each available client: their bytes,
// the time until the slowest, and the energy of the radio.
func TestReportsOfBatteriesAreCharged(t *testing.T) {
	const rounds = 8
	script = func(s *federation.Selection) []int32 { return []int32{0, 2, 5} }
	slow := class("slow", 0.5)
	slow.UplinkMbps, slow.RTTms = 0.1, 100
	setup := func(selection string) Setup {
		return world(t, "fedavg", federation.WaitForAll, func(s *Setup) {
			s.Config.Selection, s.Config.Clients.Count = selection, 3
			s.Fleet = &fleets.Fleet{Classes: []fleets.Class{class("fast", 0.5), slow}}
			s.Schedule.Rounds = rounds
		})
	}
	f := start(t, setup("careful"))
	out := finish(t, f)
	longest := engine.Time(0)
	for k := range sizes {
		longest = max(longest, f.clients.UsualTransfers(k, batteryReport, batteryReport))
	}
	plain := run(t, setup("blind"))
	for h := 1; h <= rounds; h++ {
		got, want, n := out.Rounds[h], plain.Rounds[h], float64(len(sizes)*batteryReport)
		if got.BytesDown != want.BytesDown+n || got.BytesUp != want.BytesUp+n || got.EnergyJ <= want.EnergyJ {
			t.Errorf("round %d: %g bytes down, %g up and %g J, without reports %g, %g and %g", h, got.BytesDown,
				got.BytesUp, got.EnergyJ, want.BytesDown, want.BytesUp, want.EnergyJ)
		}
		if wait := got.TimeS - want.TimeS; !near(wait, float64(h)*longest.Seconds(), 1e-6) {
			t.Errorf("round %d ends %g s later, want %g", h, wait, float64(h)*longest.Seconds())
		}
	}
}
