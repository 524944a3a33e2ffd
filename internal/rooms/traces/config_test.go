package traces

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

func TestConfigDefaultsAreValidAndTellNothing(t *testing.T) {
	c := Default()
	check := config.NewChecker()
	if c.Validate(check); len(check.Problems()) > 0 {
		t.Errorf("the defaults have %v", check.Problems())
	}
	sets, err := c.Load()
	expect.That(t, err == nil && len(sets) == 0, "loads %v (%v)", sets, err)
	have := c.Source(sets, 1, 10).Kinds()
	expect.That(t, have == 0, "the source has %v", have)
}

func TestConfigReportsAll(t *testing.T) {
	c := Config{
		Files: []string{""}, Assignment: "in-ordre",
		Availability: AvailabilityConfig{MeanUpS: -1, MeanDownS: 0, Daily: 2, PeakHour: 24, ZonesH: []float64{15}},
		Fading:       FadingConfig{Levels: []float64{1, 0, 2e6}, MeanS: []float64{1, 0}},
	}
	check := config.NewChecker()
	c.Validate(check.In("traces"))
	c.Availability.ZonesH = nil
	c.Availability.Validate(check)
	c.Fading = FadingConfig{MeanS: []float64{1}}
	c.Fading.Validate(check)
	var keys []string
	for _, p := range check.Problems() {
		keys = append(keys, p.Key)
	}
	want := []string{"traces.files", "traces.assignment",
		"traces.availability.mean_up_s", "traces.availability.mean_down_s", "traces.availability.daily",
		"traces.availability.peak_hour", "traces.availability.zones_h", "traces.fading.levels[1]",
		"traces.fading.levels[2]", "traces.fading.mean_s", "traces.fading.mean_s[1]", "mean_up_s", "mean_down_s",
		"daily", "peak_hour", "zones_h", "mean_s"}
	diff := cmp.Diff(want, keys)
	expect.That(t, diff == "", "-want +got:\n%s", diff)
}

// A source combines two csv files and generated availability.
func TestConfigSources(t *testing.T) {
	battery := filetest.New(t, "b.csv", csvHeader+"\na,0,battery_level,1\na,50,battery_level,0.5\na,100,end,\n")
	c := Default()
	capacity := csvHeader
	for _, name := range []string{"a", "b", "c", "d"} {
		rate, speed := "5.7", "1"
		if name == "b" {
			rate, speed = "1.024", "2"
		}
		capacity += fmt.Sprintf(
			"\n%[1]s,0,down_mbps,%[2]s\n%[1]s,0,up_mbps,%[2]s\n%[1]s,0,speed,%[3]s\n%[1]s,86400,end,", name, rate,
			speed)
	}
	c.Files = []string{filetest.New(t, "c.csv", capacity), battery}
	c.Availability.MeanUpS, c.Availability.MeanDownS = 100, 100
	sets := expect.Value(c.Load())(t)
	s := c.Source(sets, 3, 10)
	if got := s.Kinds().String(); got != "available, battery_level, down_mbps, up_mbps, speed" {
		t.Errorf("the source has %s", got)
	}
	presence := NewAvailability(c.Availability, 3, 10)
	for _, want := range []struct {
		k      Kind
		device int
		at     engine.Time
		value  float64
		until  engine.Time
	}{
		{Speed, 5, 0, 2, engine.Never}, // device 5 of four is trace 1
		{DownMbps, 1, 1e15, 1.024, engine.Never},
		{BatteryLevel, 7, 130e9, 1, 150e9},
		{BatteryLevel, 7, 150e9, 0.5, 200e9},
	} {
		if value, until := s.Lookup(want.k, want.device, want.at); value != want.value || until != want.until {
			t.Errorf("%v of device %d at %v: %v until %v, must be %v until %v", want.k, want.device, want.at, value,
				until, want.value, want.until)
		}
	}
	for device := range 10 {
		a, b := s.Lookup(Available, device, hour)
		x, y := presence.Lookup(Available, device, hour)
		if up, until := s.Available(device, hour); up != (x == 1) || until != y {
			t.Errorf("device %d is available: %v until %v, must be %v until %v", device, up, until, x, y)
		}
		expect.That(t, a == x && b == y, "device %d: %v until %v, must be %v until %v", device, a, b, x, y)
	}
	// The combined source repeats like its parts: a thousand periods give a thousand
	// times the area of one.
	if got := area(s, BatteryLevel, 0, 0, 100_000e9); got != 75_000 {
		t.Errorf("area %v, must be 75000", got)
	}
	defer func() {
		expect.That(t, recover() != nil, "a kind that is not there is answered")
	}()
	s.Lookup(Charging, 0, 0)
}

