package devices

import (
	"cmp"

	"fedsim/engine"
	"fedsim/internal/tools/lognormal"
	"fedsim/internal/tools/rng"
)

// Processors has the compute speed and power of all devices: a profile each, or per
// class, and the device's own speed. It does not change.
type Processors struct {
	kinds   []kind
	classes classes
	size    int
	rates   []float64 // FLOP/s of each device; nil if all have their profile's
	drawn   *Config   // whose spread the speeds are drawn from in a lazy population; nil: they are in rates
	scale   float64   // FLOPs that each FLOP stands for

	launches float64 // step overheads of a step
	seed     uint64  // of the jitter
}

// kind describes the devices of a class.
type kind struct {
	profile   Profile
	overheads Overheads
}

// NewProcessors returns the processors of n devices of a valid configuration. Their
// speeds depend only on the seed and the device, not on n.
func NewProcessors(cfg Config, n int, seed uint64) *Processors {
	f := newFleet(&cfg, []Profile{cfg.Device()}, n, seed)
	f.kinds[0].overheads = cfg.Overheads
	if cfg.Spread != Uniform && cfg.Spread != LogNormal {
		return f
	}
	f.rates = make([]float64, n)
	for t := range f.rates {
		f.rates[t] = f.kinds[0].profile.Rate() * speed(&cfg, seed, t)
	}
	return f
}

// NewMixedProcessors returns the processors of the devices of a mix. The configuration
// gives the launches of a step. The seed is that of the jitter.
func NewMixedProcessors(cfg Config, mix Mix, seed uint64) *Processors {
	f := newFleet(&cfg, mix.Profiles, len(mix.Class), seed)
	for i, o := range mix.Overheads {
		f.kinds[i].overheads = o
	}
	f.classes = mix.Class
	if mix.Speed == nil {
		return f
	}
	f.rates = make([]float64, f.size)
	for t := range f.rates {
		f.rates[t] = f.kind(t).profile.Rate() * mix.Speed[t]
	}
	return f
}

func newFleet(cfg *Config, profiles []Profile, n int, seed uint64) *Processors {
	f := &Processors{
		size: n, scale: cmp.Or(cfg.FLOPsScale, 1), launches: cmp.Or(cfg.LaunchesPerStep, 1), seed: seed,
	}
	for _, p := range profiles {
		f.kinds = append(f.kinds, kind{profile: p})
	}
	return f
}

func (f *Processors) kind(t int) *kind { return &f.kinds[f.classes.of(t)] }

// speed returns the factor between the speed of device t and its profile's.
func speed(cfg *Config, seed uint64, t int) float64 {
	s := rng.New(seed, rng.Spread, t, 0)
	switch cfg.Spread {
	case Uniform:
		return 1 + float64(cfg.SpreadWidth*(2*s.Float64()-1))
	default:
		return lognormal.Of(cfg.SpreadWidth).At(s.Normal())
	}
}

// Class returns the class of device t in a mix; 0 if all are of one class.
func (f *Processors) Class(t int) int { return f.classes.of(t) }

// Len returns the number of devices.
func (f *Processors) Len() int { return f.size }

// Profile returns the profile of device t, without the device's own speed.
func (f *Processors) Profile(t int) Profile { return f.kind(t).profile }

// Rate returns the speed of device t in FLOP/s at its full clock, in FLOPs of
// which each stands for Config.FLOPsScale.
func (f *Processors) Rate(t int) float64 {
	switch {
	case f.drawn != nil:
		return f.kind(t).profile.Rate() * speed(f.drawn, f.seed, t) / f.scale
	case f.rates == nil:
		return f.kind(t).profile.Rate() / f.scale
	}
	return f.rates[t] / f.scale
}

// ComputeTime returns the duration of some work on device t at its full clock,
// without jitter. Without overheads it is the first term of Time(h, t) in the paper's
// appendix, "Estimated Time".
func (f *Processors) ComputeTime(t int, w Work) engine.Time {
	return engine.FromSeconds(f.Seconds(t, w))
}

// IdlePower returns the power in watts of device t while it neither computes nor sends.
func (f *Processors) IdlePower(t int) float64 { return f.kind(t).profile.IdleW }

// ComputePower returns the power in watts of device t while it computes, slowed down by a low
// battery or not.
func (f *Processors) ComputePower(t int, slow bool) float64 {
	p := &f.kind(t).profile
	if slow && p.Low != (Step{}) {
		return p.IdleW + float64(p.Low.Power*(p.ComputeW-p.IdleW))
	}
	return p.ComputeW
}

// Slowdown returns how many times as long device t computes, slowed down by a low battery or not.
func (f *Processors) Slowdown(t int, slow bool) float64 {
	if p := &f.kind(t).profile; slow && p.Low != (Step{}) {
		return 1 / p.Low.Clock
	}
	return 1
}
