package fleets

import (
	"cmp"
	"fmt"
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
	Name       string   `toml:"name" doc:"a built-in fleet (docs/fleets.md): \"phones-2010\", \"phones-2017\", \"phones-2020\", \"sensors\" or \"mixed\"; empty: none"`
	File       string   `toml:"file" doc:"a fleet file, TOML or csv, instead of name. Searched beside the scenario (not for a path from --set), then in the working directory"`
	Devices    string   `toml:"devices" doc:"level of heterogeneity of the devices, instead of name: \"none\", \"mild\", \"middle\" or \"severe\" (docs/fleets.md); empty: no level, or \"none\" where links has one"`
	Links      string   `toml:"links" doc:"likewise of the links"`
	LinkSpeed  float64  `toml:"link_speed_correlation" doc:"rank correlation of rate and speed among the devices of a class, in [-1, 1]; -2: the fleet's own"`
	DataSpeed  float64  `toml:"data_speed_correlation" doc:"rank correlation of training rows and speed among the devices of a class, in [-1, 1]; -2: the fleet's own"`
	Assignment []string `toml:"assignment" doc:"names of classes that the devices take in turn: device t has class t mod the length of the list (docs/fleets.md); empty: by their shares, in random order"`

	Loaded *Fleet `toml:"-"` // the fleet of Name or File, read by Validate
}

// Defaults returns the table's defaults: no fleet.
func Defaults() Config { return Config{LinkSpeed: Inherit, DataSpeed: Inherit} }

// Validate reports all errors in the table and reads the fleet.
func (f *Config) Validate(c *config.Checker) {
	f.Loaded = nil
	level := f.Devices != "" || f.Links != ""
	c.OneOfOrEmpty("devices", f.Devices, Levels...)
	c.OneOfOrEmpty("links", f.Links, Levels...)
	switch {
	case level && (f.File != "" || f.Name != ""):
		c.Require(f.Devices == "", "devices", f.Devices, "cannot be combined with name or file")
		c.Require(f.Links == "", "links", f.Links, "cannot be combined with name or file")
	case level:
		f.Loaded = Level(cmp.Or(f.Devices, Levels[0]), cmp.Or(f.Links, Levels[0]))
	case f.File != "" && f.Name != "":
		c.Require(false, "name", f.Name, "cannot be combined with file")
	case f.File != "":
		fleet, err := Read(f.File)
		if err != nil {
			c.Require(false, "file", f.File, "cannot be read: "+strings.ReplaceAll(err.Error(), "\n", "; "))
			break
		}
		f.Loaded = fleet
	default:
		c.OneOfOrEmpty("name", f.Name, Names()...)
		f.Loaded, _ = BuiltIn(f.Name)
	}
	none := f.File == "" && f.Name == "" && !level
	c.Require(!none || len(f.Assignment) == 0, "assignment", f.Assignment, "requires a fleet (fleet.name, fleet.file or a level)")
	for i, name := range f.Assignment {
		if f.Loaded != nil {
			c.OneOf(fmt.Sprintf("assignment[%d]", i), name, f.Loaded.names()...)
		}
	}
	for _, rho := range []struct {
		key string
		is  float64
	}{{"link_speed_correlation", f.LinkSpeed}, {"data_speed_correlation", f.DataSpeed}} {
		c.Require(rho.is >= -1 && rho.is <= 1 || rho.is == Inherit, rho.key, rho.is, "must be in [-1, 1], or -2 for the fleet's own")
		c.Require(!none || rho.is == Inherit, rho.key, rho.is, "requires a fleet (fleet.name, fleet.file or a level)")
	}
}

// Fleet returns the fleet with the correlations and the assignment of the table, or nil if the table has
// none. Validate must have been called.
func (f *Config) Fleet() *Fleet {
	if f.Name == "" && f.File == "" && f.Devices == "" && f.Links == "" {
		return nil
	}
	if f.Loaded == nil {
		panic("fleets: the fleet has not been read: call Validate first")
	}
	out := *f.Loaded
	if f.LinkSpeed != Inherit {
		out.LinkSpeed = f.LinkSpeed
	}
	if f.DataSpeed != Inherit {
		out.DataSpeed = f.DataSpeed
	}
	for _, name := range f.Assignment {
		out.InTurn = append(out.InTurn, uint8(slices.Index(out.names(), name)))
	}
	return &out
}

// Override resets network.profile to its default, since a fleet overrides it, and
// returns the previous value, or "" if nothing changes. So a scenario for one kind of
// link can run with a fleet.
func (f *Config) Override(n *network.Config) (profile string) {
	standard := network.Defaults().Profile
	if f.Loaded == nil || n.Profile == standard {
		return ""
	}
	profile, n.Profile = n.Profile, standard
	return profile
}

// CheckOthers reports values in other tables, under their names below c, that the fleet
// determines. The rest of both tables applies to all classes.
func (f *Config) CheckOthers(c *config.Checker, d *devices.Config, n *network.Config) {
	if f.Loaded == nil {
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
		{"devices.battery_wh", d.BatteryWh, machine.BatteryWh},
		{"devices.spread", d.Spread, machine.Spread},
		{"devices.spread_width", d.SpreadWidth, machine.SpreadWidth},
		{"devices.task_overhead_s", d.TaskS, machine.TaskS},
		{"devices.step_overhead_s", d.StepS, machine.StepS},
		{"devices.traffic_s_per_gb", d.TrafficSPerGB, machine.TrafficSPerGB},
		{"devices.compute_jitter", d.Jitter, machine.Jitter},
		{"network.downlink_mbps", n.DownlinkMbps, link.DownlinkMbps},
		{"network.uplink_mbps", n.UplinkMbps, link.UplinkMbps},
		{"network.rtt_ms", n.RTTms, link.RTTms},
		{"network.rate_spread", n.RateSpread, link.RateSpread},
	} {
		c.Require(k.is == k.defaults, k.key, k.is,
			fmt.Sprintf("must be left out, or %v, with a fleet, which determines devices and links", config.Literal(k.defaults)))
	}
}
