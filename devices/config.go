package devices

import (
	"fmt"

	"fedsim/config"
)

// Values of the key spread: how the speeds of devices differ.
const (
	Fixed     = "fixed"      // all alike
	Uniform   = "uniform"    // multiplied by a uniform number in [1-w, 1+w]
	LogNormal = "log-normal" // multiplied by a log-normal number of mean 1 and sigma/mu w
)

// Values of the key low_battery_action.
const (
	Refuse = "refuse" // takes no new work
	Slow   = "slow"   // computes at half the clock
)

// Mains, as BatteryWh of a Config, is a device without a battery.
const Mains = -1

// Config is the table [devices] of a scenario.
type Config struct {
	Profile       string  `toml:"profile" doc:"kind of device: \"phone-2010\", \"phone-2017\", \"phone-2020\" or \"raspberry-pi-4\""`
	ClockGHz      float64 `toml:"clock_ghz" doc:"clock of the processor; 0: the profile's"`
	FlopsPerCycle float64 `toml:"flops_per_cycle" doc:"floating-point operations in a clock cycle; 0: the profile's"`
	FLOPsScale    float64 `toml:"flops_scale" doc:"how many FLOPs each FLOP of local work stands for in times and energy, as of a larger model; results count those of the model that runs. Needs federation.cost = \"physical\""`
	IdleW         float64 `toml:"idle_w" doc:"power when neither computing nor sending, in watts; 0: the profile's"`
	ComputeW      float64 `toml:"compute_w" doc:"power when computing, in watts; 0: the profile's"`
	BatteryWh     float64 `toml:"battery_wh" doc:"energy of a full battery in watt-hours; 0: the profile's, -1: no battery, runs on mains"`

	Spread      string  `toml:"spread" doc:"spread of speeds between devices: \"fixed\" (none), \"uniform\" (a factor in [1-w, 1+w]) or \"log-normal\" (a factor of mean 1 and sigma/mu w)"`
	SpreadWidth float64 `toml:"spread_width" doc:"the w of spread; not used by \"fixed\""`

	Overheads
	LaunchesPerStep float64 `toml:"launches_per_step" doc:"how many times each step takes step_overhead_s: 1, or the sequence length of a recurrent layer"`

	InitialCharge       float64 `toml:"initial_charge" doc:"charge of the batteries at the start, as a share of full"`
	InitialChargeSpread float64 `toml:"initial_charge_spread" doc:"a device's initial charge is uniform within this much of initial_charge"`

	Charging         string  `toml:"charging" doc:"when the charger is plugged in: \"daily\" (for charge_hours from charge_hour on, every day), \"when-depleted\" (charge_delay_s after the battery is depleted, until the device is available again) or \"never\" (a depleted device stays unavailable). A trace of charging or a device model replaces \"daily\""`
	ChargeW          float64 `toml:"charge_w" doc:"power of the charger in watts; 0: the profile's"`
	ChargeDelayS     float64 `toml:"charge_delay_s" doc:"charging \"when-depleted\": time in seconds from an empty battery until the charger is plugged in"`
	ChargeHour       float64 `toml:"charge_hour" doc:"charging \"daily\": hour of the day at which the charger is plugged in; the run begins at hour 0, so by default plugged in until hour 6"`
	ChargeHourSpread float64 `toml:"charge_hour_spread" doc:"charging \"daily\": a device's own charge_hour is uniform within this many hours of it"`
	ChargeHours      float64 `toml:"charge_hours" doc:"charging \"daily\": how many hours the charger is plugged in"`
	ReturnLevel      float64 `toml:"return_level" doc:"charge, as a share of full, at which a depleted device becomes available"`

	LowBattery       float64 `toml:"low_battery" doc:"charge, as a share of full, below which a battery is low; 0: never"`
	LowBatteryAction string  `toml:"low_battery_action" doc:"behavior of a device with a low battery: \"refuse\" (accepts no new work until it is charged, but finishes its current work) or \"slow\" (starts new work at half the clock, if it has a profile)"`

	Model   string `toml:"model" doc:"device model: availability, speed and charging over time, by a plugin (docs/plugins.md); empty: none"`
	Options any    `toml:"options" doc:"options of the model"` // pointer to the options struct of the model; nil if there is no model
}

