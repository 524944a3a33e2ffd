package devices

import (
	"fmt"

	"fedsim/config"
)

// Where in a round a drop strikes.
const (
	AtStart   = "start"   // before the device has done anything
	AtCompute = "compute" // at a random point of the computation
	AtUpload  = "upload"  // at a random point of the upload
	AtRandom  = "uniform" // at a random point of the whole round trip
)

// Faults is the table [faults] of a scenario: the probabilities p_t^h with which
// device t drops in round h (paper, assumption 2 and section 5.4). At most one
// of the three probability keys may be set.
type Faults struct {
	DropProbability          float64   `toml:"drop_probability" doc:"probability that a device drops in a round"`
	DropProbabilityPerDevice []float64 `toml:"drop_probability_per_device" doc:"that probability for each device, as many as there are devices; empty: drop_probability for all"`
	DropProbabilityByRound   []float64 `toml:"drop_probability_by_round" doc:"that probability for each round from the first; the last value holds on afterwards; empty: drop_probability in all"`
	Never                    []int     `toml:"never" doc:"devices, counted from 0, that never answer: they drop in every round"`
	OutageShare              float64   `toml:"outage_share" doc:"share of the devices, the first by number, that are of a region whose network goes down; rounded up; 0: none"`
	OutageFromS              float64   `toml:"outage_from_s" doc:"when that network goes down, in virtual seconds"`
	OutageToS                float64   `toml:"outage_to_s" doc:"when it is up again, in virtual seconds"`
	OnReturn                 string    `toml:"on_return" doc:"what becomes of the work of a device that goes away in the middle of it and comes back: \"discard\" (the attempt is lost) or \"resume\" (transfers and computation go on where they were)"`
	Strike                   string    `toml:"drop_phase" was:"strike" doc:"where in a round a device drops: \"start\", \"compute\", \"upload\" (at a random point of it) or \"uniform\" (at a random point of the whole round trip)"`
}

// What becomes of a device's work when it goes away and comes back.
const (
	Discard = "discard" // the attempt is lost
	Resume  = "resume"  // it goes on where it was
)

// DefaultFaults returns the table's defaults: no device ever drops.
func DefaultFaults() Faults { return Faults{Strike: AtStart, OnReturn: Discard} }

// Validate reports everything wrong with the table that can be told without
// knowing how many devices there are; NewDrops tells the rest.
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
		c.Require(ok || len(p) == 0, key, p, "must be left out: set one of drop_probability, drop_probability_per_device and drop_probability_by_round")
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
		c.Require(f.OutageToS == 0, "outage_to_s", f.OutageToS, "must be left out without outage_share")
		c.Require(f.OutageFromS == 0, "outage_from_s", f.OutageFromS, "must be left out without outage_share")
	}
	c.OneOf("on_return", f.OnReturn, Discard, Resume)
	c.OneOf("drop_phase", f.Strike, AtStart, AtCompute, AtUpload, AtRandom)
}
