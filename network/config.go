package network

import (
	"fmt"

	"fedsim/config"
	"fedsim/network/flows"
)

// Unset, in the overrides of a Config, stands for the profile's figure. It is
// not 0, so that a link without bandwidth is an error and none without latency is.
const Unset = -1

// Config is the table [network] of a scenario.
type Config struct {
	Profile      string  `toml:"profile" doc:"what the links are: \"wifi\", \"wifi-2012\", \"lte\", \"3g\", \"ble\" (Bluetooth Low Energy) or \"ethernet\". A fleet overrides it, with a note"`
	DownlinkMbps float64 `toml:"downlink_mbps" doc:"rate from the server to a device, in 10^6 bit/s; -1: the profile's"`
	UplinkMbps   float64 `toml:"uplink_mbps" doc:"rate from a device to the server, in 10^6 bit/s; -1: the profile's"`
	RTTms        float64 `toml:"rtt_ms" doc:"round trip time in milliseconds, half of it each way; -1: the profile's"`

	RateSpread      float64 `toml:"rate_spread" doc:"how the devices' rates differ: sigma/mu of the log-normal number of mean 1 that both rates of a device are multiplied by"`
	Jitter          float64 `toml:"jitter" doc:"how transfers differ: sigma/mu of the log-normal number of mean 1 that the duration of each is multiplied by"`
	LossProbability float64 `toml:"loss_probability" doc:"probability that a transfer, whole, does not arrive"`

	Radio string `toml:"radio" doc:"what a device's radio draws power for: \"active\" (sending and receiving at the link's rate, and being connected during a transfer's latency) or \"states\" (at the rate at which the transfer really moves, and in promotion, which delays a transfer of a sleeping radio, and in the tail states behind a transfer, too)"`

	HubSize    int     `toml:"hub_size" doc:"devices, numbered one after the other, that share a hub, such as wearables a phone. The links above are the hubs' then: the server's message comes to a hub once for its devices that take part, each of them gets it over a short link of its own, and the hub adds up their answers and sends them together when none of them is missing that may still come. A message carries one model for each task of those devices, and what the results call bytes are the bytes between server and hubs. A device pays for its short link; a hub is on mains, its radio is nobody's; 0: no hubs"`
	HubProfile string  `toml:"hub_profile" doc:"what the short links between hubs and their devices are, one of the above, with neither jitter nor losses; with hub_size"`
	HubMbps    float64 `toml:"hub_mbps" doc:"rate of a short link each way, in 10^6 bit/s; -1: hub_profile's"`
	HubRTTms   float64 `toml:"hub_rtt_ms" doc:"round trip time of a short link in milliseconds; -1: hub_profile's"`

	flows.Config
	RushFromH float64 `toml:"rush_from_h" doc:"hour of each virtual day, from 0 on, at which the capacity of the shared links falls"`
	RushToH   float64 `toml:"rush_to_h" doc:"hour of the day at which it is back"`
	RushShare float64 `toml:"rush_share" doc:"share of their capacity that is left to the shared links in between: others use the rest; 1: all of it"`

	HeaderBytes          int `toml:"header_bytes" doc:"bytes of a message besides its values"`
	PayloadBytesPerValue int `toml:"payload_bytes_per_value" doc:"bytes of a value in a message: 4 or 8"`

	Model   string `toml:"model" doc:"what links carry as time passes, by a model of one's own (docs/plugins.md); empty: what the keys above and [traces] say"`
	Options any    `toml:"options" doc:"the model's own options"` // a pointer to the options struct of the model; nil without one
}

// Defaults returns the table's defaults.
func Defaults() Config {
	return Config{
		Profile: "lte", DownlinkMbps: Unset, UplinkMbps: Unset, RTTms: Unset,
		Radio:      RadioActive,
		HubProfile: "ble", HubMbps: Unset, HubRTTms: Unset,
		Config: flows.Defaults(), RushShare: 1, HeaderBytes: 64, PayloadBytesPerValue: 8,
	}
}

