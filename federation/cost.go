package federation

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/mtl"
	"fedsim/network"
)

// cost is a cost model: how bytes and FLOPs become time (paper, appendix,
// "Estimated Time": FLOPs / clock rate + communication).
type cost interface {
	// down and up return the transfers of an attempt of a device in a round.
	down(device, round, attempt int, bytes float64) network.Transfer
	up(device, round, attempt int, bytes float64) network.Transfer
	// expectedDown returns how long a download takes without jitter.
	expectedDown(device int, bytes float64) engine.Time
	// expectedUp returns what a device can know of its upload before it happens.
	expectedUp(device int, bytes float64) engine.Time
	// compute returns the time that a device's work takes.
	compute(device int, flops float64) engine.Time
	// steps returns how many steps of the method a device can do in a time.
	steps(device int, seconds float64) int
	// worked tells the model of a round's work before any of it is timed.
	worked(*Federation)
}

func newCost(f *Federation) cost {
	p := physical{fleet: f.fleet, links: f.links, stepFLOPs: f.method.StepFLOPs()}
	link := f.links.Profile(0) // that of all devices under any model but the physical one
	switch f.setup.Config.Cost {
	case Relative:
		pass := float64(f.setup.Size.MinRows) * mtl.StepFLOPs(f.setup.Size.Features) / f.fleet.Profile(0).Rate()
		return &scaled{physical: p, each: link.RelativeCost * pass / 2}
	case Authors:
		return &authors{scaled: scaled{physical: p, each: link.RelativeCost * authorUnit / 2}}
	default:
		return &p
	}
}

// physical takes rates from the profiles of devices and links.
type physical struct {
	fleet     *devices.Processors
	links     *network.Links
	stepFLOPs float64
}

func (c *physical) down(t, round, attempt int, bytes float64) network.Transfer {
	return c.links.Downlink(t, round, attempt, bytes)
}

func (c *physical) up(t, round, attempt int, bytes float64) network.Transfer {
	return c.links.Uplink(t, round, attempt, bytes)
}

func (c *physical) expectedDown(t int, bytes float64) engine.Time {
	return c.links.ExpectedDownlink(t, bytes)
}

func (c *physical) expectedUp(t int, bytes float64) engine.Time {
	return c.links.ExpectedUplink(t, bytes)
}

func (c *physical) compute(t int, flops float64) engine.Time { return c.fleet.ComputeTime(t, flops) }

func (c *physical) steps(t int, seconds float64) int {
	return int(max(0, min(unlimited, seconds*c.fleet.Rate(t)/c.stepFLOPs)))
}

func (c *physical) worked(*Federation) {}

// scaled gives every transfer the same length, whatever its bytes: half of one
// round's communication, which is a multiple of a pass over the smallest task
// on a device of the fleet's profile (paper, section 5.3). Jitter scales it and
// losses strike as they do the transfer that it stands for.
type scaled struct {
	physical
	each float64 // seconds
}

func (c *scaled) down(t, round, attempt int, _ float64) network.Transfer {
	bytes := aSecond(c.links.DownlinkMbps(t))
	return c.like(c.links.Downlink(t, round, attempt, bytes), c.links.ExpectedDownlink(t, bytes))
}

func (c *scaled) up(t, round, attempt int, _ float64) network.Transfer {
	bytes := aSecond(c.links.UplinkMbps(t))
	return c.like(c.links.Uplink(t, round, attempt, bytes), c.links.ExpectedUplink(t, bytes))
}

// aSecond returns the bytes that a link carries in a second. Jitter does not
// depend on a message's size, and the real one may be over before the clock
// can measure how much it was stretched.
func aSecond(mbps float64) float64 { return mbps * 1e6 / 8 }

func (c *scaled) like(actual network.Transfer, expected engine.Time) network.Transfer {
	factor := float64(actual.Duration) / float64(expected)
	return network.Transfer{Duration: engine.FromSeconds(c.each * factor), Lost: actual.Lost}
}

func (c *scaled) expectedDown(int, float64) engine.Time { return engine.FromSeconds(c.each) }

func (c *scaled) expectedUp(int, float64) engine.Time { return engine.FromSeconds(c.each) }

// authorUnit is one unit of the authors' drivers in seconds: the paper gives
// its estimated times in milliseconds.
const authorUnit = 1e-3

// authors counts as the released drivers do: 8, 6 or 4 units a step, the work
// of all tasks added up, or for a method that waits for everyone (CoCoA) the
// most steps of any task times their number; communication is 10, 100 or 1000
// units a round. Every device is busy for as long as that sum.
type authors struct {
	scaled
	round engine.Time
}

func (c *authors) compute(int, float64) engine.Time { return c.round }

func (c *authors) worked(f *Federation) {
	units := f.setup.Factory.AuthorUnits
	total, most := 0.0, 0.0
	for _, t := range f.chosen {
		steps := 0.0
		if f.devices[t].solved {
			steps = float64(f.devices[t].steps)
		}
		if f.setup.Config.Protocol == Charged {
			steps = f.setup.Config.StepsHigh * float64(f.setup.Size.MinRows)
		}
		total += steps
		most = max(most, steps)
	}
	if f.setup.Factory.NeedsOf(f.setup.Options).AllClients {
		total = most * float64(len(f.chosen))
	}
	c.round = engine.FromSeconds(total * units * authorUnit)
}
