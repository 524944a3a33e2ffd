package devices

import (
	"math"
	"testing"

	"fedsim/engine"
)

// phone-2017: 2 GHz at 3 FLOP per cycle, so 3e9 FLOPs take half a second.
func TestComputeTime(t *testing.T) {
	f := NewProcessors(Defaults(), 3, 1)
	for device := range f.Len() {
		if f.Rate(device) != 6e9 || f.ComputeTime(device, Work{FLOPs: 3e9}) != 500_000_000 || f.ComputeTime(device, Work{FLOPs: 0}) != 0 {
			t.Errorf("device %d: %g FLOP/s, 3e9 FLOPs in %v", device, f.Rate(device), f.ComputeTime(device, Work{FLOPs: 3e9}))
		}
		if f.IdlePower(device) != 0.3 || f.ComputePower(device, 2) != 1.95 {
			t.Errorf("device %d: %g W idle, %g W computing", device, f.IdlePower(device), f.ComputePower(device, 2))
		}
	}
	if got := f.ComputeTime(0, Work{FLOPs: math.Inf(1)}); got != engine.Never {
		t.Errorf("infinite work takes %v", got)
	}
}

func TestTimeScalesWithRate(t *testing.T) {
	cfg := Defaults()
	cfg.Spread, cfg.SpreadWidth = LogNormal, 0.5
	fast := NewProcessors(cfg, 20, 9)
	cfg.ClockGHz = cfg.Device().ClockGHz / 2
	slow := NewProcessors(cfg, 20, 9)
	for d := range fast.Len() {
		a, b := fast.ComputeTime(d, Work{FLOPs: 1e12}), slow.ComputeTime(d, Work{FLOPs: 1e12})
		if diff := b - 2*a; diff < -1 || diff > 1 {
			t.Errorf("device %d takes %d ns, %d ns at half the clock", d, a, b)
		}
	}
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
			if x <= 0 || spread == Uniform && (x < 0.4 || x > 1.6) {
				t.Fatalf("%s: device %d is %g times as fast as its profile", spread, d, x)
			}
			sum += x
			squares += (x - 1) * (x - 1)
		}
		if mean := sum / n; math.Abs(mean-1) > 4*standard/math.Sqrt(n) {
			t.Errorf("%s: mean %g, want 1", spread, mean)
		}
		// 10 % is far more than the sampling error of either variance, and far less than
		// the effect of confusing w with sigma or a half-width.
		if sd := math.Sqrt(squares / n); math.Abs(sd/standard-1) > 0.1 {
			t.Errorf("%s: standard deviation %g, want %g", spread, sd, standard)
		}
	}
}

func TestFleetGrowsWithoutChangingItsDevices(t *testing.T) {
	cfg := Defaults()
	cfg.Spread, cfg.SpreadWidth = Uniform, 0.5
	small, large, other := NewProcessors(cfg, 5, 1), NewProcessors(cfg, 50, 1), NewProcessors(cfg, 5, 2)
	for d := range small.Len() {
		if small.Rate(d) != large.Rate(d) {
			t.Errorf("device %d: %g FLOP/s among 5, %g among 50", d, small.Rate(d), large.Rate(d))
		}
		if small.Rate(d) == other.Rate(d) {
			t.Errorf("device %d: %g FLOP/s under two seeds", d, small.Rate(d))
		}
	}
}

// Half the clock needs 0.5 x 0.8^2 of the power beyond idling. So work takes 0.64 of the
// dynamic energy and twice the time.
func TestFrequencySteps(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		level  float64
		low    bool
		step   int
		watts  float64
		slower float64
		steady bool
	}{
		{func(*Config) {}, 0.1, true, 2, 1.95, 1, true},
		{func(d *Config) { d.Governor = Powersave }, 1, false, 0, 0.3 + 0.32*1.65, 2, true},
		{func(d *Config) { d.FrequencyStep = 2 }, 1, false, 1, 0.3 + 0.6075*1.65, 4. / 3, true},
		{func(d *Config) { d.FrequencyStep, d.ComputeW, d.IdleW = 1, 4, 2 }, 1, false, 0, 2 + 0.32*2, 2, true},
		{func(d *Config) { d.Governor = ByCharge }, 0.33, false, 0, 0.3 + 0.32*1.65, 2, false},
		{func(d *Config) { d.Governor = ByCharge }, 0.34, false, 1, 0.3 + 0.6075*1.65, 4. / 3, false},
		{func(d *Config) { d.Governor = ByCharge }, 1, false, 2, 1.95, 1, false},
		{func(d *Config) { d.LowBattery, d.LowBatteryAction = 0.1, Slow }, 0.05, true, 0, 0.3 + 0.32*1.65, 2, false},
		{func(d *Config) { d.LowBattery, d.LowBatteryAction = 0.1, Slow }, 0.5, false, 2, 1.95, 1, false},
		{func(d *Config) { d.LowBattery = 0.1 }, 0.05, true, 2, 1.95, 1, true}, // refuses
	} {
		cfg := Defaults()
		c.change(&cfg)
		f := NewProcessors(cfg, 1, 1)
		step := f.Step(0, c.level, c.low)
		if step != c.step || math.Abs(f.ComputePower(0, step)-c.watts) > 1e-12 || math.Abs(f.Slowdown(0, step)-c.slower) > 1e-12 {
			t.Errorf("%+v: step %d, %g W, %g times as long; want %d, %g, %g", cfg, step, f.ComputePower(0, step), f.Slowdown(0, step), c.step, c.watts, c.slower)
		}
		if at, ok := f.FixedStep(0); ok != c.steady || ok && at != c.step {
			t.Errorf("%+v: always step %d: %t", cfg, at, ok)
		}
	}
}

// Steps increase in clock and power, up to the fastest.
func TestStepsOfProfiles(t *testing.T) {
	for _, p := range Profiles() {
		for i := range p.steps() {
			s := p.step(i)
			if s.Clock <= 0 || s.Power <= 0 || i > 0 && (s.Clock <= p.step(i-1).Clock || s.Power <= p.step(i-1).Power) {
				t.Errorf("%s: step %d is %+v", p.Name, i, s)
			}
		}
		if p.step(p.steps()-1) != (Step{1, 1}) {
			t.Errorf("%s: the fastest step is %+v", p.Name, p.step(p.steps()-1))
		}
	}
}
