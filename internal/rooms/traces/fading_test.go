package traces

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// Look-ups in any order agree with a walk from time 0.
func TestFadingAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "levels")
		c := FadingConfig{}
		for i := range n {
			c.Levels = append(c.Levels, 1/float64(i+1))
			c.MeanS = append(c.MeanS, rapid.Float64Range(0.5, 60).Draw(t, "mean"))
		}
		seed, device := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 2).Draw(t, "device")
		walk, asked := newFading(c, seed, 3), newFading(c, seed, 3)
		type interval struct {
			from, until engine.Time
			level       float64
		}
		const span = 600e9
		var seen []interval
		for at := engine.Time(0); at < span; {
			level, until := walk.Level(device, at)
			seen = append(seen, interval{at, until, level})
			at = until
		}
		for range 50 {
			at := engine.Time(rapid.Int64Range(0, span-1).Draw(t, "t"))
			got, until := asked.Level(device, at)
			for _, i := range seen {
				expect.Must(t, i.from > at || at >= i.until || got == i.level && until == i.until,
					"at %v: %v until %v, must be %v until %v", at, got, until, i.level, i.until)
			}
		}
	})
}

// The share of devices at each level, at the start, later and after many changes, agrees
// with the closed form within four standard errors.
func TestFadingShares(t *testing.T) {
	const devices = 10_000
	for _, c := range []struct {
		config FadingConfig
		want   []float64
	}{
		{FadingConfig{[]float64{1, 0.3, 0.05}, []float64{60, 20, 10}}, []float64{60. / 110, 40. / 110, 10. / 110}},
		{FadingConfig{[]float64{1, 0.5}, []float64{30, 10}}, []float64{0.75, 0.25}},
		{FadingConfig{[]float64{1, 2, 3, 4}, []float64{5, 5, 5, 5}}, []float64{1. / 6, 2. / 6, 2. / 6, 1. / 6}},
		{FadingConfig{[]float64{7}, []float64{5}}, []float64{1}},
	} {
		f := newFading(c.config, 4, devices)
		for _, at := range []engine.Time{0, 15e9, 500e9} {
			counts := map[float64]float64{}
			for device := range devices {
				level, _ := f.Level(device, at)
				counts[level]++
			}
			for i, want := range c.want {
				got := counts[c.config.Levels[i]] / devices
				expect.That(t, math.Abs(got-want) <= 4*math.Sqrt(want*(1-want)/devices),
					"%+v: %v of the devices are at level %d at %v, must be %v", c.config, got, i, at, want)
			}
		}
	}
}

// The times at each level are exponential: mean and deviation are within four standard
// errors (see TestIntervalLengths). From a middle level, up and down are equally
// frequent, and only neighbors are reached.
func TestFadingIntervals(t *testing.T) {
	const each = 60_000
	c := FadingConfig{[]float64{1, 2, 3, 4}, []float64{60, 20, 10, 5}}
	f := newFading(c, 8, 1)
	var n, sums, squares, up [4]float64
	level, at := f.Level(0, 0)
	for range each {
		next, until := f.Level(0, at)
		length := (until - at).Seconds()
		expect.Must(t, math.Abs(next-level) == 1, "from level %v to %v", level, next)
		if next > level {
			up[int(level)-1]++
		}
		i := int(next) - 1
		n[i]++
		sums[i] += length
		squares[i] += length * length
		level, at = next, until
	}
	for i, want := range c.MeanS {
		mean := sums[i] / n[i]
		deviation := math.Sqrt(squares[i]/n[i] - mean*mean)
		expect.That(t, math.Abs(mean/want-1) <= 4/math.Sqrt(n[i]) && math.Abs(deviation/want-1) <= 4*math.Sqrt(2/n[i]),
			"level %d: mean %v and deviation %v of %v intervals, must both be %v", i, mean, deviation, n[i], want)
	}
	for _, i := range []int{1, 2} {
		if share := up[i] / n[i]; math.Abs(share-0.5) > 4*0.5/math.Sqrt(n[i]) {
			t.Errorf("%v of the ways from level %d lead up, must be half", share, i)
		}
	}
}