func TestConfigHoldsWithoutWrap(t *testing.T) {
	c := Default()
	c.Wrap = false
	c.Files =
		[]string{filetest.New(t, "b.csv", csvHeader+"\na,0,battery_level,1\na,50,battery_level,0.5\na,100,end,\n")}
	sets := expect.Value(c.Load())(t)
	value, until := c.Source(sets, 3, 1).Lookup(BatteryLevel, 0, 130e9)
	expect.That(t, value == 0.5 && until == engine.Never, "%v until %v, must be 0.5 forever", value, until)
}

func TestConfigLoadRefuses(t *testing.T) {
	const one = csvHeader + "\na,0,available,1\na,100,end,\n"
	for _, c := range []struct {
		files  []string
		meanUp float64
		want   string
	}{
		{[]string{"none.csv"}, 0, "none.csv: no such file"},
		{[]string{filetest.New(t, "x.csv", one), filetest.New(t, "y.csv", one)}, 0,
			"y.csv: available has another source"},
		{[]string{filetest.New(t, "x.csv", one)}, 5,
			"x.csv: available has another source (a file or traces.availability)"},
		{[]string{filetest.New(t, "x.csv", csvHeader+"\n")}, 0, "x.csv: has a header but no rows"},
		{[]string{filetest.New(t, "x.json", `{"a": 1}`)}, 0,
			"x.json: is not a trace: must be a csv with the header device,time_s,kind,value or a csv of Electricity " +
				"Maps; python -m pyfedsim.traces converts files of FedScale and FLASH"},
		{[]string{filetest.New(t, "x.csv", mapsHeader+mapsRow+strings.Replace(mapsRow, "00:", "01:", 1))}, 0,
			"x.csv: has grid_g_per_kwh, of places and not of devices"},
	} {
		d := Default()
		d.Files, d.Availability.MeanUpS = c.files, c.meanUp
		_, err := d.Load()
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "%v: %v, must say %q", c.files, err, c.want)
	}
}

func TestPlugged(t *testing.T) {
	j := expect.Value(Combine(NewView(only(t, 100, Charging, Step{0, 0}, Step{30, 1}, Step{60, 0}), InOrder, 0, true)))(
		t)
	for at, want := range map[engine.Time]struct {
		plugged bool
		change  engine.Time
	}{0: {false, 30}, 29: {false, 30}, 30: {true, 60}, 60: {false, 130}, 730: {true, 760}} {
		if plugged, change := j.PluggedIn(3, at); plugged != want.plugged || change != want.change {
			t.Errorf("at %d: %v until %d, must be %v until %d", at, plugged, change, want.plugged, want.change)
		}
	}
}

func TestJoinRefusesTwoOfAKind(t *testing.T) {
	a := NewAvailability(SynthesisDefaults().Availability, 1, 1)
	_, err := Combine(a, a)
	expect.That(t, err != nil && err.Error() == "available has two sources: must have one", "got %v", err)
}

func TestSynthesisReportsAll(t *testing.T) {
	s := SynthesisDefaults()
	check := config.NewChecker()
	if s.Validate(check); len(check.Problems()) > 0 {
		t.Errorf("the defaults have %v", check.Problems())
	}
	s = Synthesis{Availability: DefaultAvailability(), ChargeH: -1, PlugHour: -1, ChargeSpreadH: 13, DownMbps: -1,
		UpMbps: -1, RateCV: -1}
	s.Validate(check)
	var keys []string
	for _, p := range check.Problems() {
		keys = append(keys, p.Key)
	}
	want := []string{"devices", "days", "mean_up_s", "charge_h", "plug_hour", "charge_spread_h", "down_mbps", "up_mbps",
		"rate_cv", "rate_s"}
	diff := cmp.Diff(want, keys)
	expect.That(t, diff == "", "-want +got:\n%s", diff)
}

// Generated traces have the configured means. For 400 devices and 30 days, the share of
// time available has the variance 2 tau p (1 - p)/T with p = 1/4 and tau = 1.5 h, 0.0014
// squared. The deviation of charging is a hundredth of an hour. That of the mean rate,
// which holds a quarter of an hour, is 0.45 sqrt(2/(400*2880)), 6e-4 of it.
func TestSynthesisMeans(t *testing.T) {
	s := SynthesisDefaults()
	s.Devices, s.Days, s.ChargeH, s.DownMbps, s.UpMbps = 400, 30, 7, 20, 5
	s.Availability.Daily, s.Availability.ZonesH = 0, []float64{-8, 0, 5.5}
	stats := expect.Value(Summarize(Synthesize(s)))(t)
	for i, want := range []struct {
		kind  Kind
		mean  float64
		error float64
	}{{Available, 2. / (2 + 6), 0.006}, {Charging, 7.0 / 24, 0.002}, {DownMbps, 20, 20 * 0.003},
		{UpMbps, 5, 5 * 0.003}} {
		k := stats.Kinds[i]
		expect.That(t, k.Kind == want.kind && k.Mean >= want.mean-want.error && k.Mean <= want.mean+want.error,
			"%v has mean %v: must be %v %v within %v", k.Kind, k.Mean, want.kind, want.mean, want.error)
	}
}
