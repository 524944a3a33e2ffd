package fleets

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/network"
)

// The built-in fleets are valid and have a description, and there is no other file.
func TestBuiltInFleets(t *testing.T) {
	entries, err := builtin.ReadDir("builtin")
	expect.That(t, err == nil && len(entries) == len(Names()),
		"%d files (%v), %d names", len(entries), err, len(Names()))
	for _, name := range Names() {
		f, ok := BuiltIn(name)
		expect.That(t, ok && f.Description != "", "%s: %+v", name, f)
	}
}

// FLASH's times per batch, 1642 : 588 : 179 ms, are the ratios of the speeds of
// phones-2017 to a tenth of a percent.
func TestSpeedsOfFLASH(t *testing.T) {
	f, _ := BuiltIn("phones-2017")
	for class, ms := range map[int]float64{0: 1642, 1: 1642, 2: 588, 3: 588, 4: 179} {
		rate, want := f.Classes[class].machine().Rate(), 6e9*588/ms
		expect.That(t, rate >= 0.999*want && rate <= 1.001*want,
			"class %s has %g FLOP/s, must be %g", f.Classes[class].Name, rate, want)
	}
}

const inTOML = `
[[class]]
name = "old"
share = 0.25
device = "phone-2010"
link = "3g"
speed_spread = 0.2

[[class]]
name = "7"
share = 0.75
clock_ghz = 2
flops_per_cycle = 3.5
idle_w = 0.1
compute_w = 2
battery_wh = "mains"
link = "wifi"
rtt_ms = 12
task_overhead_s = 0.5
step_overhead_s = 0.01
traffic_s_per_gb = 2
compute_jitter = 0.1
`

const inCSV = "name,share,device,clock_ghz,flops_per_cycle,idle_w,compute_w,battery_wh,link,rtt_ms, " +
	"speed_spread,task_overhead_s,step_overhead_s,traffic_s_per_gb,compute_jitter\n" +
	"old,0.25,phone-2010,,,,,,3g,,0.2,,,,\n" +
	"7,0.75,,2,3.5,0.1,2,mains,wifi,12,,0.5,0.01,2,0.1\n"

func TestFormatsAreAlike(t *testing.T) {
	a := expect.Value(Read(filetest.New(t, "x.toml", inTOML)))(t)
	b := expect.Value(Open(filetest.New(t, "x.csv", inCSV)))(t)
	expect.That(t, reflect.DeepEqual(a, b), "%+v\n%+v", a, b)
	k := b.Classes[1]
	expect.That(t, k.Name == "7" && k.BatteryWh == devices.Mains && k.RTTms == 12, "%+v", k)
	want := []devices.Overheads{{}, {TaskS: 0.5, StepS: 0.01, TrafficSPerGB: 2, Jitter: 0.1}}
	machines, _ := b.Assemble(4, nil, 1)
	expect.That(t, slices.Equal(machines.Overheads, want), "the overheads of the classes are %+v", machines.Overheads)
}

// All errors are reported together, with positions.
func TestFaultsOfFiles(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"x.toml", "", "x.toml: class = 0: must be from 1 to 256 classes"},
		{"x.toml", "[[class]]\nname = \"a\"\nshare = 1\ndevice = \"phone-2017\"\nlink = \"lte\"\nspeed_spred = 1\n",
			"x.toml:6:1: unknown key class[0].speed_spred: did you mean speed_spread?"},
		{"x.toml", strings.Replace(inTOML, "0.25", "0.2", 1),
			"x.toml:2:1: class: the shares add up to 0.95: must be 1"},
		{"x.toml", strings.Replace(inTOML, "0.25", "0", 1), "x.toml:4:9: class[0].share = 0: must be in [1e-06, 1]"},
		{"x.toml", strings.Replace(inTOML, `"phone-2010"`, `"phone-2011"`, 1),
			`x.toml:5:10: class[0].device = "phone-2011": must be one of phone-2010, phone-2017, phone-2020, ` +
				`raspberry-pi-4 (did you mean "phone-2010"?)`},
		{"x.toml", strings.Replace(inTOML, "idle_w = 0.1\n", "", 1),
			"class[1].idle_w = 0: must be positive and at most 1e+06: a class without a device must set all its " +
				"values"},
		{"x.toml", strings.Replace(inTOML, `"7"`, `"old"`, 1), `x.toml:10:8: class[1].name = "old": must be unique`},
		{"x.toml", "link_speed_correlation = 1.5\n" + inTOML,
			"x.toml:1:26: link_speed_correlation = 1.5: must be in [-1, 1]"},
		{"x.toml", strings.Replace(inTOML, `"wifi"`, `""`, 1),
			`class[1].link = "": must be one of wifi, wifi-2012, lte, 3g, ble, ethernet`},
		{"x.csv", "", "x.csv: must have a header with the keys of classes, and a row for each class"},
		{"x.csv", "name,share\n", "a row for each class"},
		{"x.csv", strings.Replace(inCSV, "0.75", "three", 1), `x.csv:3:3: class[1].share = "three": must be a number`},
		{"x.csv", strings.Replace(inCSV, "share", "shere", 1),
			"x.csv:2:5: unknown key class[0].shere: did you mean share?"},
		{"x.csv", strings.Replace(inCSV, "rtt_ms", "share", 1), `x.csv:2:29: two columns are named "share"`},
		{"x.csv", inCSV + "1,2\n", "x.csv:4:1: wrong number of fields"},
		{"x.csv", "name,share\n\"a,1\n", "x.csv:2:6: extraneous or missing \" in quoted-field"},
	} {
		_, err := Read(filetest.New(t, c.name, c.text))
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "%q: %v, must say %s", c.text, err, c.want)
	}
	for name, want := range map[string]string{
		"phones-2011": "unknown fleet phones-2011: did you mean phones-2010? (the name of a file " +
			"ends in .toml or .csv)",
		"nowhere/phones.toml":            "nowhere/phones.toml: no such file or directory",
		filepath.Join(t.TempDir(), "no"): "no such file or directory",
	} {
		_, err := Open(name)
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: %v, must say %s", name, err, want)
	}
}

