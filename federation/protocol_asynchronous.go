package federation

import (
	"fmt"

	"fedsim/config"
)

// Asynchronous has no rounds: the server takes every response when it arrives and asks
// another client with the present model. In the results, a round ends with as many
// responses as clients are at work at a time.
const Asynchronous = "asynchronous"

type asynchronous struct{}

func init() {
	RegisterProtocol(ProtocolFactory{
		Name:    Asynchronous,
		Summary: "there are no rounds: every response is taken when it arrives",
		Keys:    []string{"selection"},
		Traits:  func(c *Config) Traits { return Traits{End: EndsWithCount, Continuous: true, Late: c.keepsLate()} },
		Validate: func(f *Config, c *config.Checker) {
			by, known := LookupSelector(f.Selection)
			c.Require(by.Unlisted || !known || f.Selection == Defaults().Selection, "selection", f.Selection,
				fmt.Sprintf("must be %q or a selection by rejection under protocol %q, which has no rounds to choose for", Defaults().Selection, Asynchronous))
		},
		New: func(*Config, config.Options) (Protocol, error) { return asynchronous{}, nil },
	})
}

func (asynchronous) Open(*OpenRound) {}

func (asynchronous) Responded(r *OpenRound, _ int) {
	if r.Received() >= r.Needed() { // compass takes several at once
		r.End()
	}
}

func (asynchronous) Exhausted(*OpenRound) {}

func (asynchronous) Close(*OpenRound) {}
