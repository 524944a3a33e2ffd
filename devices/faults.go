package devices

import (
	"fmt"

	"fedsim/config"
)

// Values of the key drop_phase: when a device drops.
const (
	AtStart   = "start"   // before the device has done any work
	AtCompute = "compute" // at a random point of the computation
	AtUpload  = "upload"  // at a random point of the upload
	AtRandom  = "uniform" // at a random point of the whole attempt
)

// OutageConfig is the table [faults.outage].
type OutageConfig struct {
	// share of the devices, the first by number, that a network outage affects; rounded up
	OutageShare float64 `toml:"share" absent:"0: none"`
	// start of the outage, in virtual seconds
	OutageFromS float64 `toml:"from_s"`
	// end of the outage, in virtual seconds
	OutageToS float64 `toml:"to_s"`
}

// Validate reports all errors in the table.
func (o *OutageConfig) Validate(c *config.Checker) {
	c.Require(o.OutageShare >= 0 && o.OutageShare <= 1, "share", o.OutageShare, "must be in [0, 1]")
	c.Require(o.OutageFromS >= 0 && o.OutageFromS <= 1e9, "from_s", o.OutageFromS, "must be in [0, 1e9]")
	c.Require(o.OutageToS >= 0 && o.OutageToS <= 1e9, "to_s", o.OutageToS, "must be in [0, 1e9]")
	if o.OutageShare > 0 {
		c.Require(o.OutageFromS < o.OutageToS, "to_s", o.OutageToS, "must be after from_s")
	} else {
		c.Require(o.OutageToS == 0, "to_s", o.OutageToS, "requires share")
		c.Require(o.OutageFromS == 0, "from_s", o.OutageFromS, "requires share")
	}
}

// Faults is the table [faults] of a scenario: which devices drop out, when, and what becomes of their work.
type Faults struct {
	// probability that a device drops out in a round: a number, a list with one number for each
	// device, or { by_round = [...] }, whose last number applies to all later rounds
	DropProbability DropProbability `toml:"drop_probability"`
	// devices, counted from 0, that drop out in every round
	Never []int `toml:"never"`
	// network outage
	OutageConfig `toml:"outage"`
	// work of a device that becomes unavailable and available again: "discard" (the attempt fails)
	// or "resume" (transfers and computation continue)
	OnReturn string `toml:"on_return"`
	// when a device drops out in a round: "start", "compute", "upload" (at a random point of that
	// phase) or "uniform" (at a random point of the whole attempt)
	DropPhase string `toml:"drop_phase"`
}

// Values of the key on_return: the work of a device that becomes unavailable and
// available again.
const (
	Discard = "discard" // the attempt is lost
	Resume  = "resume"  // the attempt continues
)

// DefaultFaults returns the table's defaults: no device ever drops.
func DefaultFaults() Faults { return Faults{DropPhase: AtStart, OnReturn: Discard} }

// Validate reports all errors in the table that do not depend on the number of devices.
// NewDrops reports the others.
func (f *Faults) Validate(c *config.Checker) {
	f.DropProbability.Each("drop_probability", func(key string, p float64) {
		c.Require(p >= 0 && p <= 1, key, p, "must be in [0, 1]")
	})

	seen := make(map[int]bool, len(f.Never))
	for i, device := range f.Never {
		key := fmt.Sprintf("never[%d]", i)
		c.Require(device >= 0, key, device, "must be the number of a device, from 0 up")
		c.Require(!seen[device], key, device, "must not be listed twice")
		seen[device] = true
	}
	f.OutageConfig.Validate(c.In("outage"))
	c.OneOf("on_return", f.OnReturn, Discard, Resume)
	c.OneOf("drop_phase", f.DropPhase, AtStart, AtCompute, AtUpload, AtRandom)
}
