package federation

import (
	"fmt"
	"math"

	"fedsim/config"
	"fedsim/internal/tools/rng"
)

// Partial is the work of devices that make only some of their epochs in a round, in the time of
// all: the stragglers of Li et al., Federated Optimization in Heterogeneous Networks, MLSys
// 2020, section 5.2. A nil one has none.
type Partial struct {
	server  *Server
	all     int       // E: the epochs of full work
	epochs  []int32   // by device, for the round that asked it; 0: all
	round   int       // of the last draw; -1: there was none
	refused bool      // the server drops such work
	lowest  Selection // whose draw finds the devices of the lowest keys
}

// ValidatePartial reports servers without rounds, and costs, that partial work does not go
// with.
func (f *Config) ValidatePartial(c *config.Checker) {
	if f.PartialShare == 0 {
		return
	}
	must := func(ok bool, why string) { c.Require(ok, "partial_share", f.PartialShare, "must be 0 "+why) }
	must(!f.Traits().Continuous, fmt.Sprintf("under protocol %q: partial work is drawn for every round", f.Protocol))
	must(f.Cost != Authors, fmt.Sprintf("with cost %q, which gives every device the same time", Authors))
}

// Partial returns the partial work under federation.partial_share; nil: there is none.
func (f *Server) Partial() *Partial { return f.partial }

func newPartial(f *Server) *Partial {
	s := &f.setup
	return &Partial{
		server: f, all: f.work.Epochs, epochs: make([]int32, s.Clients), round: -1,
		refused: s.Config.Partial == Drop, lowest: newSelection(f, s.Seed, 0, s.Clients),
	}
}

// Awaits reports whether the partial work of the open round was not drawn yet.
func (p *Partial) Awaits() bool { return p != nil && p.round != p.server.round }

// Draw draws which of the clients that a round asks do partial work of so many epochs, and makes
// them slower. Every client has a key for the round, and the lowest keys are chosen, so all
// drivers that ask the same clients face the same stragglers.
func (p *Partial) Draw(asked []int32, epochs int) {
	if p == nil {
		return
	}
	p.all, p.round = epochs, p.server.round
	for _, t := range asked {
		p.reset(int(t))
	}
	for _, t := range p.chosen(asked, p.round) {
		p.epochs[t] = p.few(t, p.round, p.all)
		p.server.clients.SetSlower(int(t), float64(p.all)/float64(p.epochs[t]))
	}
}

// Reset lets all clients do all their epochs, until Draw.
func (p *Partial) Reset() {
	for t := range p.epochs {
		p.reset(t)
	}
}

// Epochs returns how many of all epochs a client makes; 0: all.
func (p *Partial) Epochs(client int) (some, all int) {
	if p == nil {
		return 0, 0
	}
	return int(p.epochs[client]), p.all
}

// reset lets device t do all its epochs.
func (p *Partial) reset(t int) {
	p.epochs[t] = 0
	p.server.clients.SetSlower(t, 1)
}

// chosen returns which of the devices asked do partial work, in ascending order. It is
// valid until the next call.
func (p *Partial) chosen(asked []int32, round int) []int32 {
	full := int(math.Round(float64(float64(len(asked)) * (1 - p.server.setup.Config.PartialShare))))
	return p.lowest.Lowest(len(asked)-full, asked, func(t int32) float64 {
		s := rng.New(p.lowest.seed, rng.Partial, int(t), round)
		return s.Float64()
	})
}

// few draws how many of all epochs a device makes, from 1 to all but one.
func (p *Partial) few(t int32, round, all int) int32 {
	s := rng.New(p.lowest.seed, rng.Partial, int(t), round)
	s.Float64() // its key
	return int32(1 + s.IntN(all-1))
}

// drops reports whether the server drops the response of device t because its work is partial.
func (p *Partial) drops(t int) bool { return p != nil && p.refused && p.epochs[t] > 0 }
