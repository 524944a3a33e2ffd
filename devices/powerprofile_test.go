package devices

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const sampleProfile = "testdata/power_profile.xml"

func TestPowerProfile(t *testing.T) {
	got, err := readPowerProfile(sampleProfile)
	if err != nil {
		t.Fatal(err)
	}
	// The second cluster is the faster one: 30 + 10 + 360 mA beyond 5 + 15 mA.
	want := PowerProfile{
		Device: "Sample", ClockGHz: 2.5, IdleW: 0.020 * 3.85, ComputeW: 0.420 * 3.85, BatteryWh: 4 * 3.85,
		Steps: []Step{{0.2, 60. / 400}, {0.6, 140. / 400}, {1, 1}}, WiFiW: 0.08 * 3.85, CellularW: 0.2 * 3.85,
	}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Error(d)
	}
}

// Before Android 7 a file had one list of clocks and one of currents.
func TestOldPowerProfile(t *testing.T) {
	got, err := parsePowerProfile([]byte(`<device name="old"><array name="cpu.speeds"><value>300000</value><value> 1200000 </value></array>
		<array name="cpu.active"><value>50</value><value>200</value></array><item name="cpu.idle">4</item></device>`))
	want := PowerProfile{Device: "old", ClockGHz: 1.2, IdleW: 0.004 * 3.85, ComputeW: 0.204 * 3.85, Steps: []Step{{0.25, 0.25}, {1, 1}}}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); d != "" || err != nil {
		t.Error(err, d)
	}
}

func TestRefusedPowerProfiles(t *testing.T) {
	const speeds = `<array name="cpu.core_speeds.cluster0"><value>100</value><value>200</value></array>`
	for text, want := range map[string]string{
		"":                          "byte 0: has no items: must be a <device> with <item>s and <array>s",
		"<device>":                  "byte 8: line 1: unexpected EOF",
		"<device></item>":           "byte 15: line 1: element <device> closed by </item>",
		"<phone/>":                  "byte 0: <phone> is not allowed in <>",
		"<device><array><item/>":    "byte 8: <array> has no name",
		"<device>x</device>":        "byte 8: text must be within an <item> or a <value>",
		"<!DOCTYPE device><device>": "byte 0: must not have a document type",
		`<device><item name="cpu.idle">-1</item></device>`:                                                              `byte 32: cpu.idle = "-1": must be a number in [0, 1e9]`,
		`<device><item name="cpu.idle">NaN</item>`:                                                                      `byte 33: cpu.idle = "NaN": must be a number in [0, 1e9]`,
		`<device><item name="a">&bomb;</item>`:                                                                          "byte 29: line 1: invalid character entity &bomb;",
		`<device><item name="a">1</item><item name="a">1</item></device>`:                                               "byte 31: duplicate a",
		`<device><item name="a"><value>1</value></item></device>`:                                                       "byte 23: <value> is not allowed in <device><item>",
		`<device><item name="a">1</item></device>`:                                                                      "byte 40: has neither cpu.core_speeds.cluster0 nor cpu.speeds: one is required",
		"<device>" + speeds + "</device>":                                                                               "byte 8: cpu.core_speeds.cluster0 has 2 values and cpu.core_power.cluster0 0: must have equally many, from 1 to 255",
		`<device><array name="battery.capacity"><value>1</value><value>2</value></array></device>`:                      "byte 8: battery.capacity has 2 values: must have one",
		`<device><array name="cpu.active"><value>1</value><value>2</value></array></device>`:                            "byte 8: cpu.active has several values, but cpu.speeds is missing",
		"<device>" + speeds + `<array name="cpu.core_power.cluster0"><value>0</value><value>1</value></array></device>`: "byte 91: cpu.core_power.cluster0: a core at 100 kHz must draw a current",
		`<device><array name="cpu.speeds"><value>2</value><value>1</value></array><array name="cpu.active"><value>1</value><value>1</value></array></device>`: "byte 8: cpu.speeds: 1 kHz must be positive and above the clock before it",
		strings.Repeat(" ", maxPowerProfile+1): "byte 1048576: is longer than 1048576 bytes, the limit of a power profile",
	} {
		_, err := parsePowerProfile([]byte(text))
		var refused *PowerProfileError
		if !errors.As(err, &refused) || err.Error() != want {
			t.Errorf("%.80s:\n got %v\nwant %s", text, err, want)
		}
	}
	if _, err := readPowerProfile("testdata/none.xml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// Every accepted text describes a device that can compute.
func FuzzPowerProfile(f *testing.F) {
	text, err := os.ReadFile(sampleProfile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`<device><array name="cpu.speeds"><value>1e9</value></array><array name="cpu.active"><value>1</value></array></device>`))
	f.Add([]byte(`<?xml version="1.0" encoding="latin1"?><device><item name="battery.capacity">1</item></device>`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parsePowerProfile(text)
		if err != nil {
			var refused *PowerProfileError
			if !errors.As(err, &refused) || refused.Offset < 0 || refused.Offset > int64(len(text)) || refused.Reason == "" {
				t.Fatalf("refused by %T: %v", err, err)
			}
			return
		}
		finite := func(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }
		if p.ClockGHz <= 0 || p.ComputeW <= p.IdleW || !finite(p.ComputeW) || !finite(p.BatteryWh) || !finite(p.WiFiW) || !finite(p.CellularW) {
			t.Fatalf("%+v", p)
		}
		for i, s := range p.Steps {
			if !(s.Clock > 0 && s.Clock <= 1 && s.Power > 0) || i > 0 && s.Clock < p.Steps[i-1].Clock {
				t.Fatalf("%+v", p)
			}
		}
		if last := p.Steps[len(p.Steps)-1]; last != (Step{1, 1}) {
			t.Fatalf("%+v", p)
		}
	})
}

// The values of a power profile override the profile's, and the table's override both.
// Missing values come from the profile.
func TestDevicesWithAPowerProfile(t *testing.T) {
	cfg := Defaults()
	cfg.PowerProfile, cfg.ComputeW, cfg.FrequencyStep = sampleProfile, 2, 3
	if got := problems("devices", cfg.Validate); got != nil {
		t.Fatal(got)
	}
	from, _ := readPowerProfile(sampleProfile)
	got := cfg.Device()
	want := Profile{
		Name: "phone-2017", ClockGHz: 2.5, FlopsPerCycle: 3, IdleW: from.IdleW, ComputeW: 2, BatteryWh: from.BatteryWh,
		ChargeW: 5, Steps: from.Steps, WiFiW: from.WiFiW, CellularW: from.CellularW, Source: got.Source,
	}
	if d := cmp.Diff(want, got); d != "" || !strings.Contains(got.Source, `"Sample"`) {
		t.Error(d, got.Source)
	}
	cfg.FrequencyStep = 4
	if got := problems("devices", cfg.Validate); len(got) != 1 || !strings.HasPrefix(got[0], "devices.frequency_step = 4: must be one of the 3 steps") {
		t.Error(got)
	}
	cfg.PowerProfile = "testdata/none.xml"
	if d := cmp.Diff([]string{`devices.power_profile = "testdata/none.xml": cannot be read: no such file or directory`}, problems("devices", cfg.Validate)); d != "" {
		t.Error(d)
	}
	mustPanic(t, "has not been read", func() { cfg.Device() })
}
