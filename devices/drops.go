package devices

import (
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/internal/tools/rng"
)

// DropPhase is the part of an attempt in which a device drops.
type DropPhase uint8

const (
	DropAtStart   DropPhase = iota // before any work
	DropInCompute                  // the computation
	DropInUpload                   // the upload
	DropAnywhere                   // the whole attempt: downlink, computation and uplink
)

// String returns the phase's name in the key drop_phase.
func (p DropPhase) String() string {
	if int(p) < len(dropPhases) {
		return dropPhases[p]
	}
	return fmt.Sprintf("DropPhase(%d)", uint8(p))
}

var dropPhases = [...]string{DropAtStart: AtStart, DropInCompute: AtCompute, DropInUpload: AtUpload,
	DropAnywhere: AtRandom}

// Drop is the drop of a device in an attempt, if it happens.
type Drop struct {
	Happens bool
	Phase   DropPhase // the phase in which the device drops
	At      float64   // elapsed share of the phase, in [0, 1); 0 at the start
}

// Drops is the fault model: theta_t^h = 1 with probability p_t^h, independently for
// devices, rounds and attempts (paper, assumption 2 and section 5.4).
//
// A device drops if u < p, with a uniform u in [0, 1) that depends only on seed, device,
// round and attempt. So devices that drop at one p also drop at every higher p. None
// drops at 0, and all do at 1.
type Drops struct {
	seed      uint64
	phase     DropPhase
	perDevice []float64 // empty, or one per device
	byRound   []float64 // not empty; one value applies to all rounds
	never     []int     // ascending
}

// NewDrops returns the fault model of a valid table for n devices. The error joins a
// config.Problem for each value that does not fit n.
func NewDrops(cfg Faults, n int, seed uint64) (*Drops, error) {
	c := config.NewChecker().In("faults")
	p := cfg.DropProbability
	c.Require(len(p.ByDevice) == 0 || len(p.ByDevice) == n, "drop_probability", p.ByDevice,
		fmt.Sprintf("must have one value for each of the %d devices, has %d", n, len(p.ByDevice)))
	d := &Drops{
		seed:      seed,
		perDevice: slices.Clone(p.ByDevice),
		byRound:   slices.Clone(p.ByRound),
	}
	if len(d.byRound) == 0 {
		d.byRound = []float64{p.All}
	}
	for i, device := range cfg.Never {
		ok := device >= 0 && device < n
		c.Require(ok, fmt.Sprintf("never[%d]", i), device, fmt.Sprintf("must be the number of a device, in 0..%d", n-1))
		if ok {
			d.never = append(d.never, device)
		}
	}
	slices.Sort(d.never)
	for phase, name := range dropPhases {
		if name == cfg.DropPhase {
			d.phase = DropPhase(phase)
		}
	}
	c.OneOf("drop_phase", cfg.DropPhase, dropPhases[:]...)
	if err := c.Err(); err != nil {
		return nil, err
	}
	return d, nil
}

// Probability returns p_t^h of a device in a round h, counted from 0. It is 1 for a
// device that never responds.
func (d *Drops) Probability(device, round int) float64 {
	if len(d.never) > 0 {
		if _, never := slices.BinarySearch(d.never, device); never {
			return 1
		}
	}
	if len(d.perDevice) > 0 {
		return d.perDevice[device]
	}
	return d.byRound[min(round, len(d.byRound)-1)]
}

// Draw returns whether and when a device drops in an attempt of a round, both counted
// from 0.
//
// It uses the first two numbers of the stream (seed, rng.Drop, device, round + 2^32
// attempt). So no two draws of a run share a number, and later attempts cost no more
// than the first.
func (d *Drops) Draw(device, round, attempt int) Drop {
	p := d.Probability(device, round)
	if p == 0 {
		return Drop{Phase: d.phase}
	}
	s := rng.NewAttempt(d.seed, rng.Drop, device, round, attempt)
	drop := Drop{Happens: s.Float64() < p, Phase: d.phase}
	if at := s.Float64(); d.phase != DropAtStart {
		drop.At = at
	}
	return drop
}
