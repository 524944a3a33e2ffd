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

// SharedConfig is the table [network.shared]: the capacities that transfers share, and their rush hour.
type SharedConfig struct {
	SharedLinks
	// trace file with the share of its capacity, both ways, that other traffic leaves each shared link:
	// traces of kind share, by the names server, cell-0, cell-1 and so on. A link without one has all of
	// it
	Capacity string `toml:"capacity" absent:"\"\": none"`
	// hour of each virtual day at which the capacity of the shared links falls; time 0 is midnight
	RushFromH float64 `toml:"rush_from_h"`
	// hour of the day at which the capacity is restored
	RushToH float64 `toml:"rush_to_h"`
	// share of their capacity that the shared links have between these hours; 1: all of it
	RushShare float64 `toml:"rush_share"`
}

// WireConfig is the table [network.wire]: what messages are on the wire.
type WireConfig struct {
	// bytes on the wire for each byte of a message, with the headers of packets: at least 1.
	// Results count the bytes of messages. A class of a fleet may have its own. Needs
	// federation.cost = "physical"
	WireFactor float64 `toml:"factor"`
	// bytes on the wire of each transfer that pass at once, as a shaper lets them after idling. A
	// class of a fleet may have its own. Needs federation.cost = "physical"
	BurstBytes float64 `toml:"burst_bytes"`
	// whether a transfer waits for acknowledgements while the window of a new TCP connection grows
	// (RFC 6928, RFC 5681)
	TCPSlowStart bool `toml:"slow_start"`
	// bytes of a message in addition to its values
	HeaderBytes int `toml:"header_bytes"`
	// bytes per value in a message: 4 or 8
	PayloadBytesPerValue int `toml:"bytes_per_value"`

	TimeoutConfig
}

// HubConfig is the table [network.hubs]: hubs between the server and devices.
type HubConfig struct {
	// number of consecutive devices that share a hub, as wearables share a phone. The links of
	// [network] then belong to the hubs. A hub receives one message for all its participating
	// devices, forwards it over a short link to each, and sends their responses together once no
	// further one can arrive. Results count the bytes between server and hubs. A device pays the
	// energy of its short link; hubs run on mains
	HubSize int `toml:"size" absent:"0: none"`
	// kind of the short links between hubs and devices, as for profile, without jitter and losses;
	// requires size
	HubProfile string `toml:"profile"`

	// HubMbps and HubRTTms are the rate each way, in 10^6 bit/s, and the round trip time, in
	// milliseconds, of a short link; Unset: the profile's. No scenario sets them, Go programs do.
	HubMbps  float64 `toml:"-"`
	HubRTTms float64 `toml:"-"`
}

// Config is the table [network] of a scenario.
type Config struct {
	// kind of link: "wifi", "wifi-2012", "lte", "3g", "ble" (Bluetooth Low Energy) or "ethernet". A
	// fleet overrides it, with a note
	Profile string `toml:"profile"`
	// rate from the server to a device, in 10^6 bit/s
	DownlinkMbps float64 `toml:"downlink_mbps" absent:"-1: the profile's"`
	// rate from a device to the server, in 10^6 bit/s
	UplinkMbps float64 `toml:"uplink_mbps" absent:"-1: the profile's"`
	// round trip time in milliseconds, half of it each way
	RTTms float64 `toml:"rtt_ms" absent:"-1: the profile's"`

	// spread of rates between devices: sigma/mu of a log-normal factor of mean 1 on both rates of a
	// device
	RateSpread float64 `toml:"rate_spread"`
	// spread between transfers: sigma/mu of a log-normal factor of mean 1 on the duration of each
	// transfer
	Jitter float64 `toml:"jitter"`
	// probability that a transfer does not arrive
	LossProbability float64 `toml:"loss_probability"`

	// when a device's radio draws power: "active" (while it sends or receives, at the link's rate,
	// and during latency) or "states" (at the actual rate of the transfer, and also during
	// promotion, which delays a transfer of a sleeping radio, and during the tail states after a
	// transfer)
	Radio string `toml:"radio"`
	// how many bytes each byte of a message, header included, stands for in times and energy, as of
	// a larger model; results count those of the model that runs. Needs federation.cost =
	// "physical"
	BytesScale float64 `toml:"bytes_scale"`

	// links that transfers share, max-min fairly
	SharedConfig `toml:"shared"`
	// what a message is on the wire
	WireConfig `toml:"wire"`
	// hubs between the server and devices
	HubConfig `toml:"hubs"`

	// link model: the rates of links over time, by a plugin (docs/extend.md); "none": the keys above and
	// [traces]
	Model string `toml:"model" word:"\"\": none"`
	// options of the model
	Options any `toml:"model_options"` // pointer to the options struct of the model; nil if there is no model

	// RuntimeConfig is what the software that carries messages adds. Scenarios have it in [overhead].
	RuntimeConfig `toml:"-"`
}

// Defaults returns the table's defaults.
func Defaults() Config {
	return Config{
		Profile: "lte", DownlinkMbps: Unset, UplinkMbps: Unset, RTTms: Unset,
		RuntimeConfig: runtimeDefaults(), Radio: RadioActive, BytesScale: 1,
		SharedConfig: SharedConfig{SharedLinks: SharedLinks{CellShare: flows.Bits}, RushShare: 1},
		WireConfig: WireConfig{WireFactor: 1, HeaderBytes: 64, PayloadBytesPerValue: 8,
			TimeoutConfig: TimeoutConfig{Retransmit: Restart}},
		HubConfig: HubConfig{HubProfile: "ble", HubMbps: Unset, HubRTTms: Unset},
	}
}

