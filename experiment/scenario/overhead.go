package scenario

import (
	"fedsim/config"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/network"
)

// OverheadConfig is the table [overhead]: the time of an attempt that neither its FLOPs nor its bytes explain. A
// calibration measures it.
type OverheadConfig struct {
	// seconds of computing that each local work of a device takes beside its steps (docs/time.md)
	TaskS float64 `toml:"task_s"`
	// seconds of computing that each step takes beside its FLOPs: a mini-batch step, or a
	// coordinate step of a dual method
	StepS float64 `toml:"step_s"`
	// seconds of computing for each 10^9 bytes of memory that local work reads and writes
	// (docs/time.md)
	TrafficSPerGB float64 `toml:"s_per_gb"`
	// how many times each step takes step_s: 1, or the sequence length of a recurrent layer
	LaunchesPerStep float64 `toml:"launches_per_step"`
	// spread between the computations of a device: sigma/mu of a factor of mean 1 on the duration of
	// each. Plans use the mean
	Jitter float64 `toml:"compute_jitter"`
	// distribution of the factor of compute_jitter: "log-normal", or "exponential", whose sigma/mu is
	// 1: compute_jitter is left out, or 1
	Distribution string `toml:"compute_distribution"`

	network.RuntimeConfig
}

func defaultOverhead() OverheadConfig {
	return OverheadConfig{
		LaunchesPerStep: devices.Defaults().LaunchesPerStep, Distribution: devices.LogNormal,
		RuntimeConfig: network.Defaults().RuntimeConfig,
	}
}

// Validate reports all errors in the table.
func (o *OverheadConfig) Validate(c *config.Checker) {
	seconds := func(key string, x float64) {
		c.Require(x >= 0 && x <= 1e9, key, x, "must be in [0, 1e9] seconds")
	}
	seconds("task_s", o.TaskS)
	seconds("step_s", o.StepS)
	seconds("s_per_gb", o.TrafficSPerGB)
	c.Require(o.LaunchesPerStep >= 1 && o.LaunchesPerStep <= 1e6, "launches_per_step", o.LaunchesPerStep,
		"must be in [1, 1e6]")
	c.OneOf("compute_distribution", o.Distribution, devices.LogNormal, devices.Exponential)
	o.overheads().ValidateJitter(c)
	o.RuntimeConfig.Validate(c)
}

// overheads returns those of devices.
func (o *OverheadConfig) overheads() *devices.Overheads {
	d := &devices.Overheads{TaskS: o.TaskS, StepS: o.StepS, TrafficSPerGB: o.TrafficSPerGB, Jitter: o.Jitter}
	if o.Distribution != devices.LogNormal {
		d.Distribution = o.Distribution
	}
	return d
}

// apply gives devices and links their overheads.
func (o *OverheadConfig) apply(d *devices.Config, n *network.Config) {
	d.Overheads = *o.overheads()
	d.LaunchesPerStep, n.RuntimeConfig = o.LaunchesPerStep, o.RuntimeConfig
}

// EngineConfig is the table [engine], for programs that drive fedsim engine.
type EngineConfig struct {
	// seconds until the program learns that an attempt has failed, but in rounds that a protocol plays
	DetectS float64 `toml:"detect_s"`
	// bytes that the program adds to each message, in both directions, for what its records do not
	// count
	Overhead int `toml:"overhead_bytes"`
}

func defaultEngine() EngineConfig { return EngineConfig{DetectS: federation.Defaults().DetectS} }

// Validate reports all errors in the table.
func (e *EngineConfig) Validate(c *config.Checker) {
	c.Require(e.DetectS >= 0 && e.DetectS <= 1e9, "detect_s", e.DetectS, "must be in [0, 1e9] seconds")
	c.Require(e.Overhead >= 0 && e.Overhead <= 1e9, "overhead_bytes", e.Overhead, "must be in [0, 1e9]")
}

// apply gives the server the settings of its driver.
func (e *EngineConfig) apply(f *federation.Config) { f.DetectS, f.Overhead = e.DetectS, e.Overhead }
