package federation

import (
	"fedsim/config"
	"fedsim/engine"
)

// Charged charges every client the time of the same number of steps. Each does a random
// part of them (paper, appendix, "Systems Heterogeneity").
const Charged = "charged"

type charged struct {
	low, high float64     // steps, as multiples of the rows of the smallest task
	until     engine.Time // clients are charged until then at least, where links are shared
	open      bool        // the end of the round is not set yet, where links are shared
}

func init() {
	RegisterProtocol(ProtocolFactory{
		Name:      Charged,
		Summary:   "every client is charged the time of the same number of steps and does a random part of them",
		Reference: "Smith, Chiang, Sanjabi, Talwalkar: Federated Multi-Task Learning, NIPS 2017, appendix, Systems Heterogeneity",
		Keys:      []string{"selection", "min_reports"},
		Traits: func(c *Config) Traits {
			return Traits{End: EndsWithCharge, LimitsWork: true, Late: c.keepsLate(), ChargedPasses: c.StepsHigh}
		},
		New: func(c *Config, _ config.Options) (Protocol, error) {
			return &charged{low: c.StepsLow, high: c.StepsHigh}, nil
		},
	})
}

// Steps draws a part of the steps that clients are charged.
func (p *charged) Steps(r *OpenRound, client int) float64 {
	s := r.Stream(client)
	share := p.low + float64(s.Float64()*(p.high-p.low))
	return max(1, share*float64(r.MinRows()))
}

func (p *charged) Open(r *OpenRound) {
	if !r.Sharing() {
		r.EndAt(r.Expected())
		return
	}
	// The round ends when the last response is there, which nobody knows yet.
	p.until, p.open = r.Expected(), true
	if r.Outstanding() <= 0 {
		p.Exhausted(r)
	}
}

func (p *charged) Responded(*OpenRound, int) {}

func (p *charged) Exhausted(r *OpenRound) {
	if p.open {
		r.EndAt(max(r.Now(), p.until))
		p.open = false
	}
}

func (p *charged) Close(*OpenRound) {}
