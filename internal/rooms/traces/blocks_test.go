package traces

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
)

// brief is the length of a block in these tests, which need many blocks.
const brief = 60e9

// Look-ups in any order over many blocks agree with a walk from time 0. Availability
// changes at the end of each interval, also one that began in another block.
func TestBlocksAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.Float64Range(0.5, 100).Draw(t, "mean")
		presence := AvailabilityConfig{MeanUpS: mean, MeanDownS: rapid.Float64Range(0.5, 100).Draw(t, "down"),
			ZonesH: []float64{0, 5}}
		presence.Daily = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "daily")
		fading := FadingConfig{Levels: []float64{1, 2, 3}, MeanS: []float64{mean, 2, 5}}
		seed := rapid.Uint64().Draw(t, "seed")
		chains := func() (lookups [2]func(engine.Time) (float64, engine.Time)) {
			p, f := NewAvailability(presence, seed, 1), newFading(fading, seed, 1)
			p.length, f.length = brief, brief
			lookups[0] = func(at engine.Time) (float64, engine.Time) { return p.Lookup(Available, 0, at) }
			lookups[1] = func(at engine.Time) (float64, engine.Time) { return f.Level(0, at) }
			return lookups
		}
		walks, asked := chains(), chains()
		for which, walk := range walks {
			type interval struct {
				from, until engine.Time
				value       float64
			}
			const span = 20 * brief
			var seen []interval
			for at := engine.Time(0); at < span; {
				value, until := walk(at)
				if n := len(seen); which == 0 && n > 0 && seen[n-1].value == value {
					t.Fatalf("at %v the state is %v, as before: it must change", at, value)
				}
				seen = append(seen, interval{at, until, value})
				at = until
			}
			for range 30 {
				at := engine.Time(rapid.Int64Range(0, span-1).Draw(t, "t"))
				value, until := asked[which](at)
				for _, i := range seen {
					expect.Must(t, i.from > at || at >= i.until || value == i.value && until == i.until,
						"chain %d at %v: %v until %v, must be %v until %v", which, at, value, until, i.value, i.until)
				}
			}
		}
	})
}

// The states at the end of a block, and after it, agree with the closed form within four
// standard errors. States in two blocks are independent.
func TestBlocksKeepTheShares(t *testing.T) {
	const devices = 20_000
	p := NewAvailability(AvailabilityConfig{MeanUpS: 30, MeanDownS: 10, ZonesH: []float64{0}}, 3, devices)
	f := newFading(FadingConfig{Levels: []float64{0, 1}, MeanS: []float64{10, 30}}, 3, devices)
	p.length, f.length = brief, brief
	const want = 0.75
	near := func(got, want float64) bool { return math.Abs(got-want) <= 4*math.Sqrt(want*(1-want)/devices) }
	for name, at := range map[string]func(int, engine.Time) float64{
		"presence": func(k int, instant engine.Time) float64 { up, _ := p.Lookup(Available, k, instant); return up },
		"fading":   func(k int, instant engine.Time) float64 { level, _ := f.Level(k, instant); return level },
	} {
		for _, when := range []engine.Time{brief - 1, brief, brief + 20e9, 5 * brief} {
			sum, both := 0.0, 0.0
			for k := range devices {
				first, now := at(k, 0), at(k, when)
				sum += now
				both += first * now
			}
			share := sum / devices
			expect.That(t, near(share, want), "%s: the share at %v is %v, must be %v", name, when, share, want)
			if together := both / devices; when >= brief && !near(together, want*want) {
				t.Errorf("%s: the share at 0 and at %v is %v, must be %v", name, when, together, want*want)
			}
		}
	}
}

// The share of available devices at the hours of two days agrees with a chain in a
// single block within four standard errors.
func TestBlocksKeepTheDay(t *testing.T) {
	const devices = 3000
	c := AvailabilityConfig{MeanUpS: 7200, MeanDownS: 10800, Daily: 0.9, PeakHour: 2, ZonesH: []float64{5.5}}
	whole, cut := NewAvailability(c, 1, devices), NewAvailability(c, 2, devices)
	cut.length = 7 * hour
	for _, h := range []engine.Time{6, 7, 8, 14, 15, 28, 42, 46} {
		up := [2]float64{}
		for k := range devices {
			for i, p := range []*Availability{whole, cut} {
				value, _ := p.Lookup(Available, k, h*hour)
				up[i] += value / devices
			}
		}
		if off := math.Abs(up[0] - up[1]); off > 4*math.Sqrt(2*up[0]*(1-up[0])/devices) {
			t.Errorf("hour %d: %v of the devices are up, %v in one block", h, up[1], up[0])
		}
	}
}

// Look-ups at the end of virtual time, 10^13 intervals from its start, return at once.
// Passing through all intervals would take days.
func TestLookUpAfterCenturies(t *testing.T) {
	f := newFading(FadingConfig{Levels: []float64{1, 0.5}, MeanS: []float64{1e-3, 1e-3}}, 1, 1)
	p := NewAvailability(AvailabilityConfig{MeanUpS: 1e-3, MeanDownS: 1e-3, Daily: 0.5, ZonesH: []float64{0}}, 1, 1)
	for _, at := range []engine.Time{engine.Never / 2, engine.Never - 1, 0, engine.Never - 1} {
		_, until := f.Level(0, at)
		expect.That(t, until > at, "fading: the interval at %v ends at %v", at, until)
		_, until = p.Lookup(Available, 0, at)
		expect.That(t, until > at, "presence: the interval at %v ends at %v", at, until)
	}
}
