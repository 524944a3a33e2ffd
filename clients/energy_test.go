package clients

import (
	"math"
	"slices"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// newEnergyOf returns the energy of clients alone, with batteries of 10 J that are full. They
// idle at 0.5 W and compute at 2 W.
func newEnergyOf(n int, change func(*Setup)) *energy {
	s := setup(n, func(s *Setup) {
		if s.Devices.BatteryWh = 10. / 3600; change != nil {
			change(s)
		}
	})
	h, batteries := newHardware(&s, nil)
	p := newPopulation(&s)
	e := newEnergy(&s, batteries, &p, &h, engine.New(n, engine.Options{}))
	return &e
}

// checks runs until an instant and returns when batteries were looked at. An empty one is
// depleted, and restored when it has charge enough.
func (e *energy) checks(seconds float64) (at []float64) {
	e.clock.RunUntil(engine.FromSeconds(seconds), func(ev engine.Event) {
		client := int(ev.Device)
		at = append(at, math.Round(ev.At.Seconds()*1e6)/1e6)
		if ev.Kind == EventRecharged {
			if e.restore(client) {
				e.draw(client, e.idle(client))
			}
			return
		}
		if e.batteries.Account(client, ev.At); e.empty(client) {
			e.deplete(client)
		}
	})
	return at
}

// A battery of 10 J that idles for 4 s and then computes has 8 J for 2 W. The check that is
// pending when the client computes is too late, and moves; the one when it idles again is too
// early, and is renewed when it comes.
func TestABatteryEmptiesWhileItsClientComputes(t *testing.T) {
	e := newEnergyOf(2, nil)
	e.draw(0, idleW)
	e.draw(1, idleW)
	if got := e.checks(4); got != nil {
		t.Fatalf("checks at %v", got)
	}
	e.draw(0, 2)
	e.draw(1, 2)
	e.checks(6)
	e.draw(1, idleW) // 4 J are left, for 8 s
	if got, want := e.checks(20), []float64{8, 8, 14}; !slices.Equal(got, want) {
		t.Errorf("checks at %v, want %v", got, want)
	}
	if !e.batteries.Depleted(0) || !e.batteries.Depleted(1) || math.Abs(e.batteries.Spent(1)-10) > 1e-6 {
		t.Errorf("client 1 has spent %g J of 10", e.batteries.Spent(1))
	}
}

// A charger of 1 W that is plugged in 3 s after a battery is empty restores it at a half of
// 10 J; the charge that a client has then lasts for 10 s at 0.5 W.
func TestRecharge(t *testing.T) {
	e := newEnergyOf(1, func(s *Setup) {
		s.Devices.ChargeW, s.Devices.ChargeDelayS, s.Devices.ReturnLevel = 1, 3, 0.5
	})
	e.draw(0, 2)
	if got, want := e.checks(30), []float64{5, 13, 23}; !slices.Equal(got, want) {
		t.Errorf("events at %v, want %v", got, want)
	}
}

// plugs is a charger that is plugged in from 5 s to 6 s and from 10 s on.
type plugs struct{}

func (plugs) PluggedIn(_ int, at engine.Time) (plugged bool, until engine.Time) {
	for _, until := range [...]engine.Time{5 * second, 6 * second, 10 * second} {
		if at < until {
			return at >= 5*second && at < 6*second, until
		}
	}
	return true, engine.Never
}

// A charger of 1 W that is unplugged before a battery has 4 J lets its client wait: it has 1 J at
// 6 s, and the other 3 J at 13 s.
func TestRechargeThatIsInterrupted(t *testing.T) {
	e := newEnergyOf(1, func(s *Setup) {
		s.Charging, s.Devices.ChargeW, s.Devices.ReturnLevel = plugs{}, 1, 0.4
	})
	e.draw(0, 2.5)
	e.checks(12.5)
	if !e.batteries.Depleted(0) {
		t.Error("a battery of less than 4 J is restored")
	}
	if at := e.checks(13); e.batteries.Depleted(0) || at[len(at)-1] != 13 {
		t.Errorf("events at %v", at)
	}
}

// A client refuses work below 40 % of 10 J: at 2 W after 3 s, at a check of the level.
func TestLowBattery(t *testing.T) {
	e := newEnergyOf(1, func(s *Setup) { s.Devices.LowBattery, s.Devices.LowBatteryAction = 0.4, devices.Refuse })
	e.draw(0, 2)
	e.checks(2.999)
	if e.low(0) {
		t.Error("low at once")
	}
	at := e.checks(5)
	if len(at) < 2 || at[0] != 3 || at[len(at)-1] != 5 {
		t.Errorf("checks at %v", at)
	}
	if !e.batteries.Depleted(0) {
		t.Error("not depleted after 5 s")
	}
	e = newEnergyOf(1, func(s *Setup) { s.Devices.LowBattery, s.Devices.LowBatteryAction = 0.4, devices.Slow })
	e.draw(0, 2)
	if at := e.checks(5); !slices.Equal(at, []float64{5}) || e.low(0) {
		t.Errorf("a client that does not refuse work is checked at %v", at)
	}
}

// Energies of a transfer in closed form: of its latency and of its bytes, as the radio's states
// and shared links say. The message is 10^6 bits that take 10 ms and 1 s.
func TestEnergyOfATransfer(t *testing.T) {
	const base, up = 1.28804, 0.43839 // W, and W per Mbps, of LTE
	wakes, tail := 0.26*(idleW+1.21), 1.06
	for _, c := range []struct {
		name   string
		change func(*Setup)
		want   float64 // J, until 1 s behind the transfer
	}{
		{"active", func(*Setup) {}, 0.01*(idleW+base) + (idleW + base + up) + idleW},
		{"states", func(s *Setup) { s.Network.Radio = network.RadioStates },
			wakes + 0.01*(idleW+base) + (idleW + base + up) + idleW + tail},
		{"shared", func(s *Setup) { s.Network.Radio, s.Network.ServerUpMbps = network.RadioStates, 9 },
			wakes + 0.01*(idleW+base) + (idleW + base) + up + idleW + tail},
	} {
		e := newEnergyOf(1, func(s *Setup) {
			c.change(s)
			s.Devices.BatteryWh, s.Network.RTTms = devices.Mains, 20
		})
		m := message{way: network.Up, bytes: 125_000, length: 1_010_000_000}
		d, latency := e.population.at(0), second/100
		d.phase, d.bytesUp, d.up, d.began = uplink, m.bytes, m.length, latency
		promotion := e.radios.promotion(0, 0)
		e.transfer(m, latency)
		wait := func(at engine.Time) {
			e.clock.Schedule(at, EventTimer, 0)
			e.clock.Run(func(engine.Event) {})
			e.batteries.Account(0, at)
		}
		wait(promotion + m.length)
		e.pay(m, m.bytes)
		d.phase = idle
		e.draw(0, e.idle(0))
		wait(promotion + m.length + second)
		if got := e.batteries.Spent(0); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %.6f J, want %.6f", c.name, got, c.want)
		}
	}
}
