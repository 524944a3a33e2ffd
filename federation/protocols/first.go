package protocols

import (
	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
)

// First asks more clients than it needs and ends a round with the first responses
// (over-selection: Bonawitz et al., MLSys 2019).
const First = "first"

type first struct {
	limit engine.Time // of a round; 0: none
}

func init() {
	federation.RegisterProtocol(federation.ProtocolFactory{
		Name:      First,
		Summary:   "a round ends with the first of more than needed",
		Reference: "Bonawitz et al.: Towards Federated Learning at Scale: System Design, MLSys 2019",
		Keys:      []string{"deadline_s", "selection", "over_selection", "retries", "min_reports", "late"},
		Traits: func(c *federation.Config) federation.Traits {
			return federation.Traits{Late: c.KeepsLate()}
		},
		New: func(c *federation.Config, _ config.Options) (federation.Protocol, error) {
			return &first{limit: engine.FromSeconds(c.DeadlineS)}, nil
		},
	})
}

func (f *first) Open(r *federation.OpenRound) {
	switch {
	case r.Received() >= r.Needed() || r.Outstanding() == 0: // late responses came since the last round
		r.End()
	case f.limit > 0:
		r.EndAt(r.Now().Add(f.limit))
	}
}

func (f *first) Responded(r *federation.OpenRound, _ int) {
	if r.Received() >= r.Needed() {
		r.End()
	}
}

func (f *first) Exhausted(r *federation.OpenRound) { r.End() }

func (f *first) Close(*federation.OpenRound) {}
