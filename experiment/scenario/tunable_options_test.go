package scenario

import (
	"testing"

	"fedsim/internal/tools/expect"
)

// Grids of options of protocols grow as those of methods do.
func TestOptionsOfProtocolsAreTunable(t *testing.T) {
	const source = `
[federation]
protocol = "charged"
[methods.mb-sgd]
[[experiment]]
name = "x"
[experiment.tune.mb-sgd]
"federation.protocol_options.steps_high" = [1, 3]
`
	s := expect.Value(Parse("x.toml", []byte(source), nil))(t)
	got := s.Experiments[0].Jobs[0].Options[0]
	expect.That(t, len(got.Values) == 2 && !got.Integer, "%+v must have two values, not whole alone", got)
}
