package devices

import (
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

func TestFormsOfDropProbability(t *testing.T) {
	for text, want := range map[string]DropProbability{
		"0.25":                      {All: 0.25},
		"1":                         {All: 1},
		"[0.5, 0, 1]":               {ByDevice: []float64{0.5, 0, 1}},
		"{ by_round = [0.1, 0.3] }": {ByRound: []float64{0.1, 0.3}},
	} {
		for _, text := range []string{text, config.Literal(want)} {
			root := expect.Value(config.Parse("x.toml", []byte("drop_probability = "+text)))(t)
			got := DefaultFaults()
			problems := config.Decode(root, "faults", &got)
			expect.That(t, problems.Err() == nil, "%s: %v", text, problems.Err())
			d := cmp.Diff(want, got.DropProbability)
			expect.That(t, d == "", "%s: %s", text, d)
		}
	}
	for text, want := range map[string]string{
		`"often"`: `20: faults.drop_probability = "often": must be a number, a list with one for each device, ` +
			`or { by_round = [...] }`,
		`[0.1, "often"]`:     `26: faults.drop_probability[1] = "often": must be a number`,
		`{ by_rounds = [] }`: `22: unknown key faults.drop_probability.by_rounds: did you mean by_round?`,
	} {
		root := expect.Value(config.Parse("x.toml", []byte("drop_probability = "+text)))(t)
		cfg := DefaultFaults()
		problems := config.Decode(root, "faults", &cfg)
		got := problems.Err()
		expect.That(t, got != nil && got.Error() == "x.toml:1:"+want, "%s: %v", text, got)
	}
}
