package federation

import (
	"fmt"
	"math"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/internal/tools/rng"
)

// Partial is the work of devices that make only some of their epochs in a round, in the time of
// all: the stragglers of Li et al., Federated Optimization in Heterogeneous Networks, MLSys
// 2020, section 5.2. A nil one has none.
type Partial struct {
	share   float64 // of the clients
	clients *clients.Clients
	current *int      // the open round
	all     int       // E: the epochs of full work
	epochs  []int32   // by device, for the round that asked it; 0: all
	round   int       // of the last draw; -1: there was none
	refused bool      // the server drops such work
	lowest  Selection // whose draw finds the devices of the lowest keys
}

// ValidatePartial reports servers without rounds, and costs, that partial work does not go
// with.
func (cfg *Config) ValidatePartial(c *config.Checker) {
	if cfg.PartialShare == 0 {
		return
	}
	must := func(ok bool, why string) { c.Require(ok, "partial_share", cfg.PartialShare, "must be 0 "+why) }
	must(!cfg.Traits().Continuous,
		fmt.Sprintf("under protocol %q: partial work is drawn for every round", cfg.Protocol))
	must(cfg.Cost != Authors, fmt.Sprintf("with cost %q, which gives every device the same time", Authors))
}

// Partial returns the partial work under federation.partial_share; nil: there is none.
func (s *Server) Partial() *Partial { return s.attempts.partial }

func newPartial(f *Server) *Partial {
	s := &f.setup
	return &Partial{
		share: s.Config.PartialShare, clients: f.clients, current: &f.round,
		all: f.work.Epochs, epochs: make([]int32, s.Clients), round: -1,
		refused: s.Config.Partial == Drop, lowest: newSelection(f, s.Seed, 0, s.Clients),
	}
}

// Awaits reports whether the partial work of the open round was not drawn yet.
func (p *Partial) Awaits() bool { return p != nil && p.round != *p.current }

// Draw draws which of the clients that a round asks do partial work of so many epochs, and makes
// them slower. Every client has a key for the round, and the lowest keys are chosen, so all
// drivers that ask the same clients face the same stragglers.
func (p *Partial) Draw(asked []int32, epochs int) {
	if p == nil {
		return
	}
	p.all, p.round = epochs, *p.current
	for _, client := range asked {
		p.reset(int(client))
	}
	for _, client := range p.chosen(asked, p.round) {
		p.epochs[client] = p.few(client, p.round, p.all)
		p.clients.SetSlower(int(client), float64(p.all)/float64(p.epochs[client]))
	}
}

// Reset lets all clients do all their epochs, until Draw.
func (p *Partial) Reset() {
	for client := range p.epochs {
		p.reset(client)
	}
}

// Epochs returns how many of all epochs a client makes; 0: all.
func (p *Partial) Epochs(client int) (some, all int) {
	if p == nil {
		return 0, 0
	}
	return int(p.epochs[client]), p.all
}

// reset lets a device do all its epochs.
func (p *Partial) reset(client int) {
	p.epochs[client] = 0
	p.clients.SetSlower(client, 1)
}

// chosen returns which of the devices asked do partial work, in ascending order. It is
// valid until the next call.
func (p *Partial) chosen(asked []int32, round int) []int32 {
	full := int(math.Round(float64(float64(len(asked)) * (1 - p.share))))
	return p.lowest.Lowest(len(asked)-full, asked, func(client int32) float64 {
		s := rng.New(p.lowest.seed, rng.Partial, int(client), round)
		return s.Float64()
	})
}

// few draws how many of all epochs a device makes, from 1 to all but one.
func (p *Partial) few(client int32, round, all int) int32 {
	s := rng.New(p.lowest.seed, rng.Partial, int(client), round)
	s.Float64() // its key
	return int32(1 + s.IntN(all-1))
}

// drops reports whether the server drops the response of a device because its work is partial.
func (p *Partial) drops(client int) bool { return p != nil && p.refused && p.epochs[client] > 0 }
