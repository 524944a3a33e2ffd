package devices

import (
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"

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
		got := problems("devices", cfg.Validate)
		expect.That(t, got == nil, "%s: %s", name, got)
		p, ok := Lookup(name)
		if !ok || p.Name != name || p.Source == "" || p.Rate() <= 0 || p.IdleW <= 0 || p.ComputeW <= p.IdleW ||
			p.BatteryWh < 0 || p.ChargeW <= 0 {
			t.Errorf("profile %+v", p)
		}
		d := cmp.Diff(p, cfg.Device())
		expect.That(t, d == "", "%s without overrides: %s", name, d)
	}
	if _, ok := Lookup("phone"); ok {
		t.Error("there is a profile phone")
	}
}

func TestInvalidDevices(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   []string
	}{
		{func(d *Config) { d.Profile = "phone-2071" },
			[]string{`devices.profile = "phone-2071": must be one of phone-2010, phone-2017, phone-2020, ` +
				`raspberry-pi-4 (did you mean "phone-2017"?)`}},
		{func(d *Config) { d.BatteryWh = -2 },
			[]string{"devices.battery.wh = -2: must be in (0, 1e9], or \"mains\""}},
		{func(d *Config) { d.Spread = "lognormal" },
			[]string{`devices.speed_distribution = "lognormal": must be one of log-normal, ` +
				`uniform (did you mean "log-normal"?)`}},
		{func(d *Config) { d.Spread, d.SpreadWidth = Uniform, 1 },
			[]string{`devices.speed_spread = 1: must be in [0, 1) with speed_distribution "uniform": ` +
				`a device must keep some speed`}},
		{func(d *Config) { d.InitialCharge, d.InitialChargeSpread = 0.75, 0.3 },
			[]string{"devices.battery.start_spread = 0.3: must be in [0, 0.25]: start = 0.75 plus or minus it must " +
				"stay in [0, 1]"}},
		{func(d *Config) { d.Charging = "nightly" },
			[]string{`devices.charging.when = "nightly": must be one of daily, when-depleted, never`}},
		{func(d *Config) { d.LowBattery, d.LowBatteryAction = 1, "sleep" },
			[]string{`devices.battery.when_low = "sleep": must be one of refuse, slow`,
				"devices.battery.low = 1: must be in [0, 1)"}},
		{func(d *Config) { d.LowBattery = 0.2 },
			[]string{`devices.battery.return_at = 0.2: must be above low = 0.2: with when_low "refuse" a device ` +
				`would come back to do nothing`}},
	} {
		cfg := Defaults()
		c.change(&cfg)
		d := cmp.Diff(c.want, problems("devices", cfg.Validate))
		expect.That(t, d == "", "%v", d)
	}
}

func TestOverrides(t *testing.T) {
	cfg := Defaults()
	cfg.ClockGHz, cfg.FlopsPerCycle, cfg.IdleW, cfg.ComputeW, cfg.BatteryWh, cfg.ChargeW = 3, 8, 0.5, 4, 20, 18
	want := Profile{Name: "phone-2017", ClockGHz: 3, FlopsPerCycle: 8, IdleW: 0.5, ComputeW: 4, BatteryWh: 20,
		ChargeW: 18, Low: cfg.Device().Low, Source: cfg.Device().Source}
	d := cmp.Diff(want, cfg.Device())
	expect.That(t, d == "", "%v", d)
	cfg.BatteryWh = Mains
	got := cfg.Device().BatteryWh
	expect.That(t, got == 0, "a device on mains has a battery of %g Wh", got)
}
