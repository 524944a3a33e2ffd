package federation

import "fedsim/config"

// WaitForAll ends a round when every client that it asks has responded. A client that
// fails is asked again, and everyone waits for it.
const WaitForAll = "wait-for-all"

type waitForAll struct{}

func init() {
	RegisterProtocol(ProtocolFactory{
		Name:    WaitForAll,
		Summary: "a round ends when every client asked has responded; those that fail are asked again",
		Keys:    []string{"selection"},
		Traits:  func(c *Config) Traits { return Traits{WaitsForAll: true, Late: c.keepsLate()} },
		New:     func(*Config, config.Options) (Protocol, error) { return waitForAll{}, nil },
	})
}

func (waitForAll) Open(*OpenRound) {}

func (waitForAll) Responded(r *OpenRound, _ int) {
	if r.Received() >= len(r.Asked()) {
		r.End()
	}
}

func (waitForAll) Exhausted(*OpenRound) {}

func (waitForAll) Close(*OpenRound) {}
