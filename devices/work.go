package devices

import (
	"fedsim/config"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/lognormal"
	"fedsim/internal/tools/rng"
)

// Work is the local work of a client in an attempt. The zero Work takes no time.
type Work struct {
	FLOPs   float64 // one multiply or one add is one
	Steps   float64 // mini-batch steps, or coordinate steps
	Traffic float64 // bytes of memory read and written
}

// Times returns work of which every part is so many times as much.
func (w Work) Times(factor float64) Work {
	return Work{FLOPs: w.FLOPs * factor, Steps: w.Steps * factor, Traffic: w.Traffic * factor}
}

// Overheads are the parts of the time of a computation that FLOPs do not explain:
//
//	(task_overhead_s + step_overhead_s steps + traffic_s_per_gb traffic/1e9 + FLOPs/rate) jitter.
//
// The device's own speed divides all of it. They are measured, by a calibration (docs/time.md).
type Overheads struct {
	// seconds of computing that each local work of a device takes beside its steps (docs/time.md)
	TaskS float64 `toml:"task_overhead_s"`
	// seconds of computing that each step takes beside its FLOPs: a mini-batch step, or a
	// coordinate step of a dual method
	StepS float64 `toml:"step_overhead_s"`
	// seconds of computing for each 10^9 bytes of memory that local work reads and writes
	// (docs/time.md)
	TrafficSPerGB float64 `toml:"traffic_s_per_gb"`
	// spread between the computations of a device: sigma/mu of a factor of mean 1 on the duration of
	// each. Plans use the mean
	Jitter float64 `toml:"compute_jitter"`
	// distribution of the factor of compute_jitter: "log-normal", as is an empty one, or
	// "exponential", whose sigma/mu is 1: compute_jitter is left out, or 1
	Distribution string `toml:"compute_distribution"`
}

// Exponential, as a Distribution of Overheads, is the exponential distribution. Others are LogNormal, or empty.
const Exponential = "exponential"

// Spread returns sigma/mu of the factor on the duration of a computation.
func (o *Overheads) Spread() float64 {
	if o.Distribution == Exponential {
		return 1
	}
	return o.Jitter
}

// Validate reports all errors in the overheads.
func (o *Overheads) Validate(c *config.Checker) {
	seconds := func(key string, x float64) {
		c.Require(x >= 0 && x <= 1e9, key, x, "must be in [0, 1e9] seconds")
	}
	seconds("task_overhead_s", o.TaskS)
	seconds("step_overhead_s", o.StepS)
	seconds("traffic_s_per_gb", o.TrafficSPerGB)
	c.OneOfOrEmpty("compute_distribution", o.Distribution, LogNormal, Exponential)
	o.ValidateJitter(c)
}

// ValidateJitter reports errors in the jitter of a known distribution.
func (o *Overheads) ValidateJitter(c *config.Checker) {
	c.Require(o.Jitter >= 0 && o.Jitter <= 100, "compute_jitter", o.Jitter, "must be in [0, 100]")
	c.Require(o.Distribution != Exponential || o.Jitter == 0 || o.Jitter == 1, "compute_jitter", o.Jitter,
		"must be left out, or 1, with compute_distribution = \"exponential\", whose sigma/mu is 1")
}

// any reports whether one of the terms in seconds is set.
func (o *Overheads) any() bool { return o.TaskS != 0 || o.StepS != 0 || o.TrafficSPerGB != 0 }

// Overhead returns the seconds that the overheads of some work take a device at its full
// clock, without jitter.
func (p *Processors) Overhead(device int, w Work) float64 {
	k := p.kind(device)
	if !k.overheads.any() || w == (Work{}) {
		return 0
	}
	seconds := k.overheads.TaskS + float64(k.overheads.StepS*float64(p.launches*w.Steps)) +
		float64(k.overheads.TrafficSPerGB*(w.Traffic/1e9))
	if p.rates == nil {
		return seconds
	}
	return seconds * (k.profile.Rate() / p.rates[device])
}

// Seconds returns how long some work takes a device at its full clock, without
// jitter: its overheads, and its FLOPs at the rate of the device.
func (p *Processors) Seconds(device int, w Work) float64 {
	return w.FLOPs/p.Rate(device) + p.Overhead(device, w)
}

// OverheadShare returns which share of the time that some work takes a device is that of its
// overheads.
func (p *Processors) OverheadShare(device int, w Work) float64 {
	overhead := p.Overhead(device, w)
	if overhead == 0 {
		return 0
	}
	return overhead / p.Seconds(device, w)
}

// Overheads returns the overheads of a device.
func (p *Processors) Overheads(device int) Overheads { return p.kind(device).overheads }

// HasOverheads reports whether work takes time beside that of its FLOPs.
func (p *Processors) HasOverheads(device int) bool { return p.kind(device).overheads.any() }

// AnyOverheads reports whether any device has overheads or jitter.
func (p *Processors) AnyOverheads() bool {
	for i := range p.kinds {
		if o := &p.kinds[i].overheads; o.any() || o.Spread() != 0 {
			return true
		}
	}
	return false
}

// Jitter returns the factor on the duration of a computation of a device in a round. attempt
// counts from 0.
//
// It is made of the first normal number, or the first uniform one, of the stream (seed, rng.ComputeJitter, device,
// round + 2^32 attempt), so that all algorithms face the same factors.
func (p *Processors) Jitter(device, round, attempt int) float64 {
	k := p.kind(device)
	if k.overheads.Spread() == 0 {
		return 1
	}
	s := rng.NewAttempt(p.seed, rng.ComputeJitter, device, round, attempt)
	if k.overheads.Distribution == Exponential {
		return -elementary.Log1p(-s.Float64())
	}
	return lognormal.Of(k.overheads.Jitter).At(s.Normal())
}
