// Package semiasync is a round protocol. A round ends with its first k responses, or
// when federation.deadline_s has passed, whichever comes first. Clients that are late go
// on with their work. The server takes each late response in the round in which it
// arrives, with a weight that falls with its staleness.
//
// The number k is federation.clients_per_round, and over_selection times as many clients
// are asked. It follows SAFA and FedBuff in part (Wu, He, Lin, Mao, Maple, Jarvis: SAFA:
// a Semi-Asynchronous Protocol for Fast Federated Learning with Low Overhead, IEEE
// Transactions on Computers 2021).
package semiasync

import (
	"math"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
)

// Options are decoded strictly from [federation.protocol_options], over the defaults
// that the factory gives.
type Options struct {
	Discount float64 `toml:"discount" doc:"exponent a of the weight (1 + s)^-a of an update that is s rounds late"`
	Over     float64 `toml:"over_selection" doc:"clients asked, as a multiple of the responses that end a round"`
	Retries  int     `toml:"retries" doc:"how often a client is asked again in a round after a failed attempt"`
}

// Validate reports everything wrong with the options.
func (o *Options) Validate(c *config.Checker) {
	c.Require(o.Discount >= 0 && o.Discount <= 10, "discount", o.Discount, "must be in [0, 10]")
	c.Require(o.Over >= 1 && o.Over <= 1e6, "over_selection", o.Over, "must be in [1, 1e6]")
	c.Require(o.Retries >= 0 && o.Retries <= 1000, "retries", o.Retries, "must be in [0, 1000]")
}

func init() {
	federation.RegisterProtocol(federation.ProtocolFactory{
		Name:      "semi-asynchronous",
		Summary:   "a round ends with k responses or at its deadline; late responses are taken later, with less weight",
		Reference: "after Wu, He, Lin, Mao, Maple, Jarvis: SAFA, IEEE Transactions on Computers 2021",
		Keys:      []string{"deadline_s", "selection", "min_reports"},
		Traits: func(*federation.Config) federation.Traits {
			return federation.Traits{End: federation.EndsWithResponses, Late: true, Weighs: true}
		},
		Validate: func(f *federation.Config, c *config.Checker) {
			c.Require(f.DeadlineS > 0, "deadline_s", f.DeadlineS,
				"must be positive: the longest time of a round of protocol \"semi-asynchronous\"")
		},
		Options: func() config.Options { return &Options{Discount: 0.5, Over: 1} },
		Apply: func(o config.Options, to *federation.Shared) {
			to.Over, to.Retries = o.(*Options).Over, o.(*Options).Retries
		},
		New: func(f *federation.Config, o config.Options) (federation.Protocol, error) {
			return &protocol{limit: engine.FromSeconds(f.DeadlineS), discount: o.(*Options).Discount}, nil
		},
	})
}

// protocol is the protocol of one run.
type protocol struct {
	limit    engine.Time // of a round
	discount float64
}

var _ federation.Weigher = (*protocol)(nil)

// Open ends the round at once when enough late responses have arrived since the last
// round, and at the deadline otherwise.
func (p *protocol) Open(r *federation.OpenRound) {
	if r.Received() >= r.Needed() || r.Outstanding() == 0 {
		r.End()
		return
	}
	r.EndAt(r.Now().Add(p.limit))
}

// Responded ends the round with response k.
func (p *protocol) Responded(r *federation.OpenRound, _ int) {
	if r.Received() >= r.Needed() {
		r.End()
	}
}

// Exhausted ends a round that would wait in vain.
func (p *protocol) Exhausted(r *federation.OpenRound) { r.End() }

// Close keeps nothing from one round to the next.
func (p *protocol) Close(*federation.OpenRound) {}

// Weight is 1 for a response to this round and falls with every round it is late.
func (p *protocol) Weight(r *federation.OpenRound, client int) float64 {
	return math.Pow(1+float64(r.Staleness(client)), -p.discount)
}