// Defaults returns the table's defaults.
func Defaults() Config {
	return Config{Profile: "phone-2017", FLOPsScale: 1, Spread: Fixed, LaunchesPerStep: 1, InitialCharge: 1, Charging: Daily, ChargeHour: 22, ChargeHours: 8, ReturnLevel: 0.2, LowBatteryAction: Refuse}
}

// Validate reports all errors in the table.
func (d *Config) Validate(c *config.Checker) {
	c.OneOf("profile", d.Profile, ProfileNames()...)
	models.Check(c, d.Model, d.Options)
	override := func(key string, x, most float64) {
		c.Require(x >= 0 && x <= most, key, x, fmt.Sprintf("must be positive and at most %g, or 0 for the profile's", most))
	}
	override("clock_ghz", d.ClockGHz, 1e6)
	override("flops_per_cycle", d.FlopsPerCycle, 1e9)
	override("idle_w", d.IdleW, 1e6)
	c.Require(d.FLOPsScale > 0 && d.FLOPsScale <= 1e15, "flops_scale", d.FLOPsScale, "must be positive and at most 1e+15")
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

	d.Overheads.Validate(c)
	c.Require(d.LaunchesPerStep >= 1 && d.LaunchesPerStep <= 1e6, "launches_per_step", d.LaunchesPerStep, "must be in [1, 1e6]")

	share := d.InitialCharge >= 0 && d.InitialCharge <= 1
	c.Require(share, "initial_charge", d.InitialCharge, "must be in [0, 1]")
	if share {
		most := min(d.InitialCharge, 1-d.InitialCharge)
		c.Require(d.InitialChargeSpread >= 0 && d.InitialChargeSpread <= most, "initial_charge_spread", d.InitialChargeSpread,
			fmt.Sprintf("must be in [0, %.4g]: initial_charge = %g plus or minus it must stay in [0, 1]", most, d.InitialCharge))
	}
	override("charge_w", d.ChargeW, 1e6)
	c.Require(d.ChargeDelayS >= 0 && d.ChargeDelayS <= 1e9, "charge_delay_s", d.ChargeDelayS, "must be in [0, 1e9] seconds")
	c.OneOf("charging", d.Charging, Daily, WhenDepleted, Never)
	c.Require(d.ChargeHour >= 0 && d.ChargeHour < 24, "charge_hour", d.ChargeHour, "must be in [0, 24)")
	c.Require(d.ChargeHourSpread >= 0 && d.ChargeHourSpread <= 12, "charge_hour_spread", d.ChargeHourSpread, "must be in [0, 12] hours")
	c.Require(d.ChargeHours >= 0.01 && d.ChargeHours <= 23.99, "charge_hours", d.ChargeHours, "must be in [0.01, 23.99] hours")
	c.OneOf("low_battery_action", d.LowBatteryAction, Refuse, Slow)
	c.Require(d.LowBattery == 0 || d.LowBatteryAction != Refuse || d.ReturnLevel > d.LowBattery, "return_level", d.ReturnLevel,
		fmt.Sprintf("must be above low_battery = %g: with low_battery_action \"refuse\" a device would come back to do nothing", d.LowBattery))
	c.Require(d.LowBattery >= 0 && d.LowBattery < 1, "low_battery", d.LowBattery, "must be in [0, 1)")
	c.Require(d.ReturnLevel > 0 && d.ReturnLevel <= 1, "return_level", d.ReturnLevel, "must be in (0, 1]")
}

// Device returns the profile with the overrides of the table.
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
	override(&p.ChargeW, d.ChargeW)
	switch d.BatteryWh {
	case 0:
	case Mains:
		p.BatteryWh = 0
	default:
		p.BatteryWh = d.BatteryWh
	}
	return p
}
