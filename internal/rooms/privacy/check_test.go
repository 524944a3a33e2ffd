package privacy

import (
	"strings"
	"testing"

	"fedsim/algorithms"
	_ "fedsim/algorithms/methods"
	"fedsim/clients"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/rooms"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// refused returns the problems of a run of a method with the table and under the server.
func refused(table *Config, f *federation.Config, run rooms.Run) []config.Problem {
	c := config.NewChecker()
	checkRun(c, rooms.Settings{Federation: f, Keys: config.Extras{{Key: "privacy", Value: table}}}, run)
	return c.Problems()
}

// describe returns the description of a method with its defaults.
func describe(name string) algorithms.Description {
	f, _ := algorithms.Lookup(name)
	return f.Describe(f.Options(), mtl.Shape{})
}

// A method is refused unless its server needs the sum of updates of the same weight alone.
func TestMethodsThatArePrivate(t *testing.T) {
	table, f := Defaults(), federation.Defaults()
	table.Mechanism, f.Protocol = Central, federation.WaitForAll
	var able []string
	for _, name := range algorithms.Names() {
		if describe(name).Messages.Private {
			able = append(able, name)
		}
	}
	for _, name := range algorithms.Names() {
		about := describe(name)
		problems := refused(&table, &f, rooms.Run{Method: &about})
		switch private := about.Messages.Private; {
		case private && !about.Messages.Unequal:
			expect.That(t, len(problems) == 0, "%s: %v", name, problems)
		case len(problems) != 1:
			t.Errorf("%s: %v: weights are by rows by default, or the method is not private", name, problems)
		case private:
			expect.That(t, strings.Contains(problems[0].Want, "options.weights"), "%s: %v", name, problems)
		default:
			expect.That(t, strings.Contains(problems[0].Want, "one of "+strings.Join(able, ", ")+": "), "%s: %v", name,
				problems)
		}
	}
}

// Settings that no private run has are refused with a remedy.
func TestServersThatHaveNoPrivateSum(t *testing.T) {
	about := describe("fedavg")
	about.Messages.Unequal = false
	for _, x := range []struct {
		change func(*Config, *federation.Config, *rooms.Run)
		key    string
		want   string
	}{
		{func(_ *Config, f *federation.Config, _ *rooms.Run) { f.Late = federation.Keep }, "federation.late", `"drop"`},
		{func(_ *Config, f *federation.Config, _ *rooms.Run) { f.Protocol = protocols.Asynchronous },
			"federation.protocol", "one of a round"},
		{func(_ *Config, f *federation.Config, _ *rooms.Run) { f.Selection, f.Clients.Count = "speed", 3 },
			"federation.selection", `"uniform"`},
		{func(p *Config, f *federation.Config, _ *rooms.Run) {
			p.SecureAggregation, f.Cost = SecAgg, clients.Relative
		}, "federation.cost", `"physical"`},
		{func(p *Config, _ *federation.Config, run *rooms.Run) { p.SecureAggregation, run.HubSize = SecAgg, 3 },
			"network.hubs.size", "must be 0"},
		{func(p *Config, _ *federation.Config, run *rooms.Run) { p.SecureAggregation, run.Coded = SecAgg, true },
			"privacy.secure_aggregation", "one code"},
		{func(p *Config, f *federation.Config, _ *rooms.Run) {
			p.SecureAggregation, f.PartialShare, f.Partial = SecAgg, 0.5, federation.Drop
		}, "federation.partial", `"keep"`},
	} {
		table, f, run := Defaults(), federation.Defaults(), rooms.Run{Method: &about}
		table.Mechanism, f.Protocol = Central, protocols.Deadline
		x.change(&table, &f, &run)
		problems := refused(&table, &f, run)
		if len(problems) != 1 || problems[0].Key != x.key || !strings.Contains(problems[0].Want, x.want) {
			t.Errorf("%v, want %s ... %s", problems, x.key, x.want)
		}
	}
}