// Validate reports everything wrong with the table.
func (n *Config) Validate(c *config.Checker) {
	c.OneOf("profile", n.Profile, ProfileNames()...)
	models.Check(c, n.Model, n.Options)
	rate := func(key string, mbps float64) {
		c.Require(mbps > 0 && mbps <= 1e9 || mbps == Unset, key, mbps, "must be positive and at most 1e+09, or -1 for the profile's")
	}
	rate("downlink_mbps", n.DownlinkMbps)
	rate("uplink_mbps", n.UplinkMbps)
	roundTrip := func(key string, ms float64) {
		c.Require(ms >= 0 && ms <= 1e9 || ms == Unset, key, ms, "must be in [0, 1e+09], or -1 for the profile's")
	}
	roundTrip("rtt_ms", n.RTTms)
	variation := func(key string, cv float64) {
		c.Require(cv >= 0 && cv <= 100, key, cv, "must be in [0, 100]")
	}
	variation("rate_spread", n.RateSpread)
	variation("jitter", n.Jitter)
	c.Require(n.LossProbability >= 0 && n.LossProbability <= 1, "loss_probability", n.LossProbability, "must be in [0, 1]")
	c.OneOf("radio", n.Radio, RadioActive, RadioStates)
	c.Require(n.HubSize >= 0, "hub_size", n.HubSize, "must not be negative")
	c.OneOf("hub_profile", n.HubProfile, ProfileNames()...)
	rate("hub_mbps", n.HubMbps)
	roundTrip("hub_rtt_ms", n.HubRTTms)
	n.Config.Validate(c)
	c.Require(n.RushFromH >= 0 && n.RushFromH < 24, "rush_from_h", n.RushFromH, "must be in [0, 24)")
	c.Require(n.RushToH >= 0 && n.RushToH <= 24, "rush_to_h", n.RushToH, "must be in [0, 24]")
	c.Require(n.RushShare > 0 && n.RushShare <= 1, "rush_share", n.RushShare, "must be in (0, 1]")
	if n.RushShare < 1 {
		c.Require(n.RushFromH < n.RushToH, "rush_to_h", n.RushToH, "must be after rush_from_h")
		c.Require(n.SharesLinks(), "rush_share", n.RushShare, "must be 1 where no link is shared: it needs server_up_mbps, cells or the like")
	} else {
		c.Require(n.RushFromH == 0, "rush_from_h", n.RushFromH, "must be left out without rush_share")
		c.Require(n.RushToH == 0, "rush_to_h", n.RushToH, "must be left out without rush_share")
	}
	c.Require(n.HeaderBytes >= 0 && n.HeaderBytes <= 1<<30, "header_bytes", n.HeaderBytes, fmt.Sprintf("must be in [0, %d]", 1<<30))
	c.Require(n.PayloadBytesPerValue == 4 || n.PayloadBytesPerValue == 8, "payload_bytes_per_value", n.PayloadBytesPerValue, "must be 4 or 8")
}

// Link returns the profile with the table's overrides in its place. The table
// must be valid.
func (n *Config) Link() Profile {
	p, ok := Lookup(n.Profile)
	if !ok {
		panic(fmt.Sprintf("network: no profile is named %q", n.Profile))
	}
	override := func(of *float64, x float64) {
		if x != Unset {
			*of = x
		}
	}
	override(&p.DownlinkMbps, n.DownlinkMbps)
	override(&p.UplinkMbps, n.UplinkMbps)
	override(&p.RTTms, n.RTTms)
	return p
}

// Hubs returns how many hubs that many devices have: one for each HubSize of them,
// the last one's may be fewer. HubSize must be positive.
func (n *Config) Hubs(devices int) int { return (devices + n.HubSize - 1) / n.HubSize }

// DeviceLinks returns the links that devices have themselves: the table, or, with hubs, one
// of the short links, without hubs, jitter, losses, or anything that is shared.
func (n *Config) DeviceLinks() Config {
	if n.HubSize == 0 {
		return *n
	}
	short := Defaults()
	short.Profile, short.RTTms = n.HubProfile, n.HubRTTms
	short.DownlinkMbps, short.UplinkMbps = n.HubMbps, n.HubMbps
	short.Radio, short.HeaderBytes, short.PayloadBytesPerValue = n.Radio, n.HeaderBytes, n.PayloadBytesPerValue
	return short
}
