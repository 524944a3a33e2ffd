package clients

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// cost is a cost model: how bytes and FLOPs become time (paper, appendix,
// "Estimated Time": FLOPs / clock rate + communication).
type cost interface {
	// Send draws the transfer of a message from or to a client.
	Send(way network.Direction, client, number, try int, bytes float64) network.Transfer
	// Expected returns how long a transfer takes without jitter.
	Expected(way network.Direction, client int, bytes float64) engine.Time
	// LatencyShare returns the share of a transfer that passes before its first byte moves.
	// Models that give transfers their lengths know no latency.
	LatencyShare(way network.Direction, client int, bytes float64) float64
	// compute returns the time that a client's work takes at its full clock, with a factor.
	compute(client int, w devices.Work, factor float64) engine.Time
}

func newCost(s *Setup, fleet *devices.Processors, links *network.Links) cost {
	p := physical{Links: links, fleet: fleet}
	multiple := links.Profile(0).RelativeCost // that of all devices under any model but the physical one
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
	*network.Links
	fleet *devices.Processors
}

func (p *physical) compute(client int, w devices.Work, factor float64) engine.Time {
	return engine.FromSeconds(p.fleet.Seconds(client, w) * factor)
}

// scaled gives every transfer the same length, whatever its bytes: half of one
// round's communication, which is a multiple of a pass over the smallest task
// on a device of the fleet's profile (paper, section 5.3). Jitter scales it and
// losses occur as they do the transfer that it stands for.
type scaled struct {
	physical
	each float64 // seconds
}

// Send draws the transfer of the bytes that the link carries in a second. Jitter does not
// depend on a message's size, and the real one may be over before the clock can measure
// how much it was stretched.
func (s *scaled) Send(way network.Direction, client, number, try int, _ float64) network.Transfer {
	bytes := s.Mbps(way, client) * 1e6 / 8
	actual, expected := s.Links.Send(way, client, number, try, bytes), s.Links.Expected(way, client, bytes)
	factor := float64(actual.Duration) / float64(expected)
	return network.Transfer{Duration: engine.FromSeconds(s.each * factor), Lost: actual.Lost}
}

func (s *scaled) Expected(network.Direction, int, float64) engine.Time {
	return engine.FromSeconds(s.each)
}

func (s *scaled) LatencyShare(network.Direction, int, float64) float64 { return 0 }

// authorUnit is one unit of the authors' drivers in seconds: the paper gives
// its estimated times in milliseconds.
const authorUnit = 1e-3

// authors gives every computation the same length.
type authors struct {
	scaled
	length engine.Time
}

func (a *authors) compute(int, devices.Work, float64) engine.Time { return a.length }
