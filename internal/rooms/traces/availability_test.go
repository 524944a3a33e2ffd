package traces

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	_ "fedsim/internal/tools/rapidseed"
)

// A lazy source returns the intervals that Synthesize writes to a file, in any order of
// look-ups.
func TestAvailabilityAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := SynthesisDefaults()
		s.Devices, s.Days, s.Seed = 3, 20, rapid.Uint64().Draw(t, "seed")
		s.Availability.MeanUpS = rapid.Float64Range(600, 1e5).Draw(t, "up")
		s.Availability.MeanDownS = rapid.Float64Range(600, 1e5).Draw(t, "down")
		s.Availability.Daily = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "daily")
		s.Availability.ZonesH = []float64{0, -8, 5.5}
		set := collected(t, Synthesize(s))
		file, lazy := NewView(set, InOrder, 0, false), NewAvailability(s.Availability, s.Seed, 3)
		span := engine.FromSeconds(s.Days * 86400)
		for range 50 {
			device := rapid.IntRange(0, 2).Draw(t, "device")
			at := engine.Time(rapid.Int64Range(0, int64(span)-1).Draw(t, "t"))
			want, until := file.Lookup(Available, device, at)
			got, next := lazy.Lookup(Available, device, at)
			expect.Must(t, got == want && (next == until || until == engine.Never && next >= span),
				"device %d at %v: %v until %v, the file has %v until %v", device, at, got, next, want, until)
		}
	})
}

// The intervals are exponential. The mean of n such numbers is within 1/sqrt(n) of the
// mean, their standard deviation within sqrt(2/n) (fourth moment 24).
func TestIntervalLengths(t *testing.T) {
	const devices, each = 20, 1000
	c := AvailabilityConfig{MeanUpS: 600, MeanDownS: 1800, ZonesH: []float64{0}}
	p := NewAvailability(c, 5, devices)
	var n, sums, squares [2]float64
	for device := range devices {
		at := engine.Time(0)
		for i := range each {
			value, until := p.Lookup(Available, device, at)
			if length := (until - at).Seconds(); i > 0 {
				n[int(value)]++
				sums[int(value)] += length
				squares[int(value)] += length * length
			}
			at = until
		}
	}
	for up, want := range []float64{1800, 600} {
		mean := sums[up] / n[up]
		deviation := math.Sqrt(squares[up]/n[up] - mean*mean)
		if math.Abs(mean/want-1) > 4/math.Sqrt(n[up]) || math.Abs(deviation/want-1) > 4*math.Sqrt(2/n[up]) {
			t.Errorf("up %d: mean %v and deviation %v of %v intervals, must both be %v", up, mean, deviation, n[up],
				want)
		}
	}
}

// The share of devices that are available at each hour of the first and of a later day
// agrees with the solution of the chain's equation. The solution uses small steps from
// an arbitrary state a month before.
func TestAvailabilityDaily(t *testing.T) {
	const devices = 5000
	for _, c := range []AvailabilityConfig{
		{MeanUpS: 7200, MeanDownS: 21600, Daily: 0.8, PeakHour: 2, ZonesH: []float64{0}},
		{MeanUpS: 86400, MeanDownS: 43200, Daily: 1, PeakHour: 20, ZonesH: []float64{-8}},
		{MeanUpS: 100, MeanDownS: 300, Daily: 0.5, PeakHour: 12, ZonesH: []float64{5.5}},
		{MeanUpS: 3600, MeanDownS: 3600, Daily: 0, PeakHour: 12, ZonesH: []float64{0, 3}},
	} {
		share := map[int]float64{}
		x := 0.5
		const step = 1.0 // second
		for s := -30 * 86400; s <= 86400; s++ {
			if s >= 0 && s%3600 == 0 {
				share[s/3600] = x
			}
			wave := c.Daily * math.Cos(2*math.Pi*((float64(s)+0.5)/3600+c.ZonesH[0]-c.PeakHour)/24)
			x += step * ((1-x)*(1+wave)/c.MeanDownS - x*(1-wave)/c.MeanUpS)
		}
		p := NewAvailability(c, 11, devices)
		for _, h := range []int{0, 5, 9, 14, 20, 24, 24 + 5} {
			up := 0.0
			for device := range devices {
				value, _ := p.Lookup(Available, device, engine.Time(h)*hour)
				up += value
			}
			want := share[h%24]
			// The error of a step of one second is less than a hundredth of the shortest
			// mean.
			if got := up / devices; math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/devices)+0.002 {
				t.Errorf("%+v: %v are up at hour %d, must be %v", c, got, h, want)
			}
		}
	}
}

