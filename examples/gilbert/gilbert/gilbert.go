// Package gilbert is a link model: the channel of Gilbert and Elliott, whose losses come
// in bursts. Time has slots. Between two slots a good link becomes bad with probability p,
// and a bad link becomes good with probability r. In each state a share of the bytes is
// lost and sent again, so that the rate is the usual one times the remaining share. Each
// direction of a link is a separate channel.
//
// A link is good for the share r/(p+r) of time, and starts good with that probability.
//
// E. N. Gilbert: Capacity of a burst-noise channel, Bell System Technical Journal 39,
// 1960, with losses in the bad state alone, one half in his example; E. O. Elliott:
// Estimates of error rates for codes on burst-noise channels, ibid. 42, 1963, with losses
// in both. The lengths of slots and bursts are our choice.
package gilbert

import (
	"math"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/network"
)

// Options are decoded strictly from [network.model_options], over the factory's defaults.
type Options struct {
	SlotMs    float64 `toml:"slot_ms" doc:"length of a slot in milliseconds"`
	GoodToBad float64 `toml:"good_to_bad" doc:"probability p that a good link is bad in the next slot"`
	BadToGood float64 `toml:"bad_to_good" doc:"probability r that a bad link is good in the next slot"`
	GoodLoss  float64 `toml:"good_loss" doc:"share of the bytes lost while a link is good"`
	BadLoss   float64 `toml:"bad_loss" doc:"share of the bytes lost while a link is bad"`
}

// Validate reports everything wrong with the options.
func (o *Options) Validate(c *config.Checker) {
	c.Require(o.SlotMs >= 1e-3 && o.SlotMs <= 1e6, "slot_ms", o.SlotMs, "must be in [1e-3, 1e6]")
	c.Require(o.GoodToBad >= 1e-9 && o.GoodToBad <= 1, "good_to_bad", o.GoodToBad, "must be in [1e-9, 1]")
	c.Require(o.BadToGood >= 1e-9 && o.BadToGood <= 1, "bad_to_good", o.BadToGood, "must be in [1e-9, 1]")
	c.Require(o.GoodLoss >= 0 && o.GoodLoss < 1, "good_loss", o.GoodLoss, "must be in [0, 1)")
	c.Require(o.BadLoss >= 0 && o.BadLoss <= 1, "bad_loss", o.BadLoss, "must be in [0, 1]")
}

func init() {
	network.RegisterModel(network.ModelFactory{
		Name:    "gilbert",
		Summary: "links with bursts of losses, the channel of Gilbert and Elliott",
		Reference: "E. N. Gilbert: Capacity of a burst-noise channel, BSTJ 39, 1960; E. O. Elliott: " +
			"Estimates of error rates for codes on burst-noise channels, BSTJ 42, 1963",
		Options: func() config.Options {
			return &Options{SlotMs: 10, GoodToBad: 0.01, BadToGood: 0.05, BadLoss: 0.5}
		},
		New: func(s network.ModelSetup, o config.Options) (network.Bandwidth, error) {
			return newChannels(s, *o.(*Options)), nil
		},
	})
}

// channels are both directions of all links. The intervals of a channel alternate between
// good and bad. They are numbered from 0, and the length of each depends on the device,
// the direction and the number alone, whatever calls came before. at holds the interval
// of each channel's last call, so that a call walks through the intervals since then
// alone. A call for an earlier time starts again at time 0.
type channels struct {
	setup network.ModelSetup
	opts  Options
	slot  engine.Time
	at    [2][]interval // by direction and device
}

// The directions of a link.
const (
	down = iota
	up
)

type interval struct {
	from, until engine.Time // until = 0: none
	number      int
	bad         bool
}

func newChannels(s network.ModelSetup, o Options) *channels {
	return &channels{
		setup: s, opts: o, slot: engine.FromSeconds(o.SlotMs / 1e3),
		at: [2][]interval{make([]interval, s.Devices), make([]interval, s.Devices)},
	}
}

// Downlink returns the rate of a device's link from the server, and how long it holds.
// It allocates nothing.
func (c *channels) Downlink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	return c.rate(down, device, usual, at)
}

// Uplink is Downlink for the link to the server.
func (c *channels) Uplink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	return c.rate(up, device, usual, at)
}

func (c *channels) rate(way, device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	s := &c.at[way][device]
	if s.until == 0 || at < s.from {
		*s = c.first(way, device)
	}
	for at >= s.until {
		*s = c.interval(way, device, s.number+1, s.until, !s.bad)
	}
	if s.bad {
		return usual * (1 - c.opts.BadLoss), s.until
	}
	return usual * (1 - c.opts.GoodLoss), s.until
}

func (c *channels) first(way, device int) interval {
	draws := c.setup.Stream(device, way)
	p, r := c.opts.GoodToBad, c.opts.BadToGood
	return c.interval(way, device, 0, 0, draws.Float64() < p/(p+r))
}

// interval draws the number of slots that a channel stays in a state, which is geometric,
// by inversion.
func (c *channels) interval(way, device, number int, from engine.Time, bad bool) interval {
	leave := c.opts.GoodToBad
	if bad {
		leave = c.opts.BadToGood
	}
	draws := c.setup.Stream(device, 2+2*number+way)
	slots := 1 + math.Floor(math.Log1p(-draws.Float64())/math.Log1p(-leave))
	length := engine.Never
	if slots < float64(engine.Never/c.slot) {
		length = engine.Time(slots) * c.slot
	}
	return interval{from: from, until: from.Add(length), number: number, bad: bad}
}
