package federation

import (
	"fmt"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/network"
	"fedsim/results"
)

// CheckTimeouts reports a timeout that ends every transfer of every device, so that no response would ever arrive. It
// uses lower bounds, as CheckDeadline does.
func (s *Server) CheckTimeouts(leastBytes float64) error {
	wire := &s.setup.Network.WireConfig
	if !wire.TimesOut() || s.setup.Network.Jitter > 0 || s.setup.Bandwidth != nil || s.setup.Clients > mostChecked {
		return nil
	}
	for way, name := range [...]string{network.Down: "downlink", network.Up: "uplink"} {
		shortest := engine.Never
		for client := range s.setup.Clients {
			if s.clients.CanSend(network.Direction(way), client, leastBytes) {
				shortest = 0
				break
			}
			shortest = min(shortest, s.clients.Links().Expected(network.Direction(way), client, leastBytes))
		}
		if shortest == 0 || shortest == engine.Never {
			continue
		}
		took := results.HumanTime(shortest.Seconds())
		switch {
		case wire.TimeoutS == 0 || shortest.Seconds() <= wire.TimeoutS:
			return config.Problem{Key: "network.wire.idle_timeout_s", Value: wire.IdleTimeoutS, Want: fmt.Sprintf(
				"must be above the latency of a %s: no response would ever arrive", name)}
		case wire.Retransmit == network.Proceed:
			return config.Problem{Key: "network.wire.timeout_s", Value: wire.TimeoutS, Want: fmt.Sprintf(
				"the shortest %s takes %s, more than %d connections of it that resume: no response would ever arrive",
				name, took, wire.Resends+1)}
		default:
			return config.Problem{Key: "network.wire.timeout_s", Value: wire.TimeoutS, Want: fmt.Sprintf(
				"the shortest %s takes %s, and nothing is resumed: no response would ever arrive", name, took)}
		}
	}
	return nil
}
