package experiment

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// patienceOptions are the options of a protocol that the tests register.
type patienceOptions struct {
	Rounds int `toml:"rounds" doc:"rounds"`
}

func (o *patienceOptions) Validate(c *config.Checker) {
	c.Require(o.Rounds >= 0, "rounds", o.Rounds, "must not be negative")
}

func init() {
	federation.RegisterProtocol(federation.ProtocolFactory{
		Name: "patience", Summary: "for tests",
		Options: func() config.Options { return &patienceOptions{Rounds: 3} },
		Traits:  func(*federation.Config) federation.Traits { return federation.Traits{} },
		New: func(*federation.Config, config.Options) (federation.Protocol, error) {
			panic("tests do not run it")
		},
	})
	f, _ := algorithms.Lookup("mb-sgd")
	describe := f.Describe
	f.Name, f.Describe = "patient", func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
		d := describe(o, shape)
		d.Protocol = "patience"
		return d
	}
	algorithms.Register(f)
}

// The options of a protocol belong to the methods that use it.
func TestProtocolOptions(t *testing.T) {
	const own = "[methods.mocha]\nprotocol = \"patience\"\n[methods.mb-sgd]\n"
	for _, c := range []struct {
		source string
		want   any // options of mocha
	}{
		{own, &patienceOptions{3}},
		{own + "[federation]\nprotocol_options.rounds = 5\n", &patienceOptions{5}},
		{"[methods.mocha]\nalgorithm = \"patient\"\n[methods.mb-sgd]\n[federation]\nprotocol_options.rounds = 4\n",
			&patienceOptions{4}},
		{"[methods.mocha]\n[federation]\nprotocol = \"patience\"\nprotocol_options.rounds = 6\n", &patienceOptions{6}},
		{"[methods.mocha]\nprotocol = \"wait-for-all\"\n[methods.mb-sgd]\n[federation]\nprotocol = \"patience\"\n",
			nil},
	} {
		s, err := scenario.Parse("x.toml", []byte(c.source), nil)
		if err != nil {
			t.Errorf("%s\n%v", c.source, err)
			continue
		}
		for _, j := range s.Experiments[0].Jobs {
			got, want := j.Candidates[0].Settings.Federation.ProtocolOptions, c.want
			if j.Candidates[0].Method != "mocha" {
				want = nil
				if j.Candidates[0].Settings.Federation.Protocol == "patience" {
					want = &patienceOptions{3}
				}
			}
			diff := cmp.Diff(want, got)
			expect.That(t, diff == "", "%s\n%s (-want +got):\n%s", c.source, j.Candidates[0].ID, diff)
		}
	}
	for source, want := range map[string]string{
		own +
			"[federation]\nprotocol_options.rounds = -1\n": "x.toml:5:27: federation.protocol_options.rounds = -1: " +
			"must not be negative",
		own +
			"[federation]\nprotocol_options.round = 1\n": "x.toml:5:1: " +
			"unknown key federation.protocol_options.round: did you mean rounds?",
		"[methods.mocha]\n[federation]\nprotocol_options.rounds = 1": `x.toml:3:27: ` +
			`federation.protocol_options.rounds = 1: must be left out: no method has protocol patience`,
	} {
		_, err := scenario.Parse("x.toml", []byte(source), nil)
		expect.That(t, err != nil && err.Error() == want, "%s\ngot  %v\nwant %s", source, err, want)
	}
}
