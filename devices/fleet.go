package devices

import (
	"fedsim/engine"
	"fedsim/internal/lognormal"
	"fedsim/internal/rng"
)

// Fleet is the devices of a federation: one profile, and each device's own
// speed. It does not change.
type Fleet struct {
	profile Profile
	size    int
	rates   []float64 // FLOP/s of each device at its fastest step; none when all are as fast as the profile
	fixed   int       // frequency step of every device; negative: by the charge of its battery
	slow    bool      // a device with a low battery takes the slowest
}

// NewFleet returns n devices of a valid configuration. Their speeds depend on
// the seed and on nothing else: device t of a larger fleet is as fast.
func NewFleet(cfg Config, n int, seed uint64) *Fleet {
	f := &Fleet{profile: cfg.Device(), size: n, slow: cfg.LowBattery > 0 && cfg.LowBatteryAction == Slow}
	switch fastest := f.profile.steps() - 1; {
	case cfg.FrequencyStep > 0:
		f.fixed = cfg.FrequencyStep - 1
	case cfg.Governor == ByCharge:
		f.fixed = -1
	case cfg.Governor == Powersave:
		f.fixed = 0
	default:
		f.fixed = fastest
	}
	if cfg.Spread != Uniform && cfg.Spread != LogNormal {
		return f
	}
	f.rates = make([]float64, n)
	for t := range f.rates {
		f.rates[t] = f.profile.Rate() * speed(&cfg, seed, t)
	}
	return f
}

// speed returns the factor by which device t of a fleet that is spread is faster
// than its profile.
func speed(cfg *Config, seed uint64, t int) float64 {
	s := rng.New(seed, rng.Spread, t, 0)
	switch cfg.Spread {
	case Uniform:
		return 1 + float64(cfg.SpreadWidth*(2*s.Float64()-1))
	default:
		return lognormal.Of(cfg.SpreadWidth).At(s.Normal())
	}
}

// Len returns the number of devices.
func (f *Fleet) Len() int { return f.size }

// Profile returns what the devices are, before they differ in speed.
func (f *Fleet) Profile() Profile { return f.profile }

// Rate returns the speed of device t in FLOP/s at its fastest frequency step.
func (f *Fleet) Rate(t int) float64 {
	if f.rates == nil {
		return f.profile.Rate()
	}
	return f.rates[t]
}

// ComputeTime returns how long device t takes for that many FLOPs at its fastest
// frequency step: the first term of Time(h, t) in the paper's appendix, "Estimated Time".
func (f *Fleet) ComputeTime(t int, flops float64) engine.Time {
	return engine.FromSeconds(flops / f.Rate(t))
}

// IdlePower returns the power in watts of device t when it neither computes nor
// sends.
func (f *Fleet) IdlePower(t int) float64 { return f.profile.IdleW }

// ComputePower returns the power in watts of device t when it computes at a
// frequency step.
func (f *Fleet) ComputePower(t, step int) float64 {
	p := &f.profile
	if power := p.step(step).Power; power != 1 {
		return p.IdleW + float64(power*(p.ComputeW-p.IdleW))
	}
	return p.ComputeW
}

// Steady reports whether all devices compute at one frequency step all the time,
// whatever their batteries, and which.
func (f *Fleet) Steady() (step int, ok bool) { return f.fixed, f.fixed >= 0 && !f.slow }

// Step returns the frequency step, from 0 up, at which a device begins to compute
// when its battery is full to a level in [0, 1], low or not.
func (f *Fleet) Step(level float64, low bool) int {
	switch {
	case low && f.slow:
		return 0
	case f.fixed >= 0:
		return f.fixed
	default:
		n := f.profile.steps()
		return min(int(level*float64(n)), n-1)
	}
}

// Slowdown returns how many times as long a device computes at a frequency step as
// at its fastest one.
func (f *Fleet) Slowdown(step int) float64 { return 1 / f.profile.step(step).Clock }
