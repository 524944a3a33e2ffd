package federation

import (
	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// Charged charges every client the time of the same number of steps. Each does a random
// part of them (paper, appendix, "Systems Heterogeneity").
const Charged = "charged"

type charged struct {
	drawn func(seed uint64, minRows, client, round int) int
	until engine.Time // clients are charged until then at least, where links are shared
	open  bool        // the end of the round is not set yet, where links are shared
}

func init() {
	RegisterProtocol(ProtocolFactory{
		Name:      Charged,
		Summary:   "every client is charged the time of the same number of steps and does a random part of them",
		Reference: "Smith, Chiang, Sanjabi, Talwalkar: Federated Multi-Task Learning, NIPS 2017, appendix, Systems Heterogeneity",
		Keys:      []string{"selection", "min_reports"},
		Traits: func(c *Config) Traits {
			return Traits{End: EndsWithCharge, LimitsWork: true, DrawnSteps: c.drawnSteps, Late: c.keepsLate(), ChargedPasses: c.StepsHigh}
		},
		New: func(c *Config, _ config.Options) (Protocol, error) {
			return &charged{drawn: c.drawnSteps}, nil
		},
	})
}

// drawnSteps draws a part of the steps that clients are charged, steps_high times the rows of the smallest
// task: from steps_low of them to all.
func (f *Config) drawnSteps(seed uint64, minRows, client, round int) int {
	s := rng.New(seed, rng.Work, client, round)
	share := f.StepsLow + float64(s.Float64()*(1-f.StepsLow))
	return int(max(1, share*f.StepsHigh*float64(minRows)))
}

// Steps returns the steps drawn for a client.
func (p *charged) Steps(r *OpenRound, client int) float64 {
	return float64(p.drawn(r.server.setup.Seed, r.MinRows(), client, r.server.round))
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
