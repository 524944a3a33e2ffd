package devices

import (
	"fedsim/engine"
	"fedsim/internal/lognormal"
	"fedsim/internal/rng"
)

// Processors is the devices of a federation: the profile of each, or of its class, and
// its own speed. It does not change.
type Processors struct {
	kinds   []kind
	classes classes
	size    int
	rates   []float64 // FLOP/s of each device at its fastest step; none when all are as fast as their profile
	slow    bool      // a device with a low battery takes the slowest
}

// kind is what all devices of a class are.
type kind struct {
	profile Profile
	fixed   int // frequency step; negative: by the charge of the battery
}

// NewProcessors returns n devices of a valid configuration. Their speeds depend on
// the seed and on nothing else: device t of a larger fleet is as fast.
func NewProcessors(cfg Config, n int, seed uint64) *Processors {
	f := newFleet(&cfg, []Profile{cfg.Device()}, n)
	if cfg.Spread != Uniform && cfg.Spread != LogNormal {
		return f
	}
	f.rates = make([]float64, n)
	for t := range f.rates {
		f.rates[t] = f.kinds[0].profile.Rate() * speed(&cfg, seed, t)
	}
	return f
}

// NewMixedProcessors returns the devices of a mix. The configuration says which of its
// frequency steps a device computes at, and nothing else.
func NewMixedProcessors(cfg Config, mix Mix) *Processors {
	f := newFleet(&cfg, mix.Profiles, len(mix.Class))
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

func newFleet(cfg *Config, profiles []Profile, n int) *Processors {
	f := &Processors{size: n, slow: cfg.LowBattery > 0 && cfg.LowBatteryAction == Slow}
	for _, p := range profiles {
		k := kind{profile: p, fixed: p.steps() - 1}
		switch {
		case cfg.FrequencyStep > 0:
			k.fixed = cfg.FrequencyStep - 1
		case cfg.Governor == ByCharge:
			k.fixed = -1
		case cfg.Governor == Powersave:
			k.fixed = 0
		}
		f.kinds = append(f.kinds, k)
	}
	return f
}

// kind returns what device t is.
func (f *Processors) kind(t int) *kind { return &f.kinds[f.classes.of(t)] }

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
func (f *Processors) Len() int { return f.size }

// Profile returns what device t is, before it differs in speed from its like.
func (f *Processors) Profile(t int) Profile { return f.kind(t).profile }

// Rate returns the speed of device t in FLOP/s at its fastest frequency step.
func (f *Processors) Rate(t int) float64 {
	if f.rates == nil {
		return f.kind(t).profile.Rate()
	}
	return f.rates[t]
}

// ComputeTime returns how long device t takes for that many FLOPs at its fastest
// frequency step: the first term of Time(h, t) in the paper's appendix, "Estimated Time".
func (f *Processors) ComputeTime(t int, flops float64) engine.Time {
	return engine.FromSeconds(flops / f.Rate(t))
}

// IdlePower returns the power in watts of device t when it neither computes nor
// sends.
func (f *Processors) IdlePower(t int) float64 { return f.kind(t).profile.IdleW }

// ComputePower returns the power in watts of device t when it computes at a
// frequency step.
func (f *Processors) ComputePower(t, step int) float64 {
	p := &f.kind(t).profile
	if power := p.step(step).Power; power != 1 {
		return p.IdleW + float64(power*(p.ComputeW-p.IdleW))
	}
	return p.ComputeW
}

// FixedStep reports whether device t computes at one frequency step all the time,
// whatever its battery, and which.
func (f *Processors) FixedStep(t int) (step int, ok bool) {
	fixed := f.kind(t).fixed
	return fixed, fixed >= 0 && !f.slow
}

// Step returns the frequency step, from 0 up, at which device t begins to compute
// when its battery is full to a level in [0, 1], low or not.
func (f *Processors) Step(t int, level float64, low bool) int {
	k := f.kind(t)
	switch {
	case low && f.slow:
		return 0
	case k.fixed >= 0:
		return k.fixed
	default:
		n := k.profile.steps()
		return min(int(level*float64(n)), n-1)
	}
}

// Slowdown returns how many times as long device t computes at a frequency step as
// at its fastest one.
func (f *Processors) Slowdown(t, step int) float64 { return 1 / f.kind(t).profile.step(step).Clock }
