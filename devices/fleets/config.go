package fleets

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/network"
)

// Inherit, as a correlation of a Config, selects that of the fleet.
const Inherit = -2

// Config is the table [fleet] of a scenario.
type Config struct {
	// a built-in fleet (docs/time.md#fleets): "phones-2010", "phones-2017", "phones-2020", "sensors" or
	// "mixed"; or a fleet file, whose name ends in .toml or .csv, searched beside the scenario (not for a
	// path from --set), then in the working directory; or "none"
	Name string `toml:"name" word:"\"\": none"`
	// level of heterogeneity of the devices, instead of name: "none", "mild", "middle" or "severe"
	// (docs/time.md#fleets)
	Devices string `toml:"devices" absent:"\"\": no level, or \"none\" where links has one"`
	// likewise of the links
	Links string `toml:"links" absent:"\"\": no level, or \"none\" where devices has one"`
	// rank correlation of rate and speed among the devices of a class, in [-1, 1]
	LinkSpeed float64 `toml:"link_speed_correlation" absent:"-2: the fleet's own"`
	// rank correlation of training rows and speed among the devices of a class, in [-1, 1]
	DataSpeed float64 `toml:"data_speed_correlation" absent:"-2: the fleet's own"`
	// names of classes that the devices take in turn: device t has class t mod the length of the list
	// (docs/time.md#fleets)
	Assignment []string `toml:"assignment" absent:"[]: by their shares, in random order"`

	Loaded *Fleet `toml:"-"` // the fleet of Name, read by Validate
}

// Defaults returns the table's defaults: no fleet.
func Defaults() Config { return Config{LinkSpeed: Inherit, DataSpeed: Inherit} }

// IsFile reports whether Name is the path of a fleet file.
func (cfg *Config) IsFile() bool {
	return slices.Contains([]string{".toml", ".csv"}, filepath.Ext(cfg.Name))
}

// Validate reports all errors in the table and reads the fleet.
func (cfg *Config) Validate(c *config.Checker) {
	cfg.Loaded = nil
	level := cfg.Devices != "" || cfg.Links != ""
	c.OneOfOrEmpty("devices", cfg.Devices, Levels...)
	c.OneOfOrEmpty("links", cfg.Links, Levels...)
	switch {
	case level && cfg.Name != "":
		c.Require(cfg.Devices == "", "devices", cfg.Devices, "cannot be combined with name")
		c.Require(cfg.Links == "", "links", cfg.Links, "cannot be combined with name")
	case level:
		cfg.Loaded = Level(cmp.Or(cfg.Devices, Levels[0]), cmp.Or(cfg.Links, Levels[0]))
	case cfg.IsFile():
		fleet, err := Read(cfg.Name)
		if err != nil {
			c.Require(false, "name", cfg.Name, "cannot be read: "+strings.ReplaceAll(err.Error(), "\n", "; "))
			break
		}
		cfg.Loaded = fleet
	default:
		c.OneOfOrEmpty("name", cfg.Name, Names()...)
		cfg.Loaded, _ = BuiltIn(cfg.Name)
	}
	none := cfg.Name == "" && !level
	c.Require(!none || len(cfg.Assignment) == 0, "assignment", cfg.Assignment,
		"requires a fleet (fleet.name or a level)")
	for i, name := range cfg.Assignment {
		if cfg.Loaded != nil {
			c.OneOf(fmt.Sprintf("assignment[%d]", i), name, cfg.Loaded.names()...)
		}
	}
	for _, rho := range []struct {
		key string
		is  float64
	}{{"link_speed_correlation", cfg.LinkSpeed}, {"data_speed_correlation", cfg.DataSpeed}} {
		c.Require(rho.is >= -1 && rho.is <= 1 || rho.is == Inherit, rho.key, rho.is,
			"must be in [-1, 1], or -2 for the fleet's own")
		c.Require(!none || rho.is == Inherit, rho.key, rho.is, "requires a fleet (fleet.name or a level)")
	}
}

// Fleet returns the fleet with the correlations and the assignment of the table, or nil if the table has
// none. Validate must have been called.
func (cfg *Config) Fleet() *Fleet {
	if cfg.Name == "" && cfg.Devices == "" && cfg.Links == "" {
		return nil
	}
	if cfg.Loaded == nil {
		panic("fleets: the fleet has not been read: call Validate first")
	}
	out := *cfg.Loaded
	if cfg.LinkSpeed != Inherit {
		out.LinkSpeed = cfg.LinkSpeed
	}
	if cfg.DataSpeed != Inherit {
		out.DataSpeed = cfg.DataSpeed
	}
	for _, name := range cfg.Assignment {
		out.InTurn = append(out.InTurn, uint8(slices.Index(out.names(), name)))
	}
	return &out
}

// Override resets network.profile to its default, since a fleet overrides it, and
// returns the previous value, or "" if nothing changes. So a scenario for one kind of
// link can run with a fleet.
func (cfg *Config) Override(n *network.Config) (profile string) {
	standard := network.Defaults().Profile
	if cfg.Loaded == nil || n.Profile == standard {
		return ""
	}
	profile, n.Profile = n.Profile, standard
	return profile
}

// CheckOthers reports values in other tables, under their names below c, that the fleet
// determines. The rest of both tables applies to all classes.
func (cfg *Config) CheckOthers(c *config.Checker, d *devices.Config, n *network.Config) {
	if cfg.Loaded == nil {
		return
	}
	machine, link := devices.Defaults(), network.Defaults()
	for _, k := range []struct {
		key          string
		is, defaults any
	}{
		{"devices.profile", d.Profile, machine.Profile},
		{"devices.clock_ghz", d.ClockGHz, machine.ClockGHz},
		{"devices.flops_per_cycle", d.FlopsPerCycle, machine.FlopsPerCycle},
		{"devices.idle_w", d.IdleW, machine.IdleW},
		{"devices.compute_w", d.ComputeW, machine.ComputeW},
		{"devices.battery.wh", d.BatteryWh, machine.BatteryWh},
		{"devices.heat.k_per_w", d.KPerW, machine.KPerW},
		{"devices.heat.j_per_k", d.JPerK, machine.JPerK},
		{"devices.speed_distribution", d.Spread, machine.Spread},
		{"devices.speed_spread", d.SpreadWidth, machine.SpreadWidth},
		{"overhead.task_s", d.TaskS, machine.TaskS},
		{"overhead.step_s", d.StepS, machine.StepS},
		{"overhead.s_per_gb", d.TrafficSPerGB, machine.TrafficSPerGB},
		{"overhead.compute_jitter", d.Jitter, machine.Jitter},
		{"overhead.compute_distribution", d.Distribution, machine.Distribution},
		{"network.downlink_mbps", n.DownlinkMbps, link.DownlinkMbps},
		{"network.uplink_mbps", n.UplinkMbps, link.UplinkMbps},
		{"network.rtt_ms", n.RTTms, link.RTTms},
		{"network.rate_spread", n.RateSpread, link.RateSpread},
	} {
		c.Require(k.is == k.defaults, k.key, k.is,
			"must be left out with a fleet, which determines devices and links")
	}
	for i, h := range cfg.Loaded.Heat(d.HeatConfig) {
		of := config.NewChecker()
		h.Validate(of)
		h.CheckProfile(of, cfg.Loaded.Classes[i].machine())
		for _, p := range of.Problems() {
			c.Require(h.KPerW == 0, "devices.heat."+p.Key, p.Value,
				fmt.Sprintf("%s (class %q of the fleet)", p.Want, cfg.Loaded.Classes[i].Name))
		}
	}
}
