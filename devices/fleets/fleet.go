package fleets

import (
	"cmp"
	"fmt"
	"math"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
	"fedsim/network"
)

// Fleet is a set of classes with correlations.
type Fleet struct {
	// one sentence about the fleet
	Description string `toml:"description"`
	// rank correlation, in [-1, 1], of rate and speed among the devices of a class
	LinkSpeed float64 `toml:"link_speed_correlation"`
	// rank correlation, in [-1, 1], of a device's training rows and its speed among the devices of
	// a class
	DataSpeed float64 `toml:"data_speed_correlation"`
	// the classes
	Classes []Class `toml:"class"`

	InTurn []uint8 `toml:"-"` // the classes that the devices take in turn; empty: by share, see order
}

func (f *Fleet) names() []string {
	names := make([]string, len(f.Classes))
	for i := range f.Classes {
		names[i] = f.Classes[i].Name
	}
	return names
}

// Class is a class of devices.
type Class struct {
	// of the class
	Name string `toml:"name"`
	// share of the devices, in (0, 1]; the shares of all classes add up to 1
	Share float64 `toml:"share"`

	// profile of the device, as in devices.profile of a scenario
	Device string `toml:"device" absent:"\"\": none, and all keys up to battery_wh are required"`
	// clock of the processor
	ClockGHz float64 `toml:"clock_ghz" absent:"0: the profile's"`
	// floating-point operations in a clock cycle
	FlopsPerCycle float64 `toml:"flops_per_cycle" absent:"0: the profile's"`
	// power when neither computing nor sending, in watts
	IdleW float64 `toml:"idle_w" absent:"0: the profile's"`
	// power when computing, in watts
	ComputeW float64 `toml:"compute_w" absent:"0: the profile's"`
	// energy of a full battery in watt-hours; "mains": no battery
	BatteryWh float64 `toml:"battery_wh" absent:"0: the profile's" word:"-1: mains"`

	// profile of the link, as in network.profile of a scenario
	Link string `toml:"link"`
	// rate from the server, in 10^6 bit/s
	DownlinkMbps float64 `toml:"downlink_mbps" absent:"0: the profile's"`
	// rate to the server, in 10^6 bit/s
	UplinkMbps float64 `toml:"uplink_mbps" absent:"0: the profile's"`
	// round trip time in milliseconds
	RTTms float64 `toml:"rtt_ms" absent:"0: the profile's"`
	// bytes on the wire for each byte of a message, at least 1
	WireFactor float64 `toml:"wire_factor" absent:"0: network.wire.factor of the scenario"`
	// bytes on the wire of each transfer that pass at once
	BurstBytes float64 `toml:"burst_bytes" absent:"0: network.wire.burst_bytes of the scenario"`

	devices.Overheads

	// heat of the device, as in devices.heat.k_per_w of a scenario
	HeatKPerW float64 `toml:"heat_k_per_w" absent:"0: none"`
	// likewise in devices.heat.j_per_k
	HeatJPerK float64 `toml:"heat_j_per_k" absent:"0: none"`
	// temperature at which it throttles, in degrees Celsius
	ThrottleC float64 `toml:"throttle_c" absent:"0: devices.heat.throttle_c of the scenario"`
	// temperature at which it recovers
	RecoverC float64 `toml:"recover_c" absent:"0: devices.heat.recover_c of the scenario"`
	// its clock while it throttles, as a share
	ThrottleClock float64 `toml:"throttle_clock" absent:"0: devices.heat.throttle_clock of the scenario"`

	// sigma/mu of a log-normal factor of mean 1 on a device's speed
	SpeedSpread float64 `toml:"speed_spread"`
	// sigma/mu of a log-normal factor of mean 1 on both rates of a device
	RateSpread float64 `toml:"rate_spread"`
}

// mostClasses is the number of values of a byte.
const mostClasses = 256

// Validate reports all errors in the fleet.
func (f *Fleet) Validate(c *config.Checker) {
	validateCorrelation(c, "link_speed_correlation", f.LinkSpeed)
	validateCorrelation(c, "data_speed_correlation", f.DataSpeed)
	c.Require(len(f.Classes) > 0 && len(f.Classes) <= mostClasses, "class", len(f.Classes),
		fmt.Sprintf("must be from 1 to %d classes", mostClasses))
	sum, shares := 0.0, true
	seen := map[string]bool{}
	for i := range f.Classes {
		k := &f.Classes[i]
		in := c.In(fmt.Sprintf("class[%d]", i))
		in.Require(!seen[k.Name], "name", k.Name, "must be unique")
		seen[k.Name] = true
		k.validate(in)
		sum += k.Share
		shares = shares && k.Share >= leastShare && k.Share <= 1
	}
	// Thirds may be written with six digits.
	c.Require(!shares || len(f.Classes) == 0 || math.Abs(sum-1) <= 1e-5, "class", nil,
		fmt.Sprintf("the shares add up to %g: must be 1", sum))
}

// leastShare is the smallest share of a class: one device of a million.
const leastShare = 1e-6

func validateCorrelation(c *config.Checker, key string, rho float64) {
	c.Require(rho >= -1 && rho <= 1, key, rho, "must be in [-1, 1]")
}

