package clients

import (
	"testing"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
	"fedsim/network"
)

// channels are the round trip times and losses of uplinks over time.
type channels struct{ rtt, loss staircase }

func (c channels) Channel(_ int, d network.Direction, rttMs, loss float64, at engine.Time) (float64, float64) {
	if d == network.Down {
		return rttMs, loss
	}
	rtt, _ := c.rtt.of(at)
	lost, _ := c.loss.of(at)
	return rtt, lost
}

// S64: the values at the begin of a transfer hold. Uplinks of a second begin at 9.5 s and at 10 s, when losses
// rise, and latency or not.
func TestChannelAtTheBegin(t *testing.T) {
	for _, later := range []struct {
		rttMs float64
		ends  engine.Time
	}{{0, 11 * second}, {3000, 12_500_000_000}} {
		for _, shared := range []bool{false, true} {
			var ends [2]engine.Time
			var why [2]Reason
			var c *Clients
			s := setup(2, func(s *Setup) {
				s.Network.RTTms, s.Network.DownlinkMbps = 0, 1e9
				if shared {
					s.Network.ServerUpMbps = 100
				}
				change := []engine.Time{0, 10 * second}
				s.Channel = channels{staircase{change, []float64{0, later.rttMs}}, staircase{change, []float64{0, 1}}}
			})
			c = start(t, s, Listener{
				Responded: func(client int) { ends[client] = c.Now() },
				Failed:    func(client int, r Reason) { ends[client], why[client] = c.Now(), r },
			})
			for client, at := range []float64{9.5, 10} {
				c.RunUntil(engine.FromSeconds(at))
				c.Start(client, Attempt{BytesUp: 125_000})
			}
			c.Run()
			expect.That(t, ends == [2]engine.Time{10_500_000_000, later.ends} && why == [2]Reason{0, MessageLost},
				"shared %v: uplinks end at %v, for %v", shared, ends, why)
		}
	}
}

// constant is a channel that does not change.
type constant struct{ rtt, loss float64 }

func (c constant) Channel(int, network.Direction, float64, float64, engine.Time) (float64, float64) {
	return c.rtt, c.loss
}

// Constant values change nothing: not the instants of transfers under jitter, not which are lost.
func TestConstantChannel(t *testing.T) {
	play := func(of network.Channel, shared bool) (all []engine.Time) {
		s := setup(20, func(s *Setup) {
			s.Network.RTTms, s.Network.LossProbability, s.Network.Jitter, s.RoundTrips = 37, 0.3, 0.4, 1
			s.Channel = of
			if shared {
				s.Network.ServerUpMbps = 3
			}
		})
		var c *Clients
		note := func(client int) { all = append(all, c.Now(), engine.Time(client)) }
		c = start(t, s, Listener{Responded: note, Failed: func(client int, _ Reason) { note(-client) }})
		for client := range 20 {
			c.Start(client, Attempt{Number: client, BytesDown: 5000, BytesUp: 90_000})
		}
		c.Run()
		return all
	}
	for _, shared := range []bool{false, true} {
		want := play(nil, shared)
		got := play(constant{37, 0.3}, shared)
		expect.That(t, len(want) == 40 && equal(want, got), "shared %v: %v, without a model %v", shared, got, want)
		other := play(constant{74, 0.3}, shared)
		expect.That(t, !equal(want, other), "twice the round trip time changes nothing")
	}
}

func equal(a, b []engine.Time) bool {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}
