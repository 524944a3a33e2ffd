package devices

import (
	"fedsim/config"
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
// The device's own speed divides all of it. They are measured, by a calibration (docs/models.md).
type Overheads struct {
	TaskS         float64 `toml:"task_overhead_s" doc:"seconds of computing that each local work of a device takes beside its steps (docs/models.md)"`
	StepS         float64 `toml:"step_overhead_s" doc:"seconds of computing that each step takes beside its FLOPs: a mini-batch step, or a coordinate step of a dual method"`
	TrafficSPerGB float64 `toml:"traffic_s_per_gb" doc:"seconds of computing for each 10^9 bytes of memory that local work reads and writes (docs/models.md)"`
	Jitter        float64 `toml:"compute_jitter" doc:"spread between the computations of a device: sigma/mu of a log-normal factor of mean 1 on the duration of each. Plans use the mean"`
}

// Validate reports all errors in the overheads.
func (o *Overheads) Validate(c *config.Checker) {
	seconds := func(key string, x float64) {
		c.Require(x >= 0 && x <= 1e9, key, x, "must be in [0, 1e9] seconds")
	}
	seconds("task_overhead_s", o.TaskS)
	seconds("step_overhead_s", o.StepS)
	seconds("traffic_s_per_gb", o.TrafficSPerGB)
	c.Require(o.Jitter >= 0 && o.Jitter <= 100, "compute_jitter", o.Jitter, "must be in [0, 100]")
}

// any reports whether one of the terms in seconds is set.
func (o *Overheads) any() bool { return o.TaskS != 0 || o.StepS != 0 || o.TrafficSPerGB != 0 }

// Overhead returns the seconds that the overheads of some work take device t at its full
// clock, without jitter.
func (f *Processors) Overhead(t int, w Work) float64 {
	k := f.kind(t)
	if !k.overheads.any() || w == (Work{}) {
		return 0
	}
	seconds := k.overheads.TaskS + float64(k.overheads.StepS*float64(f.launches*w.Steps)) + float64(k.overheads.TrafficSPerGB*(w.Traffic/1e9))
	if f.rates == nil {
		return seconds
	}
	return seconds * (k.profile.Rate() / f.rates[t])
}

// Seconds returns how long some work takes device t at its full clock, without
// jitter: its overheads, and its FLOPs at the rate of the device.
func (f *Processors) Seconds(t int, w Work) float64 { return w.FLOPs/f.Rate(t) + f.Overhead(t, w) }

// OverheadShare returns which share of the time that some work takes device t is that of its
// overheads.
func (f *Processors) OverheadShare(t int, w Work) float64 {
	overhead := f.Overhead(t, w)
	if overhead == 0 {
		return 0
	}
	return overhead / f.Seconds(t, w)
}

// HasOverheads reports whether work takes device t time beside its FLOPs.
func (f *Processors) HasOverheads(t int) bool { return f.kind(t).overheads.any() }

// AnyOverheads reports whether any device has overheads or jitter.
func (f *Processors) AnyOverheads() bool {
	for i := range f.kinds {
		if f.kinds[i].overheads != (Overheads{}) {
			return true
		}
	}
	return false
}

// Jitter returns the factor on the duration of a computation of device t in a round. attempt
// counts from 0.
//
// It is the first normal number of the stream (seed, rng.ComputeJitter, t, round + 2^32
// attempt), so that all algorithms face the same factors.
func (f *Processors) Jitter(t, round, attempt int) float64 {
	k := f.kind(t)
	if k.overheads.Jitter == 0 {
		return 1
	}
	s := rng.NewAttempt(f.seed, rng.ComputeJitter, t, round, attempt)
	return lognormal.Of(k.overheads.Jitter).At(s.Normal())
}
