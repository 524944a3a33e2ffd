package network

import (
	"math"
	"testing"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"

	"pgregory.net/rapid"
)

// radioOf returns the radio of a profile with all its states.
func radioOf(t *testing.T, profile string) *Radio {
	return links(t, 1, func(n *Config) { n.Profile, n.Radio = profile, RadioStates }).Radio(0)
}

// One isolated packet costs 12.8 J on LTE, 7.4 J on 3G and 0.04 J on WiFi, including
// promotion and tail (Huang et al., MobiSys 2012).
func TestOnePacketCosts(t *testing.T) {
	for profile, want := range map[string]float64{"lte": 12.8, "3g": 7.4, "wifi": 0.04, "wifi-2012": 0.04} {
		l := links(t, 1, func(n *Config) { n.Profile, n.Radio = profile, RadioStates })
		r := l.Radio(0)
		const bytes = 64 // a small one: a full one costs 3 mJ more on WiFi
		way := l.Expected(Up, 0, bytes).Seconds()
		got := r.Promotion.Length.Seconds()*r.Promotion.Watts + way*r.Active(Up, bytes*8/1e6/way)
		for _, s := range r.Tail {
			got += s.Length.Seconds() * s.Watts
		}
		expect.That(t, math.Abs(got/want-1) <= 0.1, "%s: %g J, want %g within 10 %%", profile, got, want)
	}
}

// 3G: 4 s of DCH, 6 s of FACH, then asleep.
func TestTheTailOf3G(t *testing.T) {
	const s = engine.Time(1e9)
	r := radioOf(t, "3g")
	dch, fach := 0.8039, 0.6013 // W
	for _, c := range []struct {
		quiet  engine.Time
		rest   [Tails]State
		asleep bool
	}{
		{0, [Tails]State{{4 * s, dch}, {6 * s, fach}}, false},
		{3 * s, [Tails]State{{s, dch}, {6 * s, fach}}, false},
		{4 * s, [Tails]State{{0, dch}, {6 * s, fach}}, false},
		{10*s - 1, [Tails]State{{0, dch}, {1, fach}}, false},
		{10 * s, [Tails]State{{0, dch}, {0, fach}}, true},
		{engine.Never, [Tails]State{{0, dch}, {0, fach}}, true},
	} {
		if got := r.RemainingTail(c.quiet); got != c.rest {
			t.Errorf("%v after the last activity: %v, want %v", c.quiet, got, c.rest)
		}
		if got := r.Asleep(c.quiet); got != c.asleep {
			t.Errorf("%v after the last activity: asleep = %t", c.quiet, got)
		}
	}
	expect.That(t, r.TailDuration() == 10*s, "the tail lasts %v, want 10 s", r.TailDuration())
}

// The elapsed and the remaining part of a tail add up to the tail. A radio sleeps when
// nothing remains.
func TestTailsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Radio
		for i := range r.Tail {
			r.Tail[i].Length = engine.Time(rapid.Int64Range(0, 100).Draw(t, "length"))
		}
		quiet := engine.Time(rapid.Int64Range(0, 250).Draw(t, "quiet"))
		left := engine.Time(0)
		for _, s := range r.RemainingTail(quiet) {
			expect.Must(t, s.Length >= 0, "%v is left of a state", s.Length)
			left += s.Length
		}
		if want := max(0, r.TailDuration()-quiet); left != want || r.Asleep(quiet) != (want == 0) {
			t.Fatalf("%v is left, want %v; asleep = %t", left, want, r.Asleep(quiet))
		}
	})
}

// With radio = "active", and on a wire, there is only the active state.
func TestRadiosWithoutStates(t *testing.T) {
	for _, l := range []*Links{
		links(t, 1, func(*Config) {}),
		links(t, 1, func(n *Config) { n.Profile, n.Radio = "ethernet", RadioStates }),
	} {
		r := l.Radio(0)
		expect.That(t, r.TailDuration() == 0 && r.Promotion.Length == 0 && r.Asleep(0),
			"%s: %+v", l.Profile(0).Name, *r)
	}
}
