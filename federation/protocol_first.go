package federation

import (
	"fedsim/config"
	"fedsim/engine"
)

// First asks more clients than it needs and ends a round with the first responses
// (over-selection: Bonawitz et al., MLSys 2019).
const First = "first"

type first struct {
	limit engine.Time // of a round; 0: none
}

func init() {
	RegisterProtocol(ProtocolFactory{
		Name:      First,
		Summary:   "a round ends with the first responses of more clients than needed",
		Reference: "Bonawitz et al.: Towards Federated Learning at Scale: System Design, MLSys 2019",
		Keys:      []string{"deadline_s", "selection", "over_selection", "retries", "min_reports", "late"},
		Traits:    func(c *Config) Traits { return Traits{Late: c.keepsLate()} },
		New: func(c *Config, _ config.Options) (Protocol, error) {
			return &first{limit: engine.FromSeconds(c.DeadlineS)}, nil
		},
	})
}

func (p *first) Open(r *OpenRound) {
	switch {
	case r.Received() >= r.Needed() || r.Outstanding() == 0: // late responses came since the last round
		r.End()
	case p.limit > 0:
		r.EndAt(r.Now().Add(p.limit))
	}
}

func (p *first) Responded(r *OpenRound, _ int) {
	if r.Received() >= r.Needed() {
		r.End()
	}
}

func (p *first) Exhausted(r *OpenRound) { r.End() }

func (p *first) Close(*OpenRound) {}
