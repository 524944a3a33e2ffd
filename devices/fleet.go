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
	rates   []float64 // FLOP/s of each device
}

// NewFleet returns n devices of a valid configuration. Their speeds depend on
// the seed and on nothing else: device t of a larger fleet is as fast.
func NewFleet(cfg Config, n int, seed uint64) *Fleet {
	f := &Fleet{profile: cfg.Device(), rates: make([]float64, n)}
	for t := range f.rates {
		f.rates[t] = f.profile.Rate() * speed(&cfg, seed, t)
	}
	return f
}

// speed returns the factor by which device t is faster than its profile.
func speed(cfg *Config, seed uint64, t int) float64 {
	s := rng.New(seed, rng.Spread, t, 0)
	switch cfg.Spread {
	case Uniform:
		return 1 + float64(cfg.SpreadWidth*(2*s.Float64()-1))
	case LogNormal:
		return lognormal.Of(cfg.SpreadWidth).At(s.Normal())
	default:
		return 1
	}
}

// Len returns the number of devices.
func (f *Fleet) Len() int { return len(f.rates) }

// Profile returns what the devices are, before they differ in speed.
func (f *Fleet) Profile() Profile { return f.profile }

// Rate returns the speed of device t in FLOP/s.
func (f *Fleet) Rate(t int) float64 { return f.rates[t] }

// ComputeTime returns how long device t takes for that many FLOPs: the first
// term of Time(h, t) in the paper's appendix, "Estimated Time".
func (f *Fleet) ComputeTime(t int, flops float64) engine.Time {
	return engine.FromSeconds(flops / f.rates[t])
}

// IdlePower returns the power in watts of device t when it neither computes nor
// sends.
func (f *Fleet) IdlePower(t int) float64 { return f.profile.IdleW }

// ComputePower returns the power in watts of device t when it computes.
func (f *Fleet) ComputePower(t int) float64 { return f.profile.ComputeW }
