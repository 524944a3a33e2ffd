package devices

import (
	"math"
	"testing"

	"fedsim/config"

	"github.com/google/go-cmp/cmp"
)

// problems returns the errors from validating the table under its key in a scenario.
func problems(table string, validate func(*config.Checker)) []string {
	c := config.NewChecker()
	validate(c.In(table))
	var got []string
	for _, p := range c.Problems() {
		got = append(got, p.Error())
	}
	return got
}

func TestDefaultsAreValid(t *testing.T) {
	cfg := Defaults()
	if got := problems("devices", cfg.Validate); got != nil {
		t.Error(got)
	}
	for _, name := range ProfileNames() {
		cfg.Profile = name
		if got := problems("devices", cfg.Validate); got != nil {
			t.Errorf("%s: %s", name, got)
		}
		p, ok := Lookup(name)
		if !ok || p.Name != name || p.Source == "" || p.Rate() <= 0 || p.IdleW <= 0 || p.ComputeW <= p.IdleW || p.BatteryWh < 0 || p.ChargeW <= 0 {
			t.Errorf("profile %+v", p)
		}
		if d := cmp.Diff(p, cfg.Device()); d != "" {
			t.Errorf("%s without overrides: %s", name, d)
		}
	}
	if _, ok := Lookup("phone"); ok {
		t.Error("there is a profile phone")
	}
}

func TestInvalidDevices(t *testing.T) {
	const most = "must be positive and at most 1e+06, or 0 for the profile's"
	for _, c := range []struct {
		change func(*Config)
		want   []string
	}{
		{func(d *Config) { d.Profile = "phone-2071" },
			[]string{`devices.profile = "phone-2071": must be one of phone-2010, phone-2017, phone-2020, raspberry-pi-4 (did you mean "phone-2017"?)`}},
		{func(d *Config) { d.ClockGHz, d.IdleW, d.ComputeW = -1, math.NaN(), math.Inf(1) },
			[]string{"devices.clock_ghz = -1: " + most, "devices.idle_w = NaN: " + most, "devices.compute_w = +Inf: " + most}},
		{func(d *Config) { d.FlopsPerCycle = -2 },
			[]string{"devices.flops_per_cycle = -2: must be positive and at most 1e+09, or 0 for the profile's"}},
		{func(d *Config) { d.BatteryWh = -2 },
			[]string{"devices.battery_wh = -2: must be positive and at most 1e+09, 0 for the profile's or -1 for mains"}},
		{func(d *Config) { d.Spread = "lognormal" },
			[]string{`devices.spread = "lognormal": must be one of fixed, uniform, log-normal (did you mean "log-normal"?)`}},
		{func(d *Config) { d.Spread, d.SpreadWidth = Uniform, 1 },
			[]string{`devices.spread_width = 1: must be in [0, 1) with spread "uniform": a device must keep some speed`}},
		{func(d *Config) { d.Spread, d.SpreadWidth = LogNormal, -0.1 },
			[]string{"devices.spread_width = -0.1: must be in [0, 100]"}},
		{func(d *Config) { d.InitialCharge = 1.5 },
			[]string{"devices.initial_charge = 1.5: must be in [0, 1]"}},
		{func(d *Config) { d.InitialCharge, d.InitialChargeSpread = 0.75, 0.3 },
			[]string{"devices.initial_charge_spread = 0.3: must be in [0, 0.25]: initial_charge = 0.75 plus or minus it must stay in [0, 1]"}},
		{func(d *Config) { d.ChargeW, d.ChargeDelayS, d.ReturnLevel = -5, math.NaN(), 0 },
			[]string{"devices.charge_w = -5: " + most, "devices.charge_delay_s = NaN: must be in [0, 1e9] seconds", "devices.return_level = 0: must be in (0, 1]"}},
		{func(d *Config) { d.Charging, d.ChargeHour, d.ChargeHourSpread, d.ChargeHours = "nightly", 24, 13, 24 },
			[]string{`devices.charging = "nightly": must be one of daily, when-depleted, never`, "devices.charge_hour = 24: must be in [0, 24)",
				"devices.charge_hour_spread = 13: must be in [0, 12] hours", "devices.charge_hours = 24: must be in [0.01, 23.99] hours"}},
		{func(d *Config) { d.LowBattery, d.LowBatteryAction = 1, "sleep" },
			[]string{`devices.low_battery_action = "sleep": must be one of refuse, slow`, "devices.low_battery = 1: must be in [0, 1)"}},
		{func(d *Config) { d.LowBattery = 0.2 },
			[]string{`devices.return_level = 0.2: must be above low_battery = 0.2: with low_battery_action "refuse" a device would come back to do nothing`}},
	} {
		cfg := Defaults()
		c.change(&cfg)
		if d := cmp.Diff(c.want, problems("devices", cfg.Validate)); d != "" {
			t.Error(d)
		}
	}
}

func TestOverrides(t *testing.T) {
	cfg := Defaults()
	cfg.ClockGHz, cfg.FlopsPerCycle, cfg.IdleW, cfg.ComputeW, cfg.BatteryWh, cfg.ChargeW = 3, 8, 0.5, 4, 20, 18
	want := Profile{Name: "phone-2017", ClockGHz: 3, FlopsPerCycle: 8, IdleW: 0.5, ComputeW: 4, BatteryWh: 20, ChargeW: 18, Low: cfg.Device().Low, Source: cfg.Device().Source}
	if d := cmp.Diff(want, cfg.Device()); d != "" {
		t.Error(d)
	}
	cfg.BatteryWh = Mains
	if got := cfg.Device().BatteryWh; got != 0 {
		t.Errorf("a device on mains has a battery of %g Wh", got)
	}
}
