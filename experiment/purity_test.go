package experiment

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/expect"
)

// cheat is a model whose values depend on earlier calls: a device is hot from its third call for a later time on, as
// if it had been at work since.
type cheat struct {
	last  []engine.Time
	calls []int
}

func newCheat(n int) *cheat { return &cheat{make([]engine.Time, n), make([]int, n)} }

func (c *cheat) hot(device int, at engine.Time) (bool, engine.Time) {
	if at > c.last[device] {
		c.last[device] = at
		c.calls[device]++
	}
	return c.calls[device] > 2, at.Add(engine.FromSeconds(0.5))
}

func (c *cheat) Speed(device int, at engine.Time) (float64, engine.Time) {
	if hot, until := c.hot(device, at); !hot {
		return 1, until
	}
	return 0.5, engine.Never
}

func (c *cheat) Pace(device int, _ devices.State, _ devices.Use, at engine.Time) (float64, float64, engine.Time) {
	factor, until := c.Speed(device, at)
	return factor, 1, until
}

func (c *cheat) After(_ int, s devices.State, _ devices.Use, _, _ engine.Time) devices.State {
	return s
}

func (c *cheat) Available(device int, at engine.Time) (bool, engine.Time) {
	hot, until := c.hot(device, at)
	return !hot || c.calls[device]%2 == 0, until
}

func (c *cheat) PluggedIn(device int, at engine.Time) (bool, engine.Time) {
	return c.Available(device, at)
}

func (c *cheat) Downlink(device int, usual float64, at engine.Time) (float64, engine.Time) {
	factor, until := c.Speed(device, at)
	return usual * factor, until
}

func (c *cheat) Uplink(device int, usual float64, at engine.Time) (float64, engine.Time) {
	return c.Downlink(device, usual, at)
}

// A model whose values depend on earlier calls ends its run with an error that shows two of them.
func TestModelsThatRememberCallsAreRefused(t *testing.T) {
	const again = ` when asked again in another order: a value must depend on seed, options, ` +
		`device and time alone(\. What depends on work is a devices\.Machine|, and the state that it is given)? ` +
		`\(docs/extend\.md\)$`
	for want, set := range map[string][]string{
		`device model "beat": Speed\(\d+, [\d.e-]+ s\) was 0\.5 until never in the run and 1 until [\d.]+ ` +
			`s`: {beatingDevices, "devices.model_options.of=memory"},
		`device model "beat": Available\(\d+, [\d.]+ s\) was (true|false) until [\d.]+ s in the run and (true|false) ` +
			`until`: {beatingDevices, "devices.model_options.of=memory-presence"},
		`device model "beat": PluggedIn\(\d+, [\d.]+ s\) was (true|false) until [\d.]+ s in the run and (true|false) ` +
			`until`: {beatingDevices, "devices.model_options.of=memory-charging", "devices.battery.wh=0.001",
			"devices.charging.watts=1"},
		`device model "beat": Pace\(\d+, \[0 0\], use 2, [\d.e-]+ s\) was speed (0\.5|1) and power 1 until .* in the ` +
			`run and speed (0\.5|1) and power 1 until`: {beatingDevices, "devices.model_options.of=memory-machine"},
		`link model "beat": (Down|Up)link\(\d+, [\d.]+ s\) was 0\.00\d+ until never in the run and 0\.0\d+ until ` +
			`[\d.]+ s`: {beatingLinks, "network.model_options.of=memory"},
	} {
		_, err := gather(t.Context(), parse(t, slow, append(set, "run.rounds=8")...), Options{Workers: 2})
		expect.That(t, err != nil && regexp.MustCompile(want+`.*`+again).MatchString(err.Error()),
			"%v, want %s", err, want)
	}
}

// Calls are kept of devices that are evenly spaced, evenly spaced over the run, and without allocations.
func TestWatchedCallsAreEvenlySpaced(t *testing.T) {
	failed := errors.New("no second instance")
	w := newWatch("a model", 1000, func() (any, error) { return nil, failed })
	at := engine.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		for device := range 1000 {
			w.note(device, call{method: "Speed", at: at, until: engine.Never})
		}
		at++
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
	if len(w.calls) != 63 || w.apart != 16 { // 0, 16, ..., 992
		t.Fatalf("%d devices, %d apart", len(w.calls), w.apart)
	}
	for _, of := range w.calls { // 1001 calls: each 16th
		expect.Must(t, len(of.list) == 63 && of.every == 16 && of.list[1].at == 16 && of.list[62].at == 992,
			"%d calls, each %dth: %+v", len(of.list), of.every, of.list)
	}
	if err := w.check(true, nil); !errors.Is(err, failed) ||
		err.Error() != fmt.Sprintf("starting a model again: %v", failed) {
		t.Error(err)
	}
}
