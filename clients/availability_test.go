package clients

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
)

// Attempts that are interrupted in the middle of a phase for 10 s go on where they were, and
// move and compute as much as without: they respond 10 s later, to the nanosecond of rounding.
func TestInterruptionInEachPhase(t *testing.T) {
	for _, e := range ended {
		from := engine.FromSeconds(e.at)
		responded := engine.Never
		var c *Clients
		c = start(t, setup(1, func(s *Setup) {
			s.Availability, s.Faults.OnReturn = onOff{from, from + 10*second}, devices.Resume
		}), Listener{Responded: func(int) { responded = c.Now() }})
		c.Start(0, whole)
		c.RunUntil(from + second)
		if state := c.State(0); !state.Paused || state.Available || !c.AtWork(0) {
			t.Errorf("%+v: %+v", e, state)
		}
		if c.NextChange(0) != from+10*second || c.NeverAvailable(0) {
			t.Errorf("%+v: available again at %v", e, c.NextChange(0))
		}
		if c.Unavailable() != 1 {
			t.Errorf("%d clients are unavailable", c.Unavailable())
		}
		c.Run()
		got := c.Take()
		if got.FLOPs = math.Round(got.FLOPs*1e6) / 1e6; got != (Traffic{1000, 1000, 1000}) {
			t.Errorf("%+v: counted %+v", e, got)
		}
		if !near(responded, 1_026_000_000+10*second, 4) {
			t.Errorf("%+v: responded at %v", e, responded)
		}
		if c.Unavailable() != 0 {
			t.Errorf("%d clients are unavailable", c.Unavailable())
		}
		// LTE: 1.28804 W beside idling, and per Mbps 0.05197 W down and 0.43839 W up.
		c.batteries.Account(0, c.Now())
		want := 0.026*(idleW+1.28804) + 0.008*(0.05197+0.43839) + 2 + 10*idleW
		if got := c.batteries.Spent(0); !near(got, want, 1e-7) {
			t.Errorf("%+v: %g J, want %g", e, got, want)
		}
	}
}

// A battery that is empty ends an attempt that is paused: 10 J last for 20 s of idling.
func TestDepletedWhilePaused(t *testing.T) {
	var heard []string
	c := start(t, setup(1, func(s *Setup) {
		s.Availability, s.Faults.OnReturn, s.Devices.BatteryWh = onOff{1, 60 * second}, devices.Resume, 10./3600
	}), Listener{
		Failed:    func(_ int, why Reason) { heard = append(heard, why.String()) },
		Responded: func(int) { heard = append(heard, "responded") },
	})
	c.Start(0, whole)
	c.Run()
	if want := []string{BatteryDepleted.String()}; !slices.Equal(heard, want) || c.AtWork(0) || c.Paused(0) {
		t.Errorf("%q, want %q; %+v", heard, want, c.State(0))
	}
}

// gone is available until an instant, with one more look at it later.
type gone struct{ from, look engine.Time }

func (g gone) Available(_ int, at engine.Time) (bool, engine.Time) {
	switch {
	case at < g.from:
		return true, g.from
	case at < g.look:
		return false, g.look
	default:
		return false, engine.Never
	}
}

// A client that never returns fails, at once or when that is known; one that is unavailable at
// the start is not available, and is canceled while it is paused.
func TestClientsThatDoNotReturn(t *testing.T) {
	for _, e := range []struct {
		trace gone
		want  []string
	}{
		{gone{second / 2, second / 2}, []string{"0.5 unavailable", "0.5 failed"}},
		{gone{second / 2, 3 * second}, []string{"0.5 unavailable", "3 failed"}},
	} {
		var heard []string
		var c *Clients
		hear := func(what string) { heard = append(heard, fmt.Sprint(c.Now().Seconds(), " ", what)) }
		c = start(t, setup(1, func(s *Setup) { s.Availability, s.Faults.OnReturn = e.trace, devices.Resume }), Listener{
			Unavailable: func(int) { hear("unavailable") },
			Failed:      func(int, Reason) { hear("failed") },
		})
		c.Start(0, whole)
		if c.Run(); !slices.Equal(heard, e.want) || !c.NeverAvailable(0) || !c.Failed(0) {
			t.Errorf("%q, want %q; %+v", heard, e.want, c.State(0))
		}
	}
	c := start(t, setup(2, func(s *Setup) { s.Availability = gone{} }), Listener{})
	if c.Available(0) || c.Unavailable() != 2 || c.WhyUnavailable(1) != BecameUnavailable {
		t.Errorf("%d of 2 clients are unavailable at the start", c.Unavailable())
	}
	c = start(t, setup(1, func(s *Setup) {
		s.Availability, s.Faults.OnReturn = gone{second / 2, 3 * second}, devices.Resume
	}), Listener{
		Failed: func(int, Reason) { t.Error("heard of a canceled attempt") },
	})
	c.Start(0, whole)
	c.RunUntil(second)
	c.Cancel(0)
	if c.Run(); c.AtWork(0) || c.Paused(0) {
		t.Errorf("%+v", c.State(0))
	}
}
