package clients

import (
	"testing"

	"fedsim/engine"
	"fedsim/network"
)

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

// Latency comes before the bytes, and bytes are whole.
func TestMovedBytesAreWhole(t *testing.T) {
	for _, c := range []struct{ share, latency, want float64 }{
		{0, 0, 0}, {0.5, 0, 48}, {0.999, 0, 95}, {1, 0, 96}, {0.2, 0.2, 0}, {0.1, 0.9, 0}, {0.61, 0.2, 49}, {1, 0.9, 96}, {1, 1, 96}, {0.5, 1, 0},
		// 96 bytes on LTE take 35 ms of latency and 0.137 ms, of which 0.017 ms are left.
		{1 - 0.017/35.137142857, 35 / 35.137142857, 84},
	} {
		if got := moved(96, c.share, c.latency); got != c.want {
			t.Errorf("%g of a transfer with %g of latency: %g bytes, want %g", c.share, c.latency, got, c.want)
		}
	}
}
