package network

import (
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

func problems(cfg Config) []string {
	c := config.NewChecker()
	cfg.Validate(c.In("network"))
	var got []string
	for _, p := range c.Problems() {
		got = append(got, p.Error())
	}
	return got
}

func TestDefaultsAreValid(t *testing.T) {
	cfg := Defaults()
	for _, name := range ProfileNames() {
		cfg.Profile = name
		got := problems(cfg)
		expect.That(t, got == nil, "%s: %s", name, got)
		p, ok := Lookup(name)
		if !ok || p.Name != name || p.Source == "" || p.DownlinkMbps < p.UplinkMbps || p.UplinkMbps <= 0 ||
			p.RTTms <= 0 {
			t.Errorf("profile %+v", p)
		}
		expect.That(t, cfg.Link() == p, "%s without overrides is %+v, want %+v", name, cfg.Link(), p)
	}
	if _, ok := Lookup("5g"); ok {
		t.Error("there is a profile 5g")
	}
}

// "scaling the communication cost relative to computation by one, two, or three
// orders of magnitude, respectively", for WiFi, LTE and 3G (paper, section 5.3).
func TestRelativeCosts(t *testing.T) {
	for name, want := range map[string]float64{"wifi": 10, "wifi-2012": 10, "lte": 100, "3g": 1000, "ble": 100,
		"ethernet": 1} {
		p, _ := Lookup(name)
		expect.That(t, p.RelativeCost == want, "%s costs %g local passes, want %g", name, p.RelativeCost, want)
	}
}

func TestInvalidLinks(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   []string
	}{
		{func(n *Config) { n.Profile = "LTE " },
			[]string{`network.profile = "LTE ": must be one of wifi, wifi-2012, lte, 3g, ble, ` +
				`ethernet (did you mean "lte"?)`}},
		{func(n *Config) { n.HeaderBytes, n.PayloadBytesPerValue = -1, 2 },
			[]string{"network.wire.header_bytes = -1: must be in [0, 1073741824]",
				"network.wire.bytes_per_value = 2: must be 4 or 8"}},
	} {
		cfg := Defaults()
		c.change(&cfg)
		d := cmp.Diff(c.want, problems(cfg))
		expect.That(t, d == "", "%v", d)
	}
}

func TestOverrides(t *testing.T) {
	cfg := Defaults()
	cfg.DownlinkMbps, cfg.UplinkMbps, cfg.RTTms = 3, 2, 0
	if got := problems(cfg); got != nil {
		t.Fatal(got)
	}
	want, _ := Lookup("lte")
	want.DownlinkMbps, want.UplinkMbps, want.RTTms = 3, 2, 0
	if got := cfg.Link(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
