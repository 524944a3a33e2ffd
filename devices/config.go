package devices

import (
	"fmt"

	"fedsim/config"
)

// Values of the key spread: how the speeds of devices differ.
const (
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

// BatteryConfig is the table [devices.battery].
type BatteryConfig struct {
	// energy of a full battery in watt-hours; "mains": no battery
	BatteryWh float64 `toml:"wh" absent:"0: the profile's" word:"-1: mains"`
	// charge of the batteries at the start, as a share of full
	InitialCharge float64 `toml:"start"`
	// a device's initial charge is uniform within this much of start
	InitialChargeSpread float64 `toml:"start_spread"`
	// charge, as a share of full, at which a depleted device becomes available
	ReturnLevel float64 `toml:"return_at"`
	// charge, as a share of full, below which a battery is low
	LowBattery float64 `toml:"low" absent:"0: never"`
	// behavior of a device with a low battery: "refuse" (accepts no new work until it is charged,
	// but finishes its current work) or "slow" (starts new work at half the clock, if it has a
	// profile)
	LowBatteryAction string `toml:"when_low"`
}

// ChargingConfig is the table [devices.charging.when].
type ChargingConfig struct {
	// when the charger is plugged in: "daily" (for hours from from_h on, every day), "when-depleted"
	// (from the moment the battery is depleted until the device is available again) or "never" (a
	// depleted device stays unavailable). A trace of charging or a device model replaces "daily"
	Charging string `toml:"when"`
	// power of the charger in watts
	ChargeW float64 `toml:"watts" absent:"0: the profile's"`
	// when "daily": hour of the day at which the charger is plugged in; the run begins at hour 0, so
	// by default plugged in until hour 6
	ChargeHour float64 `toml:"from_h"`
	// when "daily": a device's own from_h is uniform within this many hours of it
	ChargeHourSpread float64 `toml:"spread_h"`
	// when "daily": how many hours the charger is plugged in
	ChargeHours float64 `toml:"hours"`

	// ChargeDelayS is the time in seconds from an empty battery until the charger is plugged in, with
	// Charging "when-depleted". No scenario sets it, Go programs do.
	ChargeDelayS float64 `toml:"-"`
}

// Config is the table [devices] of a scenario.
type Config struct {
	// kind of device: "phone-2010", "phone-2017", "phone-2020" or "raspberry-pi-4"
	Profile string `toml:"profile"`
	// clock of the processor
	ClockGHz float64 `toml:"clock_ghz" absent:"0: the profile's"`
	// floating-point operations in a clock cycle
	FlopsPerCycle float64 `toml:"flops_per_cycle" absent:"0: the profile's"`
	// how many FLOPs each FLOP of local work stands for in times and energy, as of a larger model;
	// results count those of the model that runs. Needs federation.cost = "physical"
	FLOPsScale float64 `toml:"flops_scale"`
	// power when neither computing nor sending, in watts
	IdleW float64 `toml:"idle_w" absent:"0: the profile's"`
	// power when computing, in watts
	ComputeW float64 `toml:"compute_w" absent:"0: the profile's"`

	// spread of speeds between devices: a factor with sigma/mu w ("log-normal", of mean 1) or in
	// [1-w, 1+w] ("uniform"), where w is speed_spread
	Spread string `toml:"speed_distribution"`
	// the w of speed_distribution; 0: all devices are as fast
	SpreadWidth float64 `toml:"speed_spread"`

	// batteries of the devices
	BatteryConfig `toml:"battery"`
	// when batteries are charged
	ChargingConfig `toml:"charging"`
	// heat of the devices, by which they throttle (docs/time.md#heat)
	HeatConfig `toml:"heat"`

	// device model: availability, speed and charging over time, by a plugin (docs/extend.md), or "none"
	Model string `toml:"model" word:"\"\": none"`
	// options of the model
	Options any `toml:"model_options"` // pointer to the options struct of the model; nil if there is no model

	// Overheads of computations, and how many times each step takes that of a step. Scenarios have them in
	// [overhead].
	Overheads       `toml:"-"`
	LaunchesPerStep float64 `toml:"-"`
}

// Defaults returns the table's defaults.
func Defaults() Config {
	return Config{
		Profile: "phone-2017", FLOPsScale: 1, Spread: LogNormal, LaunchesPerStep: 1,
		BatteryConfig:  BatteryConfig{InitialCharge: 1, ReturnLevel: 0.2, LowBatteryAction: Refuse},
		ChargingConfig: ChargingConfig{Charging: Daily, ChargeHour: 22, ChargeHours: 8},
		HeatConfig:     defaultHeat,
	}
}

// Validate reports all errors in the table.
func (cfg *Config) Validate(c *config.Checker) {
	c.OneOf("profile", cfg.Profile, ProfileNames()...)
	models.Check(c, cfg.Model, cfg.Options)
	override := func(key string, x, most float64) {
		c.Require(x >= 0 && x <= most, key, x, fmt.Sprintf("must be positive and at most %g", most))
	}
	override("clock_ghz", cfg.ClockGHz, 1e6)
	override("flops_per_cycle", cfg.FlopsPerCycle, 1e9)
	override("idle_w", cfg.IdleW, 1e6)
	c.Require(cfg.FLOPsScale > 0 && cfg.FLOPsScale <= 1e15, "flops_scale", cfg.FLOPsScale,
		"must be positive and at most 1e+15")
	override("compute_w", cfg.ComputeW, 1e6)
	c.OneOf("speed_distribution", cfg.Spread, LogNormal, Uniform)
	if cfg.Spread == Uniform {
		c.Require(cfg.SpreadWidth >= 0 && cfg.SpreadWidth < 1, "speed_spread", cfg.SpreadWidth,
			"must be in [0, 1) with speed_distribution \"uniform\": a device must keep some speed")
	} else {
		c.Require(cfg.SpreadWidth >= 0 && cfg.SpreadWidth <= 100, "speed_spread", cfg.SpreadWidth,
			"must be in [0, 100]")
	}
	cfg.BatteryConfig.Validate(c.In("battery"))
	cfg.ChargingConfig.Validate(c.In("charging"))
	cfg.HeatConfig.Validate(c.In("heat"))
	if _, ok := Lookup(cfg.Profile); ok {
		cfg.CheckProfile(c.In("heat"), cfg.Device())
	}
}

// Validate reports all errors in the table.
func (b *BatteryConfig) Validate(c *config.Checker) {
	c.Require(b.BatteryWh >= 0 && b.BatteryWh <= 1e9 || b.BatteryWh == Mains, "wh", b.BatteryWh,
		`must be in (0, 1e9], or "mains"`)
	share := b.InitialCharge >= 0 && b.InitialCharge <= 1
	c.Require(share, "start", b.InitialCharge, "must be in [0, 1]")
	if share {
		most := min(b.InitialCharge, 1-b.InitialCharge)
		c.Require(b.InitialChargeSpread >= 0 && b.InitialChargeSpread <= most, "start_spread", b.InitialChargeSpread,
			fmt.Sprintf("must be in [0, %.4g]: start = %g plus or minus it must stay in [0, 1]", most, b.InitialCharge))
	}
	c.OneOf("when_low", b.LowBatteryAction, Refuse, Slow)
	c.Require(b.LowBattery == 0 || b.LowBatteryAction != Refuse || b.ReturnLevel > b.LowBattery, "return_at",
		b.ReturnLevel,
		fmt.Sprintf("must be above low = %g: with when_low \"refuse\" a device would come back to do nothing",
			b.LowBattery))
	c.Require(b.LowBattery >= 0 && b.LowBattery < 1, "low", b.LowBattery, "must be in [0, 1)")
	c.Require(b.ReturnLevel > 0 && b.ReturnLevel <= 1, "return_at", b.ReturnLevel, "must be in (0, 1]")
}

// Validate reports all errors in the table.
func (cc *ChargingConfig) Validate(c *config.Checker) {
	c.Require(cc.ChargeW >= 0 && cc.ChargeW <= 1e6, "watts", cc.ChargeW, "must be positive and at most 1e+06")
	c.OneOf("when", cc.Charging, Daily, WhenDepleted, Never)
	c.Require(cc.ChargeHour >= 0 && cc.ChargeHour < 24, "from_h", cc.ChargeHour, "must be in [0, 24)")
	c.Require(cc.ChargeHourSpread >= 0 && cc.ChargeHourSpread <= 12, "spread_h", cc.ChargeHourSpread,
		"must be in [0, 12] hours")
	c.Require(cc.ChargeHours >= 0.01 && cc.ChargeHours <= 23.99, "hours", cc.ChargeHours,
		"must be in [0.01, 23.99] hours")
}

// Device returns the profile with the overrides of the table.
func (cfg *Config) Device() Profile {
	p, ok := Lookup(cfg.Profile)
	if !ok {
		panic(fmt.Sprintf("devices: no profile is named %q", cfg.Profile))
	}
	override := func(of *float64, x float64) {
		if x != 0 {
			*of = x
		}
	}
	override(&p.ClockGHz, cfg.ClockGHz)
	override(&p.FlopsPerCycle, cfg.FlopsPerCycle)
	override(&p.IdleW, cfg.IdleW)
	override(&p.ComputeW, cfg.ComputeW)
	override(&p.ChargeW, cfg.ChargeW)
	switch cfg.BatteryWh {
	case 0:
	case Mains:
		p.BatteryWh = 0
	default:
		p.BatteryWh = cfg.BatteryWh
	}
	return p
}
