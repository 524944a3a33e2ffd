package protocols

import (
	"fedsim/config"
	"fedsim/federation"
)

// waitForAll ends a round when every client that it asks has responded. A client that
// fails is asked again, and everyone waits for it.
type waitForAll struct{}

func init() {
	federation.RegisterProtocol(federation.ProtocolFactory{
		Name:    federation.WaitForAll,
		Summary: "a round ends when all have responded; those that fail are asked again",
		Keys:    []string{"selection"},
		Traits: func(c *federation.Config) federation.Traits {
			return federation.Traits{WaitsForAll: true, Late: c.KeepsLate()}
		},
		New: func(*federation.Config, config.Options) (federation.Protocol, error) { return waitForAll{}, nil },
	})
}

func (waitForAll) Open(*federation.OpenRound) {}

func (waitForAll) Responded(r *federation.OpenRound, _ int) {
	if r.Received() >= len(r.Asked()) {
		r.End()
	}
}

func (waitForAll) Exhausted(*federation.OpenRound) {}

func (waitForAll) Close(*federation.OpenRound) {}
