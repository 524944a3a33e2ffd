package federation

import (
	"fmt"
	"math"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/internal/rng"
)

// partialWork is the work of devices that make only some of their epochs in a round, in the
// time of all: the stragglers of Li et al., Federated Optimization in Heterogeneous Networks,
// MLSys 2020, section 5.2. A nil one has none.
type partialWork struct {
	all     int                         // E: the epochs of full work
	full    func(rows, allowed int) int // steps of full work, which may have more than the epochs
	load    *algorithms.Workload        // of the method
	epochs  []int32                     // by device, for the round that asked it; 0: all
	round   int                         // of the last draw; -1: there was none
	refused bool                        // the server drops such work
	lowest  Selection                   // whose draw finds the devices of the lowest keys
}

// validatePartial reports methods without epochs that could be fewer, and servers without
// rounds.
func (f *Config) validatePartial(c *config.Checker, method *algorithms.Description) {
	if f.PartialShare == 0 {
		return
	}
	must := func(ok bool, why string) { c.Require(ok, "partial_share", f.PartialShare, "must be 0 "+why) }
	must(!f.Traits().Continuous, fmt.Sprintf("under protocol %q: partial work is drawn for every round", f.Protocol))
	must(f.Cost != Authors, fmt.Sprintf("with cost %q, which gives every device the same time", Authors))
	epochs := method.Work.Epochs
	if epochs == 0 {
		must(false, fmt.Sprintf("for %s, whose option \"epochs\" is 0 or missing", method.Name))
		return
	}
	must(epochs >= 2 && epochs == math.Trunc(epochs), fmt.Sprintf(
		"or the option \"epochs\" of %s a whole number of at least 2, not %g: a part of them is at least one", method.Name, epochs))
}

func newPartialWork(f *Federation) *partialWork {
	s := &f.setup
	n := s.Clients
	p := &partialWork{
		all: int(f.workload.Epochs), epochs: make([]int32, n), round: -1,
		refused: s.Config.Partial == Drop, lowest: newSelection(f, s.Seed, 0, n),
	}
	p.load, p.full = &f.workload, func(rows, allowed int) int { return int(min(int64(allowed), int64(rows)*int64(p.all))) }
	if f.workload.Steps != nil {
		p.full = f.workload.Steps
	}
	return p
}

// draw draws which of the devices that a round asks do partial work, and makes them slower.
// Every device has a key for the round, and the lowest keys are chosen, so all methods that
// ask the same devices face the same stragglers.
func (p *partialWork) draw(f *Federation, asked []int32) {
	if p == nil {
		return
	}
	p.round = f.round
	for _, t := range asked {
		p.epochs[t] = 0
		f.clients.SetSlower(int(t), 1)
	}
	for _, t := range p.chosen(asked, f.round) {
		p.epochs[t] = p.few(t, f.round, p.all)
		f.clients.SetSlower(int(t), float64(p.all)/float64(p.epochs[t]))
	}
}

// chosen returns which of the devices asked do partial work, in ascending order. It is
// valid until the next call.
func (p *partialWork) chosen(asked []int32, round int) []int32 {
	cfg := &p.lowest.f.setup.Config
	full := int(math.Round(float64(float64(len(asked)) * (1 - cfg.PartialShare))))
	return p.lowest.Lowest(len(asked)-full, asked, func(t int32) float64 {
		s := rng.New(p.lowest.seed, rng.Partial, int(t), round)
		return s.Float64()
	})
}

// few draws how many of all epochs a device makes, from 1 to all but one.
func (p *partialWork) few(t int32, round, all int) int32 {
	s := rng.New(p.lowest.seed, rng.Partial, int(t), round)
	s.Float64() // its key
	return int32(1 + s.IntN(all-1))
}

// waits reports whether nobody has drawn yet for a round.
func (p *partialWork) waits(round int) bool { return p != nil && p.round != round }

// steps returns how many steps device t may take: of those that it could at its usual
// speed, as large a part as its epochs are of all.
func (p *partialWork) steps(t int, rows []int32, allowed int) int {
	if p == nil || p.epochs[t] == 0 {
		return allowed
	}
	n, made, all := int(rows[t]), int64(p.epochs[t]), int64(p.all)
	usual := p.full(n, allowed)
	steps := float64(int64(usual) * made / all)
	if p.load.FLOPs != nil { // in no more time
		steps = min(steps, p.load.Within(n, float64(p.load.Of(n, usual)*float64(made))/float64(all)))
	}
	return int(max(1, steps))
}

// drops reports whether the server drops the response of device t because its work is partial.
func (p *partialWork) drops(t int) bool { return p != nil && p.refused && p.epochs[t] > 0 }
