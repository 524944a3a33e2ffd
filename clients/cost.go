package clients

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// cost is a cost model: how bytes and FLOPs become time (paper, appendix,
// "Estimated Time": FLOPs / clock rate + communication).
type cost interface {
	// send draws the transfer of a message from or to a client.
	send(client int, p phase, number, try int, bytes float64) network.Transfer
	// expected returns how long a transfer takes without jitter.
	expected(client int, p phase, bytes float64) engine.Time
	// latency returns the share of a transfer that passes before its first byte moves.
	// Models that give transfers their lengths know no latency.
	latency(client int, p phase, bytes float64) float64
	// compute returns the time that a client's work takes at its fastest step.
	compute(client int, flops float64) engine.Time
}

func newCost(s *Setup, fleet *devices.Processors, of links) cost {
	p := physical{links: of, fleet: fleet}
	multiple := of.Profile(0).RelativeCost // that of all devices under any model but the physical one
	if s.NoMessages {
		multiple = 0
	}
	switch {
	case s.Cost == Relative:
		pass := s.PassFLOPs / fleet.Profile(0).Rate()
		return &scaled{physical: p, each: multiple * pass / 2}
	case s.Cost == Authors:
		return &authors{scaled: scaled{physical: p, each: multiple * authorUnit / 2}}
	case s.NoMessages:
		return &scaled{physical: p}
	default:
		return &p
	}
}

// physical takes rates from the profiles of devices and links.
type physical struct {
	links
	fleet *devices.Processors
}

func (c *physical) compute(t int, flops float64) engine.Time { return c.fleet.ComputeTime(t, flops) }

// scaled gives every transfer the same length, whatever its bytes: half of one
// round's communication, which is a multiple of a pass over the smallest task
// on a device of the fleet's profile (paper, section 5.3). Jitter scales it and
// losses occur as they do the transfer that it stands for.
type scaled struct {
	physical
	each float64 // seconds
}

// send draws the transfer of the bytes that the link carries in a second. Jitter does not
// depend on a message's size, and the real one may be over before the clock can measure
// how much it was stretched.
func (c *scaled) send(t int, p phase, number, try int, _ float64) network.Transfer {
	bytes := c.mbps(t, p) * 1e6 / 8
	actual, expected := c.links.send(t, p, number, try, bytes), c.links.expected(t, p, bytes)
	factor := float64(actual.Duration) / float64(expected)
	return network.Transfer{Duration: engine.FromSeconds(c.each * factor), Lost: actual.Lost}
}

func (c *scaled) expected(int, phase, float64) engine.Time { return engine.FromSeconds(c.each) }

func (c *scaled) latency(int, phase, float64) float64 { return 0 }

// authorUnit is one unit of the authors' drivers in seconds: the paper gives
// its estimated times in milliseconds.
const authorUnit = 1e-3

// authors gives every computation the same length.
type authors struct {
	scaled
	length engine.Time
}

func (c *authors) compute(int, float64) engine.Time { return c.length }
