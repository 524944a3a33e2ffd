// Package utility is a selector. It prefers the clients with the highest loss
// per second of response time. A share of each round's clients is drawn at random, so that
// every client is asked now and then.
//
// The rule is a simple form of Oort's, whose utility of a client is its loss times a
// penalty for slow responses, and which explores clients that have not responded yet
// (Lai, Zhu, Madhyastha, Chowdhury: Oort: Efficient Federated Learning via Guided
// Participant Selection, OSDI 2021).
package utility

import (
	"math"
	"slices"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
)

// Options are decoded strictly from [federation.selection_options], over the factory's
// defaults.
type Options struct {
	Explore float64 `toml:"explore" doc:"share of the clients of a round that are drawn at random, rounded up"`
}

// Validate reports everything wrong with the options.
func (o *Options) Validate(c *config.Checker) {
	c.Require(o.Explore >= 0 && o.Explore <= 1, "explore", o.Explore, "must be in [0, 1]")
}

func init() {
	federation.RegisterSelector(federation.SelectorFactory{
		Name:    "utility",
		Summary: "those with the highest loss per second of response time, and a share at random",
		Reference: "after Lai, Zhu, Madhyastha, Chowdhury: Oort: Efficient Federated Learning via Guided Participant " +
			"Selection, OSDI 2021",
		History: true,
		Losses:  true,
		Options: func() config.Options { return &Options{Explore: 0.2} },
		New: func(_ federation.SelectorSetup, o config.Options) (federation.Selector, error) {
			return &utility{explore: o.(*Options).Explore}, nil
		},
	})
}

// utility is the selector of one run. Its slices are reused from round to round.
type utility struct {
	explore float64
	known   []int32 // available clients that have responded before
	chosen  []int32
	others  []int32 // available clients that are not chosen yet
}

// Select takes the best of the clients that have responded before, and draws the rest
// of the round at random from all others.
func (u *utility) Select(s *federation.Selection) []int32 {
	u.known = u.known[:0]
	for _, client := range s.Available() {
		if s.History(client).Responses > 0 {
			u.known = append(u.known, client)
		}
	}
	random := int(math.Ceil(u.explore * float64(s.Size)))
	best := s.Lowest(s.Size-random, u.known, func(client int32) float64 { return -lossPerSecond(s.History(client)) })
	u.chosen = append(u.chosen[:0], best...)

	u.others = u.others[:0]
	for _, client := range s.Available() {
		if _, found := slices.BinarySearch(best, client); !found {
			u.others = append(u.others, client)
		}
	}
	u.chosen = append(u.chosen, s.Uniform(s.Size-len(u.chosen), u.others)...)
	return u.chosen
}

// lossPerSecond is the loss that a client has reported last, per second of its response time.
func lossPerSecond(h federation.History) float64 {
	return h.Loss / max(h.Time, engine.Time(1)).Seconds()
}
