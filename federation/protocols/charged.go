package protocols

import (
	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/tools/rng"
)

// Charged charges every client the time of the same number of steps. Each does a random
// part of them (paper, appendix, "Systems Heterogeneity").
const Charged = "charged"

type charged struct {
	low, high float64     // steps_low, steps_high
	until     engine.Time // clients are charged until then at least, where links are shared
	open      bool        // the end of the round is not set yet, where links are shared
}

type chargedOptions struct {
	// fewest steps of a client in a round, as a share of those of steps_high
	StepsLow float64 `toml:"steps_low"`
	// most steps of a client in a round, as a multiple of the rows of the smallest task; the round
	// charges this many to every client
	StepsHigh float64 `toml:"steps_high"`
}

// Validate reports everything wrong with the options.
func (o *chargedOptions) Validate(c *config.Checker) {
	c.Require(o.StepsLow > 0 && o.StepsLow <= 1, "steps_low", o.StepsLow,
		"must be in (0, 1]: a share of the steps of steps_high")
	c.Require(o.StepsHigh > 0 && o.StepsHigh <= 1e6, "steps_high", o.StepsHigh, "must be in (0, 1e6]")
}

func init() {
	federation.RegisterProtocol(federation.ProtocolFactory{
		Name:    Charged,
		Summary: "every client is charged the time of equal steps; and does a random part of them",
		Reference: "Smith, Chiang, Sanjabi, Talwalkar: Federated Multi-Task Learning, NIPS 2017, appendix, " +
			"Systems Heterogeneity",
		Keys:    []string{"selection", "min_reports"},
		Options: func() config.Options { return &chargedOptions{StepsLow: 0.1, StepsHigh: 1} },
		Apply: func(given config.Options, to *federation.Shared) {
			o := given.(*chargedOptions)
			to.StepsLow, to.StepsHigh = o.StepsLow, o.StepsHigh
		},
		Traits: func(c *federation.Config) federation.Traits {
			p := charged{low: c.StepsLow, high: c.StepsHigh}
			return federation.Traits{End: federation.EndsWithCharge, LimitsWork: true, DrawnSteps: p.drawn,
				Late: c.KeepsLate(), ChargedPasses: c.StepsHigh}
		},
		New: func(c *federation.Config, _ config.Options) (federation.Protocol, error) {
			return &charged{low: c.StepsLow, high: c.StepsHigh}, nil
		},
	})
}

// drawn returns the steps of a client in a round, with the random numbers of OpenRound.Stream.
func (c *charged) drawn(seed uint64, minRows, client, round int) int {
	return c.part(rng.New(seed, rng.Work, client, round), minRows)
}

// part draws a part of the steps that clients are charged, steps_high times the rows of the smallest
// task: from steps_low of them to all.
func (c *charged) part(stream federation.Stream, minRows int) int {
	share := c.low + float64(stream.Float64()*(1-c.low))
	return int(max(1, share*c.high*float64(minRows)))
}

// Steps returns the steps drawn for a client.
func (c *charged) Steps(r *federation.OpenRound, client int) float64 {
	return float64(c.part(r.Stream(client), r.MinRows()))
}

func (c *charged) Open(r *federation.OpenRound) {
	if !r.Sharing() {
		r.EndAt(r.Expected())
		return
	}
	// The round ends when the last response is there, which nobody knows yet.
	c.until, c.open = r.Expected(), true
	if r.Outstanding() <= 0 {
		c.Exhausted(r)
	}
}

func (c *charged) Responded(*federation.OpenRound, int) {}

func (c *charged) Exhausted(r *federation.OpenRound) {
	if c.open {
		r.EndAt(max(r.Now(), c.until))
		c.open = false
	}
}

func (c *charged) Close(*federation.OpenRound) {}