func found(f *Config) string {
	c := config.NewChecker()
	f.Validate(c)
	var lines []string
	for _, p := range c.Problems() {
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(*Config) {}, ""},
		{func(f *Config) { f.Name = "mixed" }, ""},
		{func(f *Config) { f.Name = "mixt" }, `name = "mixt": must be one of phones-2010, phones-2017, phones-2020, ` +
			`sensors, mixed (did you mean "mixed"?)`},
		{func(f *Config) { f.Name = "nowhere.toml" },
			`name = "nowhere.toml": cannot be read: nowhere.toml: no such file or directory`},
		{func(f *Config) { f.LinkSpeed = 0 },
			"link_speed_correlation = 0: requires a fleet (fleet.name or a level)"},
		{func(f *Config) { f.Name, f.DataSpeed = "mixed", -1.5 },
			"data_speed_correlation = -1.5: must be in [-1, 1], or -2 for the fleet's own"},
	} {
		f := Defaults()
		c.change(&f)
		got := found(&f)
		expect.That(t, got == c.want, "%+v: %q, must be %q", f, got, c.want)
	}
	f := Defaults()
	expect.That(t, f.Fleet() == nil, "the defaults have a fleet")
	f.Name, f.DataSpeed = filetest.New(t, "x.toml", "link_speed_correlation = 0.5\n"+inTOML), -0.25
	if got := found(&f); got != "" {
		t.Fatal(got)
	}
	if got := f.Fleet(); got.LinkSpeed != 0.5 || got.DataSpeed != -0.25 || f.Loaded.DataSpeed != 0 ||
		len(got.Classes) != 2 {
		t.Errorf("%+v", got)
	}
}

// Other tables must not set the values that a fleet determines.
func TestNoOverridesBesideAFleet(t *testing.T) {
	check := func(f Config, change func(*devices.Config, *network.Config)) string {
		d, n := devices.Defaults(), network.Defaults()
		change(&d, &n)
		c := config.NewChecker()
		f.CheckOthers(c, &d, &n)
		var keys []string
		for _, p := range c.Problems() {
			keys = append(keys, p.Key)
		}
		return strings.Join(keys, " ")
	}
	everything := func(d *devices.Config, n *network.Config) {
		*d = devices.Config{Profile: "phone-2010", ClockGHz: 1, FlopsPerCycle: 1, IdleW: 1, ComputeW: 1,
			BatteryConfig: devices.BatteryConfig{BatteryWh: 1}, Spread: devices.Uniform, SpreadWidth: 1,
			Overheads: devices.Overheads{TaskS: 1, StepS: 1, TrafficSPerGB: 1, Jitter: 1}}
		*n = network.Config{Profile: "wifi", DownlinkMbps: 1, UplinkMbps: 1, RTTms: 1, RateSpread: 1}
	}
	none, fleet := Defaults(), Defaults()
	fleet.Name = filetest.New(t, "x.toml", inTOML)
	if got := found(&fleet); got != "" {
		t.Fatal(got)
	}
	if got := check(none, everything); got != "" {
		t.Errorf("without a fleet %s is wrong", got)
	}
	want := "devices.profile devices.clock_ghz devices.flops_per_cycle devices.idle_w devices.compute_w " +
		"devices.battery.wh devices.speed_distribution devices.speed_spread " +
		"overhead.task_s overhead.step_s overhead.s_per_gb overhead.compute_jitter " +
		"network.downlink_mbps network.uplink_mbps network.rtt_ms network.rate_spread"
	if got := check(fleet, everything); got != want {
		t.Errorf("%s\nmust be\n%s", got, want)
	}
	if got := check(fleet, func(d *devices.Config, n *network.Config) {
		d.ChargeW, d.LowBattery, n.Jitter, n.Radio, n.ServerUpMbps = 5, 0.1, 0.3, network.RadioStates, 10
	}); got != "" {
		t.Errorf("beside a fleet %s is wrong", got)
	}
}

// No file makes the reader panic, and every accepted fleet can be assembled.
func FuzzRead(f *testing.F) {
	f.Add(inTOML, false)
	f.Add(inCSV, true)
	f.Add("name,share,device,link\na,1,phone-2017,lte\n", true)
	f.Add("class = "+strings.Repeat("[", 50_000), false)
	f.Add("name,share\n\""+strings.Repeat("\n", 50_000), true)
	f.Fuzz(func(t *testing.T, text string, csv bool) {
		parse := parseTOML
		if csv {
			parse = parseCSV
		}
		fleet, err := parse("x", []byte(text))
		if err != nil {
			return
		}
		fleet.Assemble(50, nil, 1)
	})
}

// A fleet overrides network.profile. Without a fleet, or with the default, nothing
// changes.
func TestAFleetOverridesTheProfile(t *testing.T) {
	fleet := Defaults()
	fleet.Name = filetest.New(t, "x.toml", inTOML)
	fleet.Validate(config.NewChecker())
	for _, c := range []struct {
		of       Config
		profile  string
		was, now string
	}{{Defaults(), "3g", "", "3g"}, {fleet, "3g", "3g", "lte"}, {fleet, "lte", "", "lte"}} {
		n := network.Defaults()
		n.Profile = c.profile
		if was := c.of.Override(&n); was != c.was || n.Profile != c.now {
			t.Errorf("%s becomes %s, told as %q: want %s and %q", c.profile, n.Profile, was, c.now, c.was)
		}
	}
}
