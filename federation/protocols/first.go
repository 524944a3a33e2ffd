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

type firstOptions struct {
	// size of the cohort as a multiple of the responses that end a round, at least 1; rounded up. With
	// too few clients all are selected, and fewer responses end the round
	Over float64 `toml:"over_selection"`
	RetryOptions
}

// Validate reports everything wrong with the options.
func (o *firstOptions) Validate(c *config.Checker) {
	c.Require(o.Over >= 1 && o.Over <= 1e6, "over_selection", o.Over, "must be in [1, 1e6]")
	o.RetryOptions.Validate(c)
}

// RetryOptions say when the server gives up a try of a client, and how often it asks again.
type RetryOptions struct {
	// how often in a round the server asks a client again after a failed attempt, at the time its
	// response was due
	Retries int `toml:"retries"`
	// the server gives up a try that has brought no response so many seconds after its message, and
	// then asks again, by retries
	AnswerTimeoutS float64 `toml:"answer_timeout_s" absent:"0: never"`
}

// Validate reports everything wrong with the options.
func (o *RetryOptions) Validate(c *config.Checker) {
	c.Require(o.Retries >= 0 && o.Retries <= 1000, "retries", o.Retries, "must be in [0, 1000]")
	t := o.AnswerTimeoutS
	c.Require(t == 0 || t >= 1e-9 && t <= 1e9, "answer_timeout_s", t, "must be in [1e-9, 1e9] seconds")
}

func (o *RetryOptions) apply(to *federation.Shared) {
	to.Retries, to.AnswerTimeoutS = o.Retries, o.AnswerTimeoutS
}

func init() {
	federation.RegisterProtocol(federation.ProtocolFactory{
		Name:      First,
		Summary:   "a round ends with the first of more than needed",
		Reference: "Bonawitz et al.: Towards Federated Learning at Scale: System Design, MLSys 2019",
		Keys:      []string{"deadline_s", "selection", "min_reports", "late"},
		Options:   func() config.Options { return &firstOptions{Over: 1} },
		Apply: func(given config.Options, to *federation.Shared) {
			o := given.(*firstOptions)
			to.Over = o.Over
			o.apply(to)
		},
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
