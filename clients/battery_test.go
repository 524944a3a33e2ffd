package clients

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// Powers of LTE beside idling: while it is connected, and for 10^6 bit/s down and up.
const (
	lteBase, lteDown, lteUp = 1.28804, 0.05197, 0.43839
	downlinkJ               = 0.005*(idleW+lteBase) + 0.008*(idleW+lteBase+lteDown) // 1000 bytes
	uplinkJ                 = 0.005*(idleW+lteBase) + 0.008*(idleW+lteBase+lteUp)
)

// A battery of 4 J that empties while its client computes at 2 W ends the attempt, which has
// done as much work as there was energy for.
func TestDepletedWhileComputing(t *testing.T) {
	at := engine.Never
	var c *Clients
	c = start(t, setup(1, func(s *Setup) { s.Devices.BatteryWh = 4. / 3600 }), Listener{
		Depleted: func(int) {
			if at = c.Now(); !c.Failed(0) {
				t.Error("no attempt has failed")
			}
		},
	})
	c.Start(0, Attempt{BytesDown: 1000, Work: devices.Work{FLOPs: 5000}, BytesUp: 1000})
	c.Run()
	computed := (4 - downlinkJ) / 2 // s
	if !near(at, engine.FromSeconds(0.013+computed), 2) {
		t.Errorf("depleted at %v, want %g s", at, 0.013+computed)
	}
	if got := c.Take(); math.Abs(got.FLOPs-1000*computed) > 1e-5 || got.BytesDown != 1000 || got.BytesUp != 0 {
		t.Errorf("counted %+v", got)
	}
	if empty, charged := c.Depleted(0); !empty || charged || !c.NeverAvailable(0) || c.Power(0, Depleted) != 0 {
		t.Errorf("%+v", c.State(0))
	}
}

// A client with a low battery is unavailable, and completes the attempt that it is at.
func TestRefusalDuringAnAttempt(t *testing.T) {
	var heard []string
	var c *Clients
	hear := func(what string) func(int) {
		return func(int) { heard = append(heard, fmt.Sprintf("%.3f %s", c.Now().Seconds(), what)) }
	}
	c = start(t, setup(1, func(s *Setup) {
		s.Devices.BatteryWh, s.Devices.LowBattery, s.Devices.ReturnLevel = 10./3600, 0.4, 0.5
	}), Listener{Unavailable: hear("unavailable"), Responded: hear("responded")})
	c.Start(0, Attempt{BytesDown: 1000, Work: devices.Work{FLOPs: 4000}, BytesUp: 1000})
	c.RunUntil(5 * second)
	low := 0.013 + (6-downlinkJ)/2
	if want := []string{fmt.Sprintf("%.3f unavailable", low), "4.026 responded"}; !slices.Equal(heard, want) {
		t.Errorf("%q, want %q", heard, want)
	}
	if c.Idle(0) || c.WhyUnavailable(0) != BatteryLow || c.Unavailable() != 1 {
		t.Errorf("%+v", c.State(0))
	}
}

// An attempt of a second of work takes downlink, uplink and 2 J: a battery with a little less
// cannot complete it, and one with a little more can.
func TestCannotComplete(t *testing.T) {
	for _, share := range []float64{0.999, 1.001} {
		c := start(t, setup(1, func(s *Setup) {
			s.Devices.BatteryWh = share * (downlinkJ + 2 + uplinkJ) / 3600
		}), Listener{})
		c.SetBytesDown(1000)
		c.SetWork(0, devices.Work{FLOPs: 1000}, 1000)
		if got := c.CannotComplete(0); got != (share < 1) {
			t.Errorf("%g of the energy of an attempt: %t", share, got)
		}
	}
}

// A message and its answer beside the attempts cost their bytes and their radio's energy.
func TestExchange(t *testing.T) {
	c := start(t, setup(1, nil), Listener{})
	if took := c.Exchange(0, 1000, 2000); took != engine.FromSeconds(0.013+0.021) {
		t.Errorf("took %v", took)
	}
	want := 0.013*(lteBase+lteDown) + 0.021*(lteBase+lteUp)
	if got := c.Batteries().Spent(0); math.Abs(got-want) > 1e-12 || c.Take() != (Traffic{0, 1000, 2000}) {
		t.Errorf("%g J, want %g", got, want)
	}
}

// A battery that is depleted ends an attempt: Failed, Depleted, and after some charging
// Recharged and Available.
func TestDepletion(t *testing.T) {
	var heard []string
	hear := func(what string) func(int) { return func(int) { heard = append(heard, what) } }
	c := start(t, setup(1, func(s *Setup) {
		s.Devices.BatteryWh, s.Devices.ChargeW, s.Devices.ReturnLevel = 2./3600, 1, 0.5
	}), Listener{
		Failed:    func(_ int, why Reason) { hear("failed: " + why.String())(0) },
		Depleted:  hear("depleted"),
		Recharged: hear("recharged"), Available: hear("available"), Responded: hear("responded"),
	})
	c.Start(0, Attempt{BytesDown: 1000, Work: devices.Work{FLOPs: 5000}, BytesUp: 1000})
	c.RunUntil(engine.FromSeconds(2.5))
	if want := []string{"failed: " + BatteryDepleted.String(), "depleted", "recharged",
		"available"}; !slices.Equal(heard, want) {
		t.Errorf("%q, want %q", heard, want)
	}
}

// A client whose battery is depleted in the tail of its radio is depleted when the last
// stage of its load has used up the charge.
func TestDepletedInATail(t *testing.T) {
	c := start(t, setup(1, func(s *Setup) {
		s.Devices.BatteryWh = 10. / 3600
		s.Network.Profile, s.Network.Radio = "3g", network.RadioStates
	}), Listener{})
	c.radios.active[0] = 0 // as if it had just been active
	c.draw(0, idleW)
	// 4 s at 0.5 + 0.8039 W are 5.2156 J, the rest lasts 4.7844 J / 1.1013 W.
	want := engine.CeilSeconds(4 + (10-4*(idleW+0.8039))/(idleW+0.6013))
	if at, ok := c.batteries.EmptyAt(0); !ok || at < want-1 || at > want+1 {
		t.Fatalf("empty at %v, want %v", at, want)
	}
	c.Run()
	if depleted, charged := c.Depleted(0); !depleted || charged {
		t.Errorf("depleted: %t, charged: %t", depleted, charged)
	}
	if now := c.Now(); now < want-1 || now > want+1 {
		t.Errorf("depleted at %v, want %v", now, want)
	}
}
