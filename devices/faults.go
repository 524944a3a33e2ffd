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

// Faults is the table [faults] of a scenario: the probabilities p_t^h with which device
// t drops in round h (paper, assumption 2 and section 5.4). At most one of the three
// probability keys may be set.
type Faults struct {
	DropProbability          float64   `toml:"drop_probability" doc:"probability that a device drops out in a round"`
	DropProbabilityPerDevice []float64 `toml:"drop_probability_per_device" doc:"drop probability of each device, one value per device; empty: drop_probability for all"`
	DropProbabilityByRound   []float64 `toml:"drop_probability_by_round" doc:"drop probability of each round from the first; the last value applies to all later rounds; empty: drop_probability in all"`
	Never                    []int     `toml:"never" doc:"devices, counted from 0, that drop out in every round"`
	OutageShare              float64   `toml:"outage_share" doc:"share of the devices, the first by number, that a network outage affects; rounded up; 0: none"`
	OutageFromS              float64   `toml:"outage_from_s" doc:"start of the outage, in virtual seconds"`
	OutageToS                float64   `toml:"outage_to_s" doc:"end of the outage, in virtual seconds"`
	OnReturn                 string    `toml:"on_return" doc:"work of a device that becomes unavailable and available again: \"discard\" (the attempt fails) or \"resume\" (transfers and computation continue)"`
	DropPhase                string    `toml:"drop_phase" was:"strike" doc:"when a device drops out in a round: \"start\", \"compute\", \"upload\" (at a random point of that phase) or \"uniform\" (at a random point of the whole attempt)"`
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
	probability := func(key string, p float64) {
		c.Require(p >= 0 && p <= 1, key, p, "must be in [0, 1]")
	}
	probability("drop_probability", f.DropProbability)
	for t, p := range f.DropProbabilityPerDevice {
		probability(fmt.Sprintf("drop_probability_per_device[%d]", t), p)
	}
	for h, p := range f.DropProbabilityByRound {
		probability(fmt.Sprintf("drop_probability_by_round[%d]", h), p)
	}
	list := func(key string, p []float64, ok bool) {
		c.Require(ok || len(p) == 0, key, p, "set only one of drop_probability, drop_probability_per_device and drop_probability_by_round")
	}
	list("drop_probability_per_device", f.DropProbabilityPerDevice, f.DropProbability == 0)
	list("drop_probability_by_round", f.DropProbabilityByRound, f.DropProbability == 0 && len(f.DropProbabilityPerDevice) == 0)

	seen := make(map[int]bool, len(f.Never))
	for i, t := range f.Never {
		key := fmt.Sprintf("never[%d]", i)
		c.Require(t >= 0, key, t, "must be the number of a device, from 0 up")
		c.Require(!seen[t], key, t, "must not be listed twice")
		seen[t] = true
	}
	c.Require(f.OutageShare >= 0 && f.OutageShare <= 1, "outage_share", f.OutageShare, "must be in [0, 1]")
	c.Require(f.OutageFromS >= 0 && f.OutageFromS <= 1e9, "outage_from_s", f.OutageFromS, "must be in [0, 1e9]")
	c.Require(f.OutageToS >= 0 && f.OutageToS <= 1e9, "outage_to_s", f.OutageToS, "must be in [0, 1e9]")
	if f.OutageShare > 0 {
		c.Require(f.OutageFromS < f.OutageToS, "outage_to_s", f.OutageToS, "must be after outage_from_s")
	} else {
		c.Require(f.OutageToS == 0, "outage_to_s", f.OutageToS, "requires outage_share")
		c.Require(f.OutageFromS == 0, "outage_from_s", f.OutageFromS, "requires outage_share")
	}
	c.OneOf("on_return", f.OnReturn, Discard, Resume)
	c.OneOf("drop_phase", f.DropPhase, AtStart, AtCompute, AtUpload, AtRandom)
}