// Look-ups jump a year ahead, to the end of time and back.
func TestAvailabilityFarAhead(t *testing.T) {
	c := AvailabilityConfig{MeanUpS: 600, MeanDownS: 600, Daily: 0.5, ZonesH: []float64{0}}
	p, stepwise := NewAvailability(c, 1, 1), NewAvailability(c, 1, 1)
	early, until := p.Lookup(Available, 0, 0)
	const year = 365 * 24 * hour
	got, next := p.Lookup(Available, 0, year)
	at := engine.Time(0)
	var want float64
	for at <= year {
		want, at = stepwise.Lookup(Available, 0, at)
	}
	expect.That(t, got == want && next == at,
		"after a year: %v until %v, step by step %v until %v", got, next, want, at)
	if again, next := p.Lookup(Available, 0, 0); again != early || next != until {
		t.Errorf("back at the start: %v until %v, was %v until %v", again, next, early, until)
	}
	slow := NewAvailability(AvailabilityConfig{MeanUpS: 1e9, MeanDownS: 1e9, ZonesH: []float64{0}}, 1, 1)
	if _, until := slow.Lookup(Available, 0, engine.Never-1); until != engine.Never {
		t.Errorf("an interval at the end of time ends at %v, must be never", until)
	}
}

// A device's intervals depend only on its number and the seed.
func TestAvailabilityDependsOnDeviceAndSeed(t *testing.T) {
	c := SynthesisDefaults().Availability
	few, many, other := NewAvailability(c, 1, 2), NewAvailability(c, 1, 100), NewAvailability(c, 2, 2)
	differ := false
	for at := engine.Time(0); at < 240*hour; at += hour {
		a, _ := few.Lookup(Available, 1, at)
		if b, _ := many.Lookup(Available, 1, at); a != b {
			t.Fatalf("at %v device 1 of 2 is %v, of 100 %v", at, a, b)
		}
		b, _ := other.Lookup(Available, 1, at)
		differ = differ || a != b
	}
	expect.That(t, differ, "two seeds make the same ten days")
}

func TestAvailabilityAllocatesNothing(t *testing.T) {
	p := NewAvailability(SynthesisDefaults().Availability, 1, 100)
	at := engine.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		at += hour
		p.Lookup(Available, int(at%97), at)
	}); n != 0 {
		t.Errorf("%v allocations per look-up, must be none", n)
	}
}

// BenchmarkAvailability compares a look-up in the same interval with one in the next.
func BenchmarkAvailability(b *testing.B) {
	for name, daily := range map[string]float64{"markov": 0, "daily": 0.8} {
		c := SynthesisDefaults().Availability
		c.Daily = daily
		b.Run(name+"/same", func(b *testing.B) {
			p := NewAvailability(c, 1, 1)
			for b.Loop() {
				p.Lookup(Available, 0, 1)
			}
		})
		b.Run(name+"/next", func(b *testing.B) {
			p := NewAvailability(c, 1, 1)
			at := engine.Time(0)
			for b.Loop() {
				if _, at = p.Lookup(Available, 0, at); at == engine.Never {
					at = 0
				}
			}
		})
	}
}

// A level is the table that it stands for, and none generates nothing.
func TestLevelOfAvailability(t *testing.T) {
	level, own := DefaultAvailability(), DefaultAvailability()
	level.Level, own.MeanUpS, own.MeanDownS, own.Daily = "severe", 600, 5400, 0.8
	a, b := NewAvailability(level, 7, 3), NewAvailability(own, 7, 3)
	for i := range 300 {
		at := engine.FromSeconds(float64(i) * 333)
		x, to := a.Lookup(Available, i%3, at)
		y, until := b.Lookup(Available, i%3, at)
		expect.Must(t, x == y && to == until, "at %v: %v until %v, want %v until %v", at, x, to, y, until)
	}
	if own.Level = "none"; !level.Generated() || (&AvailabilityConfig{Level: "none"}).Generated() {
		t.Error("a level generates the wrong availability")
	}
}

// docs/time.md has the measures of the levels.
func TestMeasuresOfLevels(t *testing.T) {
	page := string(filetest.Read(t, "../../../docs/time.md"))
	for _, level := range Levels[1:] {
		s := SynthesisDefaults()
		s.Seed, s.Days, s.Availability = 1, 7, DefaultAvailability()
		s.Availability.Level = level
		stats := expect.Value(Summarize(Synthesize(s)))(t)
		row := fmt.Sprintf("| `%s` | %.3g %% | %.3f | %.4g |", level, 100*stats.Kinds[0].Mean, stats.StatMCR,
			stats.StatMCT)
		expect.That(t, strings.Contains(page, row), "docs/time.md has no row %s", row)
	}
}
