package federation_test

import (
	"math"
	"testing"

	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/engine"
	"fedsim/network"
)

// level is a constant speed.
type level float64

func (l level) Speed(int, engine.Time) (float64, engine.Time) { return float64(l), engine.Never }

// busy adds drops, losses and jitter.
func busy(s *Setup) {
	s.Network.Jitter, s.Network.LossProbability, s.Network.RateSpread = 0.5, 0.1, 0.4
	s.Faults.DropProbability.All, s.Faults.DropPhase = 0.2, devices.AtCompute
	s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 0.5
	s.Config.DeadlineS, s.Config.Over, s.Config.ServerGFLOPS = 1.5, 1, 1e-6
	if s.Config.Protocol == First {
		s.Config.Over, s.Config.Clients.Share = 1.5, 0.6
	}
	if s.Config.Protocol != Deadline {
		s.Config.DeadlineS = 0
	}
}

// Settings that say the same in two ways have the same rounds, under every protocol.
func TestEqualWorlds(t *testing.T) {
	const exactly = 0
	alike := func(s *Setup) {
		a, b := class("a", 0.4), class("b", 0.6)
		for _, c := range []*fleets.Class{&a, &b} { // the world overrides phone-2017, and has its lower clock
			c.Device, c.BatteryWh = "phone-2017", float64(s.Devices.BatteryWh)
		}
		s.Fleet = &fleets.Fleet{Classes: []fleets.Class{a, b}}
		s.Network.RateSpread, s.Devices.SpreadWidth = 0, 0
	}
	uniform := func(s *Setup) {
		s.Network.RateSpread, s.Devices.SpreadWidth = 0, 0
	}
	none := func(*Setup) {}
	for _, c := range []struct {
		name      string
		a, b      func(*Setup)
		tolerance float64 // seconds a round; exactly: every bit of every round and of the events
		scale     float64 // times of b are so many times those of a; 0: 1
		not       string  // a protocol for which it does not hold
	}{
		{name: "always available", a: none, b: func(s *Setup) {
			s.Availability = window{From: engine.Never, To: engine.Never}
		}},
		{name: "p = 0", a: func(s *Setup) { s.Faults = devices.DefaultFaults() },
			b: func(s *Setup) { s.Faults.DropProbability.All = 0 }},
		{name: "p_t = 0", a: func(s *Setup) { s.Faults = devices.DefaultFaults() }, b: func(s *Setup) {
			s.Faults.DropProbability = devices.DropProbability{ByDevice: make([]float64, len(sizes))}
		}},
		{name: "p^h = 0", a: func(s *Setup) { s.Faults = devices.DefaultFaults() }, b: func(s *Setup) {
			s.Faults.DropProbability = devices.DropProbability{ByRound: []float64{0, 0}}
		}},
		{name: "p_t = p", a: none, b: func(s *Setup) {
			s.Faults.DropProbability = devices.DropProbability{ByDevice: []float64{0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2}}
		}},
		{name: "p^h = p", a: none,
			b: func(s *Setup) { s.Faults.DropProbability = devices.DropProbability{ByRound: []float64{0.2}} }},
		{name: "a fleet of one class", a: uniform, b: alike},
		{name: "a fleet of one class with batteries", a: func(s *Setup) { uniform(s); rechargeable(s) },
			b: func(s *Setup) { rechargeable(s); alike(s) }},
		{name: "a fleet of one class with radios",
			a: func(s *Setup) { uniform(s); s.Network.Radio = network.RadioStates },
			b: func(s *Setup) { alike(s); s.Network.Radio = network.RadioStates }},
		{name: "low batteries out of reach", a: func(s *Setup) { joules(s, 3.6e6) },
			b: func(s *Setup) { joules(s, 3.6e6); s.Devices.LowBattery = 0.01 }},
		{name: "slow batteries out of reach", a: func(s *Setup) { joules(s, 3.6e6) },
			b: func(s *Setup) {
				joules(s, 3.6e6)
				s.Devices.LowBattery, s.Devices.LowBatteryAction = 0.01, devices.Slow
			}},
		{name: "a speed of 1", a: none, b: func(s *Setup) {
			s.Speed = turns{Each: engine.FromSeconds(0.013), Fast: 1, Slow: 1}
		}},
		{name: "a speed said often", a: func(s *Setup) { s.Speed = level(0.25) },
			b: func(s *Setup) { s.Speed = turns{Each: engine.FromSeconds(0.013), Fast: 0.25, Slow: 0.25} }},
		{name: "links that nobody fills", tolerance: 50e-9, a: none, b: func(s *Setup) {
			s.Network.ServerDownMbps, s.Network.ServerUpMbps = 1e6, 1e6
			s.Network.Cells, s.Network.CellDownMbps, s.Network.CellUpMbps = 3, 1e6, 1e6
		}},
		{name: "a constant bandwidth", tolerance: 100e-9, a: sharedLinks,
			b: func(s *Setup) { sharedLinks(s); s.Bandwidth = constant{1} }},
		{name: "half of every rate", tolerance: 200e-9, scale: 2, not: Deadline, a: sharedLinks, b: func(s *Setup) {
			sharedLinks(s)
			n := &s.Network
			for _, mbps := range []*float64{&n.DownlinkMbps, &n.UplinkMbps, &n.ServerUpMbps, &n.CellDownMbps,
				&s.Devices.ClockGHz, &s.Config.ServerGFLOPS} {
				*mbps /= 2
			}
			n.RTTms *= 2
		}},
		{name: "hubs of one at no distance", tolerance: 10e-9, not: WaitForAll,
			// where a hub asks again earlier than a server
			a: func(s *Setup) { s.Network.LossProbability = 0 },
			b: func(s *Setup) {
				s.Network.LossProbability = 0
				s.Network.HubSize, s.Network.HubMbps, s.Network.HubRTTms = 1, 1e9, 0
			}},
	} {
		for _, protocol := range []string{WaitForAll, Deadline, Charged, First, Asynchronous} {
			if c.not == protocol || protocol == Asynchronous && c.tolerance > exactly {
				continue
			}
			of := func(change func(*Setup)) outcome {
				return start(t, world(protocol, func(s *Setup) { busy(s); change(s) }), 1).Play(10)
			}
			a, b := of(c.a), of(c.b)
			if c.tolerance == exactly {
				if diff := same(a, b); diff != "" {
					t.Errorf("%s, %s: %s", c.name, protocol, diff)
				}
				continue
			}
			scale := max(1, c.scale)
			for h := range a.Rounds {
				x, y := &a.Rounds[h], &b.Rounds[h]
				if math.Abs(x.TimeS*scale-y.TimeS) > c.tolerance*float64(h+1) || x.Participants != y.Participants ||
					x.Dropped != y.Dropped ||
					x.Late != y.Late || math.Abs(x.BytesDown-y.BytesDown) > 1e-3 ||
					math.Abs(x.BytesUp-y.BytesUp) > 1e-3 || !near(x.FLOPs, y.FLOPs, 1e-6) {
					t.Errorf("%s, %s: round %d: %+v and %+v", c.name, protocol, h+1, x, y)
				}
			}
		}
	}
}

// rechargeable gives devices batteries that last for some rounds.
func rechargeable(s *Setup) {
	joules(s, 20)
	s.Devices.ChargeW, s.Devices.LowBattery, s.Devices.LowBatteryAction = 5, 0.5, devices.Slow
}

// sharedLinks lets transfers share links.
func sharedLinks(s *Setup) {
	s.Network.ServerUpMbps, s.Network.Cells, s.Network.CellDownMbps = 3, 2, 1.5
}

// Radio states cost time and energy, but schedule no events.
func TestTailsAreNoEvents(t *testing.T) {
	for _, protocol := range []string{WaitForAll, Deadline, Charged} {
		of := func(radio string) outcome {
			return start(t, world(protocol, func(s *Setup) { s.Network.Radio, s.Config.DeadlineS = radio, 3 }),
				1).Play(10)
		}
		if a, b := of(network.RadioActive), of(network.RadioStates); a.Events != b.Events ||
			a.Rounds[9].EnergyJ >= b.Rounds[9].EnergyJ {
			t.Errorf("%s: %d events, %d with the states of radios", protocol, a.Events, b.Events)
		}
	}
}