func (cl *Class) validate(c *config.Checker) {
	c.Require(cl.Name != "", "name", cl.Name, "must not be empty")
	c.Require(cl.Name == "" || input.RefuseName(cl.Name) == "", "name", quote.Cut(cl.Name),
		"must be text of at most 200 characters, without control characters")
	c.Require(cl.Share >= leastShare && cl.Share <= 1, "share", cl.Share, fmt.Sprintf("must be in [%g, 1]", leastShare))
	figure := func(key string, x, most float64) {
		switch {
		case cl.Device != "":
			c.Require(x >= 0 && x <= most, key, x,
				fmt.Sprintf("must be positive and at most %g", most))
		default:
			c.Require(x > 0 && x <= most, key, x,
				fmt.Sprintf("must be positive and at most %g: a class without a device must set all its values", most))
		}
	}
	if cl.Device != "" {
		c.OneOf("device", cl.Device, devices.ProfileNames()...)
	}
	figure("clock_ghz", cl.ClockGHz, 1e6)
	figure("flops_per_cycle", cl.FlopsPerCycle, 1e9)
	figure("idle_w", cl.IdleW, 1e6)
	figure("compute_w", cl.ComputeW, 1e6)
	if cl.BatteryWh != devices.Mains {
		figure("battery_wh", cl.BatteryWh, 1e9)
	}
	cl.Overheads.Validate(c)
	c.Require(cl.HeatKPerW >= 0 && cl.HeatKPerW <= 1e6, "heat_k_per_w", cl.HeatKPerW, "must be in [0, 1e6]")
	c.Require(cl.HeatJPerK >= 0 && cl.HeatJPerK <= 1e9 && (cl.HeatJPerK > 0) == (cl.HeatKPerW > 0), "heat_j_per_k",
		cl.HeatJPerK, "must be positive and at most 1e+09 with heat_k_per_w, and 0 without")
	c.OneOf("link", cl.Link, network.ProfileNames()...)
	link := func(key string, x float64) {
		c.Require(x >= 0 && x <= 1e9, key, x, "must be positive and at most 1e+09")
	}
	link("downlink_mbps", cl.DownlinkMbps)
	link("uplink_mbps", cl.UplinkMbps)
	link("rtt_ms", cl.RTTms)
	c.Require(cl.WireFactor == 0 || cl.WireFactor >= 1 && cl.WireFactor <= 1e6, "wire_factor", cl.WireFactor,
		"must be in [1, 1e+06]")
	c.Require(cl.BurstBytes >= 0 && cl.BurstBytes <= 1e15, "burst_bytes", cl.BurstBytes,
		"must be positive and at most 1e+15")
	spread := func(key string, cv float64) { c.Require(cv >= 0 && cv <= 100, key, cv, "must be in [0, 100]") }
	spread("speed_spread", cl.SpeedSpread)
	spread("rate_spread", cl.RateSpread)
}

// machine returns the device profile of a valid class. A low battery does not slow down
// a class without a profile.
func (cl *Class) machine() devices.Profile {
	if cl.Device == "" {
		return devices.Profile{
			Name: cl.Name, ClockGHz: cl.ClockGHz, FlopsPerCycle: cl.FlopsPerCycle,
			IdleW: cl.IdleW, ComputeW: cl.ComputeW, BatteryWh: max(0, cl.BatteryWh), ChargeW: devices.USBChargeW,
			Source: "class " + cl.Name,
		}
	}
	c := devices.Config{
		Profile: cl.Device, ClockGHz: cl.ClockGHz, FlopsPerCycle: cl.FlopsPerCycle,
		IdleW: cl.IdleW, ComputeW: cl.ComputeW,
		BatteryConfig: devices.BatteryConfig{BatteryWh: cl.BatteryWh},
	}
	return c.Device()
}

// heat returns the heat of a class in a scenario, whose table has what the class leaves out.
func (cl *Class) heat(h devices.HeatConfig) devices.HeatConfig {
	h.KPerW, h.JPerK = cl.HeatKPerW, cl.HeatJPerK
	h.ThrottleC, h.RecoverC = cmp.Or(cl.ThrottleC, h.ThrottleC), cmp.Or(cl.RecoverC, h.RecoverC)
	h.ThrottleClock = cmp.Or(cl.ThrottleClock, h.ThrottleClock)
	return h
}

// Heat returns the heat of each class in a scenario with a table of it.
func (f *Fleet) Heat(h devices.HeatConfig) []devices.HeatConfig {
	of := make([]devices.HeatConfig, len(f.Classes))
	for i := range f.Classes {
		of[i] = f.Classes[i].heat(h)
	}
	return of
}

func (cl *Class) link() network.Profile {
	unlessZero := func(x float64) float64 {
		if x == 0 {
			return network.Unset
		}
		return x
	}
	c := network.Config{
		Profile: cl.Link, DownlinkMbps: unlessZero(cl.DownlinkMbps), UplinkMbps: unlessZero(cl.UplinkMbps),
		RTTms: unlessZero(cl.RTTms),
	}
	p := c.Link()
	p.WireFactor, p.BurstBytes = cl.WireFactor, cl.BurstBytes
	return p
}
