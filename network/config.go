package network

import (
	"fmt"

	"fedsim/config"
	"fedsim/internal/tools/flows"
)

// Unset marks an override of a Config that is not set, so the profile's value holds. It
// is not 0: a bandwidth of 0 is an error, and a latency of 0 is valid.
const Unset = -1

// SharedLinks are the capacities that transfers share.
type SharedLinks = flows.Config

// Config is the table [network] of a scenario.
type Config struct {
	Profile      string  `toml:"profile" doc:"kind of link: \"wifi\", \"wifi-2012\", \"lte\", \"3g\", \"ble\" (Bluetooth Low Energy) or \"ethernet\". A fleet overrides it, with a note"`
	DownlinkMbps float64 `toml:"downlink_mbps" doc:"rate from the server to a device, in 10^6 bit/s; -1: the profile's"`
	UplinkMbps   float64 `toml:"uplink_mbps" doc:"rate from a device to the server, in 10^6 bit/s; -1: the profile's"`
	RTTms        float64 `toml:"rtt_ms" doc:"round trip time in milliseconds, half of it each way; -1: the profile's"`

	RateSpread      float64 `toml:"rate_spread" doc:"spread of rates between devices: sigma/mu of a log-normal factor of mean 1 on both rates of a device"`
	Jitter          float64 `toml:"jitter" doc:"spread between transfers: sigma/mu of a log-normal factor of mean 1 on the duration of each transfer"`
	LossProbability float64 `toml:"loss_probability" doc:"probability that a transfer does not arrive"`

	WireFactor float64 `toml:"wire_factor" doc:"bytes on the wire for each byte of a message, with the headers of packets: at least 1. Results count the bytes of messages. A class of a fleet may have its own. Needs federation.cost = \"physical\""`
	BurstBytes float64 `toml:"burst_bytes" doc:"bytes on the wire of each transfer that pass at once, as a shaper lets them after idling. A class of a fleet may have its own. Needs federation.cost = \"physical\""`

	RuntimeConfig

	Radio string `toml:"radio" doc:"when a device's radio draws power: \"active\" (while it sends or receives, at the link's rate, and during latency) or \"states\" (at the actual rate of the transfer, and also during promotion, which delays a transfer of a sleeping radio, and during the tail states after a transfer)"`

	HubSize    int     `toml:"hub_size" doc:"number of consecutive devices that share a hub, as wearables share a phone; 0: no hubs. The links above then belong to the hubs. A hub receives one message for all its participating devices, forwards it over a short link to each, and sends their responses together once no further one can arrive. Results count the bytes between server and hubs. A device pays the energy of its short link; hubs run on mains"`
	HubProfile string  `toml:"hub_profile" doc:"kind of the short links between hubs and devices, as for profile, without jitter and losses; requires hub_size"`
	HubMbps    float64 `toml:"hub_mbps" doc:"rate of a short link each way, in 10^6 bit/s; -1: hub_profile's"`
	HubRTTms   float64 `toml:"hub_rtt_ms" doc:"round trip time of a short link in milliseconds; -1: hub_profile's"`

	SharedLinks
	RushFromH float64 `toml:"rush_from_h" doc:"hour of each virtual day at which the capacity of the shared links falls; time 0 is midnight"`
	RushToH   float64 `toml:"rush_to_h" doc:"hour of the day at which the capacity is restored"`
	RushShare float64 `toml:"rush_share" doc:"share of their capacity that the shared links have between these hours; 1: all of it"`

	BytesScale           float64 `toml:"bytes_scale" doc:"how many bytes each byte of a message, header included, stands for in times and energy, as of a larger model; results count those of the model that runs. Needs federation.cost = \"physical\""`
	HeaderBytes          int     `toml:"header_bytes" doc:"bytes of a message in addition to its values"`
	PayloadBytesPerValue int     `toml:"payload_bytes_per_value" doc:"bytes per value in a message: 4 or 8"`

	Model   string `toml:"model" doc:"link model: the rates of links over time, by a plugin (docs/plugins.md); empty: the keys above and [traces]"`
	Options any    `toml:"options" doc:"options of the model"` // pointer to the options struct of the model; nil if there is no model
}

// Defaults returns the table's defaults.
func Defaults() Config {
	return Config{
		Profile: "lte", DownlinkMbps: Unset, UplinkMbps: Unset, RTTms: Unset,
		WireFactor: 1, RuntimeConfig: runtimeDefaults(),
		Radio:      RadioActive,
		HubProfile: "ble", HubMbps: Unset, HubRTTms: Unset,
		RushShare: 1, BytesScale: 1, HeaderBytes: 64, PayloadBytesPerValue: 8,
	}
}

// Validate reports all errors in the table.
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
	c.Require(n.BytesScale > 0 && n.BytesScale <= 1e15, "bytes_scale", n.BytesScale, "must be positive and at most 1e+15")
	c.Require(n.LossProbability >= 0 && n.LossProbability <= 1, "loss_probability", n.LossProbability, "must be in [0, 1]")
	c.Require(n.WireFactor >= 1 && n.WireFactor <= 1e6, "wire_factor", n.WireFactor, "must be in [1, 1e+06]")
	c.Require(n.BurstBytes >= 0 && n.BurstBytes <= 1e15, "burst_bytes", n.BurstBytes, "must be in [0, 1e+15]")
	n.RuntimeConfig.validate(c)
	c.OneOf("radio", n.Radio, RadioActive, RadioStates)
	c.Require(n.HubSize >= 0, "hub_size", n.HubSize, "must not be negative")
	c.OneOf("hub_profile", n.HubProfile, ProfileNames()...)
	rate("hub_mbps", n.HubMbps)
	roundTrip("hub_rtt_ms", n.HubRTTms)
	n.SharedLinks.Validate(c)
	c.Require(n.RushFromH >= 0 && n.RushFromH < 24, "rush_from_h", n.RushFromH, "must be in [0, 24)")
	c.Require(n.RushToH >= 0 && n.RushToH <= 24, "rush_to_h", n.RushToH, "must be in [0, 24]")
	c.Require(n.RushShare > 0 && n.RushShare <= 1, "rush_share", n.RushShare, "must be in (0, 1]")
	if n.RushShare < 1 {
		c.Require(n.RushFromH < n.RushToH, "rush_to_h", n.RushToH, "must be after rush_from_h")
		c.Require(n.SharesLinks(), "rush_share", n.RushShare, "requires a shared link: set server_up_mbps, server_down_mbps or cells")
	} else {
		c.Require(n.RushFromH == 0, "rush_from_h", n.RushFromH, "requires rush_share")
		c.Require(n.RushToH == 0, "rush_to_h", n.RushToH, "requires rush_share")
	}
	c.Require(n.HeaderBytes >= 0 && n.HeaderBytes <= 1<<30, "header_bytes", n.HeaderBytes, fmt.Sprintf("must be in [0, %d]", 1<<30))
	c.Require(n.PayloadBytesPerValue == 4 || n.PayloadBytesPerValue == 8, "payload_bytes_per_value", n.PayloadBytesPerValue, "must be 4 or 8")
}

// Link returns the profile with the overrides of the table. The table must be valid.
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

// Hubs returns the number of hubs for a number of devices: one per HubSize devices. The
// last hub may have fewer. It is 0 without hubs.
func (n *Config) Hubs(devices int) int {
	if n.HubSize == 0 {
		return 0
	}
	return (devices + n.HubSize - 1) / n.HubSize
}

// DeviceLinks returns the configuration of the links of devices. With hubs that is the
// short link between a device and its hub, without jitter, losses or sharing. Without
// hubs it is the table itself.
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
