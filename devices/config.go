package devices

import (
	"fmt"

	"fedsim/config"
)

// How the devices' speeds differ.
const (
	Fixed     = "fixed"      // all alike
	Uniform   = "uniform"    // multiplied by a uniform number in [1-w, 1+w]
	LogNormal = "log-normal" // multiplied by a log-normal number of mean 1 and sigma/mu w
)

// Mains, as BatteryWh of a Config, is a device without a battery.
const Mains = -1

// Config is the table [devices] of a scenario.
type Config struct {
	Profile       string  `toml:"profile" doc:"what the devices are: \"phone-2010\", \"phone-2017\", \"phone-2020\" or \"raspberry-pi-4\""`
	ClockGHz      float64 `toml:"clock_ghz" doc:"clock of the processor; 0: the profile's"`
	FlopsPerCycle float64 `toml:"flops_per_cycle" doc:"floating-point operations in a clock cycle; 0: the profile's"`
	IdleW         float64 `toml:"idle_w" doc:"power when neither computing nor sending, in watts; 0: the profile's"`
	ComputeW      float64 `toml:"compute_w" doc:"power when computing, in watts; 0: the profile's"`
	BatteryWh     float64 `toml:"battery_wh" doc:"energy of a full battery in watt-hours; 0: the profile's, -1: no battery, runs on mains"`

	Spread      string  `toml:"spread" doc:"how the devices' speeds differ: \"fixed\", \"uniform\" (multiplied by a number in [1-w, 1+w]) or \"log-normal\" (by a number of mean 1 and sigma/mu w)"`
	SpreadWidth float64 `toml:"spread_width" doc:"the w of spread; not used by \"fixed\""`

	InitialCharge       float64 `toml:"initial_charge" doc:"charge of the batteries at the start, as a share of full"`
	InitialChargeSpread float64 `toml:"initial_charge_spread" doc:"a device's initial charge is uniform within this much of initial_charge"`
	ChargeW             float64 `toml:"charge_w" doc:"power in watts of the charger that is plugged in when a battery has run empty; 0: none, the device does not come back"`
	ChargeDelayS        float64 `toml:"charge_delay_s" doc:"time in seconds from an empty battery until the charger is plugged in"`
	ReturnLevel         float64 `toml:"return_level" doc:"charge, as a share of full, at which a device that ran empty comes back; the charger is unplugged then"`
}

// Defaults returns the table's defaults.
func Defaults() Config {
	return Config{Profile: "phone-2017", Spread: Fixed, InitialCharge: 1, ReturnLevel: 0.2}
}

// Validate reports everything wrong with the table.
func (d *Config) Validate(c *config.Checker) {
	c.OneOf("profile", d.Profile, ProfileNames()...)
	override := func(key string, x, most float64) {
		c.Require(x >= 0 && x <= most, key, x, fmt.Sprintf("must be positive and at most %g, or 0 for the profile's", most))
	}
	override("clock_ghz", d.ClockGHz, 1e6)
	override("flops_per_cycle", d.FlopsPerCycle, 1e9)
	override("idle_w", d.IdleW, 1e6)
	override("compute_w", d.ComputeW, 1e6)
	c.Require(d.BatteryWh >= 0 && d.BatteryWh <= 1e9 || d.BatteryWh == Mains, "battery_wh", d.BatteryWh,
		"must be positive and at most 1e+09, 0 for the profile's or -1 for mains")

	c.OneOf("spread", d.Spread, Fixed, Uniform, LogNormal)
	if d.Spread == Uniform {
		c.Require(d.SpreadWidth >= 0 && d.SpreadWidth < 1, "spread_width", d.SpreadWidth,
			"must be in [0, 1) with spread \"uniform\": a device must keep some speed")
	} else {
		c.Require(d.SpreadWidth >= 0 && d.SpreadWidth <= 100, "spread_width", d.SpreadWidth, "must be in [0, 100]")
	}

	share := d.InitialCharge >= 0 && d.InitialCharge <= 1
	c.Require(share, "initial_charge", d.InitialCharge, "must be in [0, 1]")
	if share {
		most := min(d.InitialCharge, 1-d.InitialCharge)
		c.Require(d.InitialChargeSpread >= 0 && d.InitialChargeSpread <= most, "initial_charge_spread", d.InitialChargeSpread,
			fmt.Sprintf("must be in [0, %.4g]: initial_charge = %g plus or minus it must stay in [0, 1]", most, d.InitialCharge))
	}
	c.Require(d.ChargeW >= 0 && d.ChargeW <= 1e6, "charge_w", d.ChargeW, "must be in [0, 1e6] watts")
	c.Require(d.ChargeDelayS >= 0 && d.ChargeDelayS <= 1e9, "charge_delay_s", d.ChargeDelayS, "must be in [0, 1e9] seconds")
	c.Require(d.ReturnLevel > 0 && d.ReturnLevel <= 1, "return_level", d.ReturnLevel, "must be in (0, 1]")
}

// Device returns the profile with the table's overrides in its place. The table
// must be valid.
func (d *Config) Device() Profile {
	p, ok := Lookup(d.Profile)
	if !ok {
		panic(fmt.Sprintf("devices: no profile is named %q", d.Profile))
	}
	override := func(of *float64, x float64) {
		if x != 0 {
			*of = x
		}
	}
	override(&p.ClockGHz, d.ClockGHz)
	override(&p.FlopsPerCycle, d.FlopsPerCycle)
	override(&p.IdleW, d.IdleW)
	override(&p.ComputeW, d.ComputeW)
	switch d.BatteryWh {
	case 0:
	case Mains:
		p.BatteryWh = 0
	default:
		p.BatteryWh = d.BatteryWh
	}
	return p
}
