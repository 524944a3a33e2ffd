package clients

import (
	"testing"

	"fedsim/engine"
)

// A rush hour halves the capacity of the shared links.
func TestRushHours(t *testing.T) {
	c := start(t, setup(1, func(s *Setup) {
		s.Network.ServerUpMbps = 0.5
		s.Network.RushShare, s.Network.RushFromH, s.Network.RushToH = 0.5, 12, 13
	}), Listener{})
	share := func(hour float64) float64 {
		c.RunUntil(engine.FromSeconds(hour * 3600))
		up := c.flows.up.share
		up.SetRate(c.Now(), 0, 1)
		up.Begin(c.Now(), 0, 1e9, 0)
		up.Next()
		rate := up.Rate(0)
		up.Remove(c.Now(), 0)
		return rate
	}
	for _, h := range []struct{ hour, want float64 }{{1, 0.5}, {11.99, 0.5}, {12, 0.25}, {12.5, 0.25}, {13, 0.5}, {35.5, 0.5}, {36.5, 0.25}, {37.5, 0.5}} {
		if got := share(h.hour); got != h.want {
			t.Errorf("at hour %g the link carries %g Mbps, want %g", h.hour, got, h.want)
		}
	}
}
