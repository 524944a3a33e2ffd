package devices

import (
	"math"
	"testing"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
)

// phone-2017: 2 GHz at 3 FLOP per cycle, so 3e9 FLOPs take half a second.
func TestComputeTime(t *testing.T) {
	f := NewProcessors(Defaults(), 3, 1)
	for device := range f.Len() {
		if f.Rate(device) != 6e9 || f.ComputeTime(device, Work{FLOPs: 3e9}) != 500_000_000 ||
			f.ComputeTime(device, Work{FLOPs: 0}) != 0 {
			t.Errorf("device %d: %g FLOP/s, 3e9 FLOPs in %v", device, f.Rate(device),
				f.ComputeTime(device, Work{FLOPs: 3e9}))
		}
		expect.That(t, f.IdlePower(device) == 0.3 && f.ComputePower(device, false) == 1.95,
			"device %d: %g W idle, %g W computing", device, f.IdlePower(device), f.ComputePower(device, false))
	}
	got := f.ComputeTime(0, Work{FLOPs: math.Inf(1)})
	expect.That(t, got == engine.Never, "infinite work takes %v", got)
}

// The mean is within four standard errors: w/sqrt(3n) for a uniform number in [1-w,
// 1+w], w/sqrt(n) for sigma/mu = w.
func TestSpread(t *testing.T) {
	const n = 20_000
	for spread, standard := range map[string]float64{Uniform: 0.6 / math.Sqrt(3), LogNormal: 0.6} {
		cfg := Defaults()
		cfg.Spread, cfg.SpreadWidth = spread, 0.6
		f := NewProcessors(cfg, n, 4)
		var sum, squares float64
		for d := range n {
			x := f.Rate(d) / f.Profile(d).Rate()
			expect.Must(t, x > 0 && (spread != Uniform || x >= 0.4 && x <= 1.6),
				"%s: device %d is %g times as fast as its profile", spread, d, x)
			sum += x
			squares += (x - 1) * (x - 1)
		}
		mean := sum / n
		expect.That(t, math.Abs(mean-1) <= 4*standard/math.Sqrt(n), "%s: mean %g, want 1", spread, mean)
		// 10 % is far more than the sampling error of either variance, and far less than
		// the effect of confusing w with sigma or a half-width.
		sd := math.Sqrt(squares / n)
		expect.That(t, math.Abs(sd/standard-1) <= 0.1, "%s: standard deviation %g, want %g", spread, sd, standard)
	}
}

func TestFleetGrowsWithoutChangingItsDevices(t *testing.T) {
	cfg := Defaults()
	cfg.Spread, cfg.SpreadWidth = Uniform, 0.5
	small, large, other := NewProcessors(cfg, 5, 1), NewProcessors(cfg, 50, 1), NewProcessors(cfg, 5, 2)
	for d := range small.Len() {
		expect.That(t, small.Rate(d) == large.Rate(d),
			"device %d: %g FLOP/s among 5, %g among 50", d, small.Rate(d), large.Rate(d))
		expect.That(t, small.Rate(d) != other.Rate(d), "device %d: %g FLOP/s under two seeds", d, small.Rate(d))
	}
}

// Half the clock needs 0.5 x 0.8^2 of the power beyond idling. So work takes 0.64 of the
// dynamic energy and twice the time. A device without a profile is not slowed down.
func TestSlowProcessors(t *testing.T) {
	cfg := Defaults()
	for _, c := range []struct {
		idle, full, watts float64
	}{{0.3, 1.95, 0.3 + 0.32*1.65}, {2, 4, 2 + 0.32*2}} {
		cfg.IdleW, cfg.ComputeW = c.idle, c.full
		f := NewProcessors(cfg, 1, 1)
		if w := f.ComputePower(0, true); math.Abs(w-c.watts) > 1e-12 || f.ComputePower(0, false) != c.full ||
			f.Slowdown(0, true) != 2 || f.Slowdown(0, false) != 1 {
			t.Errorf("%g W, %g W slowed down, want %g; %g times as long", f.ComputePower(0, false), w, c.watts,
				f.Slowdown(0, true))
		}
	}
	f := NewMixedProcessors(cfg,
		Mix{Profiles: []Profile{{ClockGHz: 1, FlopsPerCycle: 1, IdleW: 1, ComputeW: 3}}, Class: []uint8{0}}, 1)
	expect.That(t, f.ComputePower(0, true) == 3 && f.Slowdown(0, true) == 1,
		"without a profile %g W, %g times as long", f.ComputePower(0, true), f.Slowdown(0, true))
}