// Fading depends only on the device's number and the seed.
func TestFadingDependsOnDeviceAndSeed(t *testing.T) {
	c := FadingConfig{[]float64{1, 0.1}, []float64{100, 100}}
	few, many, other := newFading(c, 1, 2), newFading(c, 1, 100), newFading(c, 2, 2)
	differ := false
	for at := engine.Time(0); at < 10*hour; at += hour / 60 {
		a, _ := few.Level(1, at)
		if b, _ := many.Level(1, at); a != b {
			t.Fatalf("at %v device 1 of 2 is at %v, of 100 at %v", at, a, b)
		}
		b, _ := other.Level(1, at)
		differ = differ || a != b
	}
	expect.That(t, differ, "two seeds make the same ten hours")
}

// Fading multiplies a traced rate, or the usual rate, and changes when either changes. A
// chain with one level is constant.
func TestFadingOfTracedRates(t *testing.T) {
	text := csvHeader + "\na,0,down_mbps,10\na,7,down_mbps,20\na,30,end,\n"
	c := Default()
	c.Files = []string{filetest.New(t, "x.csv", text)}
	sets := expect.Value(c.Load())(t)
	plain := c.Source(sets, 1, 2)
	c.Fading = FadingConfig{[]float64{1, 0.3}, []float64{4, 9}}
	faded, chain := c.Source(sets, 1, 2), newFading(c.Fading, 1, 2)
	c.Fading = FadingConfig{[]float64{0.5}, []float64{1}}
	half := c.Source(sets, 1, 2)
	for at := engine.Time(0); at < 100e9; at += 37e7 {
		level, next := chain.Level(1, at)
		want, until := plain.Downlink(1, 3, at)
		if got, ends := half.Downlink(1, 3, at); got != want/2 || ends != until {
			t.Fatalf("at %v: a level of a half gives %v until %v, must be %v until %v", at, got, ends, want/2, until)
		}
		if got, ends := faded.Downlink(1, 3, at); got != want*level || ends != min(until, next) {
			t.Fatalf("at %v: %v until %v, must be %v until %v", at, got, ends, want*level, min(until, next))
		}
		if got, ends := faded.Uplink(1, 3, at); got != 3*level || ends != next {
			t.Fatalf("at %v up: %v until %v, must be %v until %v", at, got, ends, 3*level, next)
		}
	}
	if got, ends := half.Uplink(0, 3, 5); got != 1.5 || ends != engine.Never {
		t.Errorf("%v until %v, must be 1.5 forever", got, ends)
	}
	none := Default()
	expect.That(t, !none.Source(nil, 1, 2).HasRates() && plain.HasRates() && half.HasRates(),
		"who says that rates change is another")
}

// Look-ups jump to the end of time.
func TestFadingFarAhead(t *testing.T) {
	f := newFading(FadingConfig{[]float64{1, 2}, []float64{1e9, 1e9}}, 1, 1)
	_, until := f.Level(0, engine.Never-1)
	expect.That(t, until == engine.Never, "an interval at the end of time ends at %v, must be never", until)
	_, until = f.Level(0, 0)
	expect.That(t, until != engine.Never, "the first interval does not end")
}

func TestFadingAllocatesNothing(t *testing.T) {
	f := newFading(FadingConfig{[]float64{1, 0.3, 0.05}, []float64{60, 20, 10}}, 1, 97)
	at := engine.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		at += 60e9
		f.Level(int(at/60e9)%97, at)
	}); n != 0 {
		t.Errorf("%v allocations per look-up, must be none", n)
	}
}

// BenchmarkFading compares a look-up in the same interval with one in the next.
func BenchmarkFading(b *testing.B) {
	c := FadingConfig{[]float64{1, 0.3, 0.05}, []float64{60, 20, 10}}
	b.Run("same", func(b *testing.B) {
		f := newFading(c, 1, 1)
		for b.Loop() {
			f.Level(0, 1)
		}
	})
	b.Run("next", func(b *testing.B) {
		f := newFading(c, 1, 1)
		at := engine.Time(0)
		for b.Loop() {
			if _, at = f.Level(0, at); at == engine.Never {
				at = 0
			}
		}
	})
}
