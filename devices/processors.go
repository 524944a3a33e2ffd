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
	heat      *heat // nil: none
}

// NewProcessors returns the processors of n devices of a valid configuration. Their
// speeds depend only on the seed and the device, not on n.
func NewProcessors(cfg Config, n int, seed uint64) *Processors {
	f := newFleet(&cfg, []Profile{cfg.Device()}, n, seed)
	f.kinds[0].overheads, f.kinds[0].heat = cfg.Overheads, newHeat(&cfg.HeatConfig, f.kinds[0].profile)
	if cfg.SpreadWidth == 0 {
		return f
	}
	f.rates = make([]float64, n)
	for device := range f.rates {
		f.rates[device] = f.kinds[0].profile.Rate() * speed(&cfg, seed, device)
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
	for i := range mix.Heat {
		f.kinds[i].heat = newHeat(&mix.Heat[i], f.kinds[i].profile)
	}
	f.classes = mix.Class
	if mix.Speed == nil {
		return f
	}
	f.rates = make([]float64, f.size)
	for device := range f.rates {
		f.rates[device] = f.kind(device).profile.Rate() * mix.Speed[device]
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

func (p *Processors) kind(device int) *kind { return &p.kinds[p.classes.of(device)] }

// speed returns the factor between the speed of a device and its profile's.
func speed(cfg *Config, seed uint64, device int) float64 {
	s := rng.New(seed, rng.Spread, device, 0)
	switch cfg.Spread {
	case Uniform:
		return 1 + float64(cfg.SpreadWidth*(2*s.Float64()-1))
	default:
		return lognormal.Of(cfg.SpreadWidth).At(s.Normal())
	}
}

// Class returns the class of a device in a mix; 0 if all are of one class.
func (p *Processors) Class(device int) int { return p.classes.of(device) }

// Len returns the number of devices.
func (p *Processors) Len() int { return p.size }

// Profile returns the profile of a device, without the device's own speed.
func (p *Processors) Profile(device int) Profile { return p.kind(device).profile }

// Rate returns the speed of a device in FLOP/s at its full clock, in FLOPs of
// which each stands for Config.FLOPsScale.
func (p *Processors) Rate(device int) float64 {
	switch {
	case p.drawn != nil:
		return p.kind(device).profile.Rate() * speed(p.drawn, p.seed, device) / p.scale
	case p.rates == nil:
		return p.kind(device).profile.Rate() / p.scale
	}
	return p.rates[device] / p.scale
}

// ComputeTime returns the duration of some work on a device at its full clock,
// without jitter. Without overheads it is the first term of Time(h, t) in the paper's
// appendix, "Estimated Time".
func (p *Processors) ComputeTime(device int, w Work) engine.Time {
	return engine.FromSeconds(p.Seconds(device, w))
}

// IdlePower returns the power in watts of a device while it neither computes nor sends.
func (p *Processors) IdlePower(device int) float64 { return p.kind(device).profile.IdleW }

// ComputePower returns the power in watts of a device while it computes, slowed down by a low
// battery or not.
func (p *Processors) ComputePower(device int, slow bool) float64 {
	profile := &p.kind(device).profile
	if slow && profile.Low != (Step{}) {
		return profile.IdleW + float64(profile.Low.Power*(profile.ComputeW-profile.IdleW))
	}
	return profile.ComputeW
}

// Slowdown returns how many times as long a device computes, slowed down by a low battery or not.
func (p *Processors) Slowdown(device int, slow bool) float64 {
	if profile := &p.kind(device).profile; slow && profile.Low != (Step{}) {
		return 1 / profile.Low.Clock
	}
	return 1
}
