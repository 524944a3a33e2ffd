package devices

import (
	"math"
	"testing"

	"fedsim/engine"
)

// phone-2017: 2 GHz at 3 FLOP per cycle, so 3e9 FLOPs take half a second.
func TestComputeTime(t *testing.T) {
	f := NewFleet(Defaults(), 3, 1)
	for device := range f.Len() {
		if f.Rate(device) != 6e9 || f.ComputeTime(device, 3e9) != 500_000_000 || f.ComputeTime(device, 0) != 0 {
			t.Errorf("device %d: %g FLOP/s, 3e9 FLOPs in %v", device, f.Rate(device), f.ComputeTime(device, 3e9))
		}
		if f.IdlePower(device) != 0.3 || f.ComputePower(device) != 1.95 {
			t.Errorf("device %d: %g W idle, %g W computing", device, f.IdlePower(device), f.ComputePower(device))
		}
	}
	if got := f.ComputeTime(0, math.Inf(1)); got != engine.Never {
		t.Errorf("infinite work takes %v", got)
	}
}

func TestTimeScalesWithRate(t *testing.T) {
	cfg := Defaults()
	cfg.Spread, cfg.SpreadWidth = LogNormal, 0.5
	fast := NewFleet(cfg, 20, 9)
	cfg.ClockGHz = cfg.Device().ClockGHz / 2
	slow := NewFleet(cfg, 20, 9)
	for d := range fast.Len() {
		a, b := fast.ComputeTime(d, 1e12), slow.ComputeTime(d, 1e12)
		if diff := b - 2*a; diff < -1 || diff > 1 {
			t.Errorf("device %d takes %d ns, %d ns at half the clock", d, a, b)
		}
	}
}

// Mean within four standard errors: w/sqrt(3n) for a uniform number in
// [1-w, 1+w], w/sqrt(n) for sigma/mu = w.
func TestSpread(t *testing.T) {
	const n = 20_000
	for spread, standard := range map[string]float64{Uniform: 0.6 / math.Sqrt(3), LogNormal: 0.6} {
		cfg := Defaults()
		cfg.Spread, cfg.SpreadWidth = spread, 0.6
		f := NewFleet(cfg, n, 4)
		var sum, squares float64
		for d := range n {
			x := f.Rate(d) / f.Profile().Rate()
			if x <= 0 || spread == Uniform && (x < 0.4 || x > 1.6) {
				t.Fatalf("%s: device %d is %g times as fast as its profile", spread, d, x)
			}
			sum += x
			squares += (x - 1) * (x - 1)
		}
		if mean := sum / n; math.Abs(mean-1) > 4*standard/math.Sqrt(n) {
			t.Errorf("%s: mean %g, want 1", spread, mean)
		}
		// 10 % is far beyond the sampling error of either variance, and far
		// below what mistaking w for sigma or for a half-width would make.
		if sd := math.Sqrt(squares / n); math.Abs(sd/standard-1) > 0.1 {
			t.Errorf("%s: standard deviation %g, want %g", spread, sd, standard)
		}
	}
}

func TestFleetGrowsWithoutChangingItsDevices(t *testing.T) {
	cfg := Defaults()
	cfg.Spread, cfg.SpreadWidth = Uniform, 0.5
	small, large, other := NewFleet(cfg, 5, 1), NewFleet(cfg, 50, 1), NewFleet(cfg, 5, 2)
	for d := range small.Len() {
		if small.Rate(d) != large.Rate(d) {
			t.Errorf("device %d: %g FLOP/s among 5, %g among 50", d, small.Rate(d), large.Rate(d))
		}
		if small.Rate(d) == other.Rate(d) {
			t.Errorf("device %d: %g FLOP/s under two seeds", d, small.Rate(d))
		}
	}
}
