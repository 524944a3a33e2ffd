package clients

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/engine"
	"fedsim/network"
)

// shared is shared links alone: own rates of 10^6 bit/s, without latency.
type shared struct {
	*sharedLinks
	ended []string
}

func newShared(n int, change func(*Setup)) *shared {
	s := setup(n, func(s *Setup) {
		s.Network.RTTms, s.Network.ServerDownMbps, s.Network.ServerUpMbps = 0, 1, 1
		if change != nil {
			change(s)
		}
	})
	h, _ := newHardware(&s, nil)
	return &shared{sharedLinks: newSharedLinks(&s, h.links, engine.New(n, engine.Options{}))}
}

// begin begins the transfer of some seconds at the own rate of a client.
func (s *shared) begin(client int, way network.Direction, seconds float64) {
	m := message{client: client, way: way, bytes: 125_000 * seconds}
	m.length = s.links.Expected(way, client, m.bytes)
	s.sharedLinks.begin(m, 0, 1, 0, true)
	s.reschedule()
}

// run handles events up to an instant, and notes the transfers that end.
func (s *shared) run(seconds float64) {
	s.clock.RunUntil(engine.FromSeconds(seconds), func(e engine.Event) {
		switch e.Kind {
		case EventRateChange:
			s.updateRate(int(e.Device), network.Down)
		case EventCapacity:
			s.setCapacity()
		default:
			way := network.Down
			if e.Kind == EventUplinkFlow {
				way = network.Up
			}
			for w := s.fired(way); ; {
				client, ok := w.share.TakeEnded(e.At)
				if !ok {
					break
				}
				s.complete(client, way)
				s.ended = append(s.ended, fmt.Sprintf("%d at %.4f s", client, e.At.Seconds()))
			}
		}
		s.reschedule()
	})
}

func (s *shared) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.ended, want) {
		t.Errorf("ended %q, want %q", s.ended, want)
	}
}

// Two transfers of a second share a link, the second from 0.5 s on: the first has moved one
// half, moves the other in 1 s at half the rate, and the second then has a half left.
func TestTwoTransfersShareALink(t *testing.T) {
	s := newShared(2, nil)
	s.begin(0, network.Up, 1)
	s.run(0.5)
	s.begin(1, network.Up, 1)
	s.run(10)
	s.want(t, "0 at 1.5000 s", "1 at 2.0000 s")
}

// Directions do not share.
func TestDirectionsDoNotShare(t *testing.T) {
	s := newShared(2, nil)
	s.begin(0, network.Up, 1)
	s.begin(1, network.Down, 1)
	s.run(10)
	s.want(t, "1 at 1.0000 s", "0 at 1.0000 s")
}

// A transfer that is halted has moved what its share of the link has let through, and leaves
// the link to the other.
func TestHaltedTransfer(t *testing.T) {
	s := newShared(2, nil)
	s.begin(0, network.Up, 1)
	s.begin(1, network.Up, 1)
	s.run(0.5)
	if got := s.halt(0, network.Up, 1); math.Abs(got-0.25) > 1e-9 {
		t.Errorf("moved %g of the message, want a quarter", got)
	}
	s.reschedule()
	s.run(10)
	s.want(t, "1 at 1.2500 s")
	s.begin(0, network.Up, 1)
	if got := s.halt(0, network.Up, 0.2); got != 0 {
		t.Errorf("moved %g at once", got)
	}
	s.begin(0, network.Up, 1)
	s.run(10.9)
	if got := s.halt(0, network.Up, 0.2); got != 0.2 {
		t.Errorf("moved %g, want all that was left", got)
	}
}

// steps are rates of links that change after a second and stay.
type steps struct{ first, then float64 }

func (s steps) Downlink(_ int, _ float64, at engine.Time) (float64, engine.Time) {
	if at < second {
		return s.first, second
	}
	return s.then, engine.Never
}

func (s steps) Uplink(_ int, usual float64, _ engine.Time) (float64, engine.Time) {
	return usual, engine.Never
}

// A rate that changes in the middle of a transfer: 10^6 bit/s for a second, then an eighth.
func TestRateChangesDuringATransfer(t *testing.T) {
	s := newShared(1, func(s *Setup) { s.Bandwidth = steps{1, 0.125} })
	s.begin(0, network.Down, 1.25) // a quarter of a second is left, which takes eight times as long
	s.run(10)
	s.want(t, "0 at 3.0000 s")
}

// A transfer waits for its latency, of each of its messages; one that jitter stretches is
// slower, and one that continues has no latency.
func TestLatencyAndJitterOfAFlow(t *testing.T) {
	s := newShared(2, func(s *Setup) { s.Network.RTTms, s.RoundTrips = 200, 2 })
	m := message{way: network.Up, bytes: 125_000}
	m.length = 2 * s.links.Expected(network.Up, 0, m.bytes) // jitter of 2
	if got := s.sharedLinks.begin(m, 0, 1, 0, true); got != 600*second/1000 {
		t.Errorf("latency %v, want 0.6 s", got)
	}
	m.client = 1
	m.length /= 2
	if got := s.sharedLinks.begin(m, 0.5, 1, second, false); got != 0 {
		t.Errorf("a transfer that continues has a latency of %v", got)
	}
	s.reschedule()
	s.run(20)
	// From 0.6 s on 0 moves at 0.5 Mbps; from 1 s on 1 moves its half at 0.5 Mbps too.
	s.want(t, "1 at 2.0000 s", "0 at 2.6000 s")
}

// A rush hour halves the capacity of the shared links.
func TestRushHours(t *testing.T) {
	c := start(t, setup(1, func(s *Setup) {
		s.Network.ServerUpMbps = 0.5
		s.Network.RushShare, s.Network.RushFromH, s.Network.RushToH = 0.5, 12, 13
	}), Listener{})
	share := func(hour float64) float64 {
		c.RunUntil(engine.FromSeconds(hour * 3600))
		up := c.flows.ways[network.Up].share
		up.SetRate(c.Now(), 0, 1)
		up.Begin(c.Now(), 0, 1e9, 0)
		up.Next()
		rate := up.Rate(0)
		up.Remove(c.Now(), 0)
		return rate
	}
	for _, h := range []struct{ hour, want float64 }{
		{1, 0.5}, {11.99, 0.5}, {12, 0.25}, {12.5, 0.25}, {13, 0.5}, {35.5, 0.5}, {36.5, 0.25}, {37.5, 0.5},
	} {
		if got := share(h.hour); got != h.want {
			t.Errorf("at hour %g the link carries %g Mbps, want %g", h.hour, got, h.want)
		}
	}
}