// Validate reports all errors in the table.
func (cfg *Config) Validate(c *config.Checker) {
	c.OneOf("profile", cfg.Profile, ProfileNames()...)
	models.Check(c, cfg.Model, cfg.Options)
	rate := func(key string, mbps float64) {
		c.Require(mbps > 0 && mbps <= 1e9 || mbps == Unset, key, mbps, "must be positive and at most 1e+09")
	}
	rate("downlink_mbps", cfg.DownlinkMbps)
	rate("uplink_mbps", cfg.UplinkMbps)
	c.Require(cfg.RTTms >= 0 && cfg.RTTms <= 1e9 || cfg.RTTms == Unset, "rtt_ms", cfg.RTTms, "must be in [0, 1e+09]")
	variation := func(key string, cv float64) {
		c.Require(cv >= 0 && cv <= 100, key, cv, "must be in [0, 100]")
	}
	variation("rate_spread", cfg.RateSpread)
	variation("jitter", cfg.Jitter)
	c.Require(cfg.BytesScale > 0 && cfg.BytesScale <= 1e15, "bytes_scale", cfg.BytesScale,
		"must be positive and at most 1e+15")
	c.Require(cfg.LossProbability >= 0 && cfg.LossProbability <= 1, "loss_probability", cfg.LossProbability,
		"must be in [0, 1]")
	c.OneOf("radio", cfg.Radio, RadioActive, RadioStates)
	cfg.SharedConfig.Validate(c.In("shared"))
	cfg.WireConfig.Validate(c.In("wire"))
	cfg.HubConfig.Validate(c.In("hubs"))
}

// Validate reports all errors in the table.
func (s *SharedConfig) Validate(c *config.Checker) {
	s.SharedLinks.Validate(c)
	if s.Capacity != "" {
		c.Require(s.RushShare == 1, "capacity", s.Capacity, "cannot be combined with rush_share, which sets it")
		c.Require(s.SharesLinks(), "capacity", s.Capacity,
			"requires a shared link: set server_up_mbps, server_down_mbps or cells")
	}
	c.Require(s.RushFromH >= 0 && s.RushFromH < 24, "rush_from_h", s.RushFromH, "must be in [0, 24)")
	c.Require(s.RushToH >= 0 && s.RushToH <= 24, "rush_to_h", s.RushToH, "must be in [0, 24]")
	c.Require(s.RushShare > 0 && s.RushShare <= 1, "rush_share", s.RushShare, "must be in (0, 1]")
	if s.RushShare < 1 {
		c.Require(s.RushFromH < s.RushToH, "rush_to_h", s.RushToH, "must be after rush_from_h")
		c.Require(s.SharesLinks(), "rush_share", s.RushShare,
			"requires a shared link: set server_up_mbps, server_down_mbps or cells")
	} else {
		c.Require(s.RushFromH == 0, "rush_from_h", s.RushFromH, "requires rush_share")
		c.Require(s.RushToH == 0, "rush_to_h", s.RushToH, "requires rush_share")
	}
}

// Validate reports all errors in the table.
func (w *WireConfig) Validate(c *config.Checker) {
	c.Require(w.WireFactor >= 1 && w.WireFactor <= 1e6, "factor", w.WireFactor, "must be in [1, 1e+06]")
	c.Require(w.BurstBytes >= 0 && w.BurstBytes <= 1e15, "burst_bytes", w.BurstBytes, "must be in [0, 1e+15]")
	c.Require(w.HeaderBytes >= 0 && w.HeaderBytes <= 1<<30, "header_bytes", w.HeaderBytes,
		fmt.Sprintf("must be in [0, %d]", 1<<30))
	c.Require(w.PayloadBytesPerValue == 4 || w.PayloadBytesPerValue == 8, "bytes_per_value", w.PayloadBytesPerValue,
		"must be 4 or 8")
	w.TimeoutConfig.Validate(c)
}

// Validate reports all errors in the table.
func (h *HubConfig) Validate(c *config.Checker) {
	c.Require(h.HubSize >= 0, "size", h.HubSize, "must not be negative")
	c.OneOf("profile", h.HubProfile, ProfileNames()...)
}

// Link returns the profile with the overrides of the table. The table must be valid.
func (cfg *Config) Link() Profile {
	p, ok := Lookup(cfg.Profile)
	if !ok {
		panic(fmt.Sprintf("network: no profile is named %q", cfg.Profile))
	}
	override := func(of *float64, x float64) {
		if x != Unset {
			*of = x
		}
	}
	override(&p.DownlinkMbps, cfg.DownlinkMbps)
	override(&p.UplinkMbps, cfg.UplinkMbps)
	override(&p.RTTms, cfg.RTTms)
	return p
}

// Hubs returns the number of hubs for a number of devices: one per HubSize devices. The
// last hub may have fewer. It is 0 without hubs.
func (cfg *Config) Hubs(devices int) int {
	if cfg.HubSize == 0 {
		return 0
	}
	return (devices + cfg.HubSize - 1) / cfg.HubSize
}

// DeviceLinks returns the configuration of the links of devices. With hubs that is the
// short link between a device and its hub, without jitter, losses or sharing. Without
// hubs it is the table itself.
func (cfg *Config) DeviceLinks() Config {
	if cfg.HubSize == 0 {
		return *cfg
	}
	short := Defaults()
	short.Profile, short.RTTms = cfg.HubProfile, cfg.HubRTTms
	short.DownlinkMbps, short.UplinkMbps = cfg.HubMbps, cfg.HubMbps
	short.Radio, short.HeaderBytes, short.PayloadBytesPerValue = cfg.Radio, cfg.HeaderBytes, cfg.PayloadBytesPerValue
	return short
}
