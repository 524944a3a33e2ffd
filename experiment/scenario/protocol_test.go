package scenario

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/federation"
	"fedsim/internal/tools/expect"
)

// protocolsOf returns the protocol of each method of a scenario at its last point.
func protocolsOf(t *testing.T, source string, overrides ...string) map[string]string {
	t.Helper()
	s, err := Parse("x.toml", []byte(source), overrides)
	expect.Must(t, err == nil, "%s\n%v", source, err)
	got := map[string]string{}
	for i := range s.Experiments {
		for k := range s.Experiments[i].Jobs {
			run := &s.Experiments[i].Jobs[k].Candidates[0]
			got[run.Method] = run.Settings.Federation.Protocol
		}
	}
	text, err := s.Resolved()
	expect.NoError(t, err)
	again, err := Parse("x.toml", text, nil)
	expect.NoError(t, err)
	for i := range again.Experiments {
		for k := range again.Experiments[i].Jobs {
			if run :=
				&again.Experiments[i].Jobs[k].Candidates[0]; run.Settings.Federation.Protocol !=
				s.Experiments[i].Jobs[k].Candidates[0].Settings.Federation.Protocol {
				t.Errorf("%s, written with all defaults, has protocol %q", run.ID, run.Settings.Federation.Protocol)
			}
		}
	}
	return got
}

// A method has its own protocol, else that of [federation], else that for which it is made.
func TestProtocolsOfMethods(t *testing.T) {
	const two = "run.max_time_s = 9\n[methods.fedavg]\n[methods.fedbuff]\n"
	for _, c := range []struct {
		source string
		want   map[string]string
	}{
		{two + "[methods.fedasync]\n[methods.asgd]\n[methods.ringmaster]\n[methods.rennala]\n[methods.rescaled]\n" +
			"[methods.ringleader]\n[methods.scaffold]\n", map[string]string{
			"fedavg": "wait-for-all", "scaffold": "wait-for-all", "fedbuff": "asynchronous", "fedasync": "asynchronous",
			"asgd": "asynchronous", "ringmaster": "asynchronous", "rennala": "asynchronous", "rescaled": "asynchronous",
			"ringleader": "asynchronous",
		}},
		{"run.max_time_s = 9\n[methods.mocha]\n[methods.a]\nalgorithm = \"async-mocha\"\n[methods.b]\n" +
			"algorithm = \"async-mocha\"\nprotocol = \"charged\"\n",
			map[string]string{"mocha": "wait-for-all", "a": "asynchronous", "b": "charged"}},
		{"[methods.fedcompass]\n[methods.passes]\nalgorithm = \"fedcompass\"\noptions.epochs = 2\n",
			map[string]string{"fedcompass": "compass", "passes": "asynchronous"}},
		{two + "[federation]\nprotocol = \"wait-for-all\"\n",
			map[string]string{"fedavg": "wait-for-all", "fedbuff": "wait-for-all"}},
		{two + "protocol = \"first\"\n[federation]\nprotocol = \"deadline\"\ndeadline_s = 9\n",
			map[string]string{"fedavg": "deadline", "fedbuff": "first"}},
		{two + "set = { \"federation.protocol\" = \"first\" }\n",
			map[string]string{"fedavg": "wait-for-all", "fedbuff": "first"}},
		{two + "[sweep]\n\"federation.protocol\" = [\"wait-for-all\", \"first\"]\n",
			map[string]string{"fedavg": "first", "fedbuff": "first"}},
	} {
		if got := protocolsOf(t, c.source); !maps.Equal(got, c.want) {
			t.Errorf("%s\n(-want +got):\n%s", c.source, cmp.Diff(c.want, got))
		}
	}
	if got := protocolsOf(t, two, "federation.protocol=first"); got["fedbuff"] != "first" {
		t.Errorf("--set federation.protocol=first gives fedbuff %q", got["fedbuff"])
	}
}

// Options of a protocol reach a method that has it by itself.
func TestOptionsOfAMethodsProtocol(t *testing.T) {
	s := expect.Value(Parse("x.toml", []byte("[federation]\nprotocol_options.max_steps = 30\n[methods.fedcompass]\n"),
		nil))(t)
	o := s.Experiments[0].Jobs[0].Candidates[0].Settings.Federation.ProtocolOptions
	expect.That(t, strings.Contains(fmt.Sprintf("%+v", o), "MaxSteps:30"), "the options are %s", fmt.Sprintf("%+v", o))
}

// The table of options has those of all protocols in force, an option of several once, and each method gets those of
// its own. Read back from the resolved scenario, they are the same.
func TestOptionsOfSeveralProtocols(t *testing.T) {
	source := []byte("[federation]\nprotocol = \"first\"\ndeadline_s = 9\n" +
		"protocol_options = { fit_work = false, retries = 2, over_selection = 1.5 }\n" +
		"[methods.a]\nalgorithm = \"fedavg\"\nprotocol = \"deadline\"\n[methods.b]\nalgorithm = \"fedavg\"\n" +
		"[methods.c]\nalgorithm = \"fedavg\"\nprotocol = \"wait-for-all\"\n[methods.d]\nalgorithm = \"fedavg\"\n" +
		"set = { \"federation.protocol\" = \"deadline\", \"federation.protocol_options.over_selection\" = 1, " +
		"\"federation.protocol_options.margin\" = 0.2 }\n")
	want := map[string]federation.Shared{
		"a": {Retries: 2, StepsLow: 0.1, StepsHigh: 1, Over: 1},
		"b": {Fit: true, Retries: 2, StepsLow: 0.1, StepsHigh: 1, Over: 1.5},
		"c": {Fit: true, StepsLow: 0.1, StepsHigh: 1, Over: 1},
		"d": {Retries: 2, StepsLow: 0.1, StepsHigh: 1, Over: 1, Margin: 0.2},
	}
	for range 2 {
		s := expect.Value(Parse("x.toml", source, nil))(t)
		got := map[string]federation.Shared{}
		for _, j := range s.Experiments[0].Jobs {
			got[j.Candidates[0].Method] = j.Candidates[0].Settings.Federation.Shared
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s\n%s", diff, source)
		}
		source = expect.Value(s.Resolved())(t)
	}
}

func TestProtocolErrors(t *testing.T) {
	const without = "asgd, async-mocha, fedasync, fedbuff, fedcompass, rennala, rescaled, ringleader, ringmaster"
	for source, want := range map[string]string{
		"[methods.fedbuff]\n[methods.avg]\nalgorithm = \"fedavg\"\n[federation]\n" +
			"protocol = \"asynchronous\"\n": `x.toml:5:12: federation.protocol = "asynchronous": must be another: ` +
			`fedavg works in rounds; ` +
			`leave it out, and methods without rounds (` + without +
			`) have their own, or set methods.avg.protocol = "wait-for-all"`,
		"[methods.fedbuff]\n[federation]\nselection = \"oort\"\n": `x.toml:3:13: ` +
			`federation.selection = "oort": must be "uniform" or a selection by rejection under protocol ` +
			`"asynchronous", which has no rounds to choose for`,
		"[methods.fedavg]\n[federation]\nprotocol_options.max_steps = 30\n": `x.toml:3:30: ` +
			`federation.protocol_options.max_steps = 30: must be left out: no method has protocol compass`,
	} {
		_, err := Parse("x.toml", []byte(source), nil)
		expect.That(t, err != nil && err.Error() == want, "%s\ngot  %v\nwant %s", source, err, want)
	}
}
