package clients

import (
	"math"
	"testing"

	"fedsim/engine"
)

const second = engine.Time(1e9)

// near reports whether two times, or two amounts, agree but for rounding.
func near[T ~int64 | ~float64](a, b, within T) bool { return a-b <= within && b-a <= within }

// A drop at a share of an attempt of 2 s, 3 s and 5 s lies in the phase that has the share.
func TestPlaceOfADrop(t *testing.T) {
	for _, c := range []struct {
		share                 float64
		down, compute, upload engine.Time
		phase                 phase
		cut                   float64
	}{
		{0, 2, 3, 5, downlink, 0}, {0.1, 2, 3, 5, downlink, 0.5}, {0.2, 2, 3, 5, compute, 0}, {0.35, 2, 3, 5, compute, 0.5},
		{0.5, 2, 3, 5, uplink, 0}, {0.75, 2, 3, 5, uplink, 0.5}, {1, 2, 3, 5, uplink, 1},
		{0.5, 0, 4, 0, compute, 0.5}, {0.5, 0, 0, 0, uplink, 0},
	} {
		d := client{down: c.down * second, compute: c.compute * second, up: c.upload * second, drops: anywhere, cut: c.share}
		if d.placeDrop(); d.drops != c.phase || math.Abs(d.cut-c.cut) > 1e-12 {
			t.Errorf("%+v: phase %d at %g", c, d.drops, d.cut)
		}
	}
}

// What a client can be asked for follows from its phase and its flags.
func TestConditionsOfAClient(t *testing.T) {
	for _, c := range []struct {
		client                   client
		available, idle, working bool
		activity                 Activity
		why                      Reason
	}{
		{client{}, true, true, false, Idle, 0},
		{client{phase: failed}, true, false, false, Idle, 0},
		{client{phase: compute}, true, false, true, Compute, 0},
		{client{phase: compute, flags: paused | unavailable}, false, false, false, Unavailable, BecameUnavailable},
		{client{phase: downlink, flags: onHold}, true, false, false, Downlink, 0},
		{client{phase: uplink, flags: refuses}, false, false, true, Uplink, BatteryLow},
		{client{phase: depleted, flags: unavailable}, false, false, false, Depleted, BatteryDepleted},
	} {
		p := population{each: []client{c.client}}
		if p.Available(0) != c.available || p.Idle(0) != c.idle || p.at(0).working() != c.working || p.State(0).Activity != c.activity {
			t.Errorf("%+v: %+v", c, p.State(0))
		}
		if !c.available && p.WhyUnavailable(0) != c.why {
			t.Errorf("%+v: %v", c, p.WhyUnavailable(0))
		}
	}
}

// Messages that are under way keep their sizes when another size is set, for all or for one.
func TestMessageSizes(t *testing.T) {
	s := messageSizes{same: -1, clients: 3}
	send := func(t int) { s.prepare(t) }
	sizes := func() [3]float64 { return [3]float64{s.of(0), s.of(1), s.of(2)} }
	s.setAll(10)
	send(0)
	if s.setAll(10); s.each != nil {
		t.Error("equal sizes are stored by client")
	}
	s.setAll(20)
	send(1)
	if got, want := sizes(), [3]float64{10, 20, 10}; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	s.set(2, 30)
	send(2)
	send(0) // sizes are those of the clients now
	if got, want := sizes(), [3]float64{10, 20, 30}; got != want || !s.addressed {
		t.Errorf("%v, want %v", got, want)
	}
	s.setAll(20)
	send(2)
	if got, want := sizes(), [3]float64{10, 20, 20}; got != want || s.addressed {
		t.Errorf("%v, want %v", got, want)
	}
}
