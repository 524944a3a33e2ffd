package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/results"

	"fedsim/scenarios"
)

// parse reads a scenario that must be right.
func parse(t testing.TB, source string, set ...string) *Scenario {
	t.Helper()
	s := expect.Value(Parse("x.toml", []byte(source), set))(t)
	return s
}

// loaded is Load that must not fail.
func loaded(t testing.TB, name string) *Scenario {
	t.Helper()
	s := expect.Value(Load(name, nil))(t)
	return s
}

// resolvedOf returns the text of the resolved scenario.
func resolvedOf(t testing.TB, s *Scenario) []byte {
	t.Helper()
	text := expect.Value(s.Resolved())(t)
	return text
}

// ids lists the candidates of all jobs in order.
func ids(s *Scenario) []string {
	var list []string
	for _, e := range s.Experiments {
		for _, job := range e.Jobs {
			for _, run := range job.Candidates {
				list = append(list, run.ID)
			}
		}
	}
	return list
}

const grid = `
[methods.cocoa]
[methods.mocha]
label = "MOCHA"
protocol = "charged"

[sweep]
"problem.lambda" = [1e-2, 1]
"network.profile" = ["ethernet"]

[run]
seeds = [7, 8]

[[experiment]]
name = "a"
sweep = { "network.profile" = ["lte", "3g"], "data.skew" = [3] }
[[experiment.axis]]
name = "drops"
points = [
  { label = "p = 0", set = { "faults.drop_probability" = 0 } },
  { label = "1/2", set.faults = { drop_probability = 0.5, never = [0] } },
]
[experiment.figure]
series = "drops"
panel = "network.profile"
emphasis = "1/2"

[[experiment]]
name = "b"
methods = ["mocha"]
set = { "problem.lambda" = 3 }
[experiment.tune.mocha]
"options.epochs" = [2, 1]
`

// Named axes come first, then the experiment's sweeps, then the scenario's, the
// first slowest; then methods; then the tuning grid. Nothing is sorted.
func TestOrder(t *testing.T) {
	s := parse(t, grid)
	want := []string{
		"a/cocoa/drops=p = 0/network.profile=lte/data.skew=3/problem.lambda=0.01/seed=7",
		"a/mocha/drops=p = 0/network.profile=lte/data.skew=3/problem.lambda=0.01/seed=7",
		"a/cocoa/drops=p = 0/network.profile=lte/data.skew=3/problem.lambda=1/seed=7",
		"a/mocha/drops=p = 0/network.profile=lte/data.skew=3/problem.lambda=1/seed=7",
		"a/cocoa/drops=p = 0/network.profile=3g/data.skew=3/problem.lambda=0.01/seed=7",
		"a/mocha/drops=p = 0/network.profile=3g/data.skew=3/problem.lambda=0.01/seed=7",
		"a/cocoa/drops=p = 0/network.profile=3g/data.skew=3/problem.lambda=1/seed=7",
		"a/mocha/drops=p = 0/network.profile=3g/data.skew=3/problem.lambda=1/seed=7",
		"a/cocoa/drops=1%2F2/network.profile=lte/data.skew=3/problem.lambda=0.01/seed=7",
		"a/mocha/drops=1%2F2/network.profile=lte/data.skew=3/problem.lambda=0.01/seed=7",
		"a/cocoa/drops=1%2F2/network.profile=lte/data.skew=3/problem.lambda=1/seed=7",
		"a/mocha/drops=1%2F2/network.profile=lte/data.skew=3/problem.lambda=1/seed=7",
		"a/cocoa/drops=1%2F2/network.profile=3g/data.skew=3/problem.lambda=0.01/seed=7",
		"a/mocha/drops=1%2F2/network.profile=3g/data.skew=3/problem.lambda=0.01/seed=7",
		"a/cocoa/drops=1%2F2/network.profile=3g/data.skew=3/problem.lambda=1/seed=7",
		"a/mocha/drops=1%2F2/network.profile=3g/data.skew=3/problem.lambda=1/seed=7",
		// b sets lambda itself, so that only the link is swept.
		"b/mocha/network.profile=ethernet/options.epochs=2/seed=7",
		"b/mocha/network.profile=ethernet/options.epochs=1/seed=7",
	}
	diff := cmp.Diff(want, ids(s))
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
	axes := []Axis{{Name: "drops"}, {Name: "network.profile"}, {Name: "data.skew"}, {Name: "problem.lambda"}}
	diff = cmp.Diff(axes, s.Experiments[0].Axes)
	expect.That(t, diff == "", "axes (-want +got):\n%s", diff)
}

func TestRun(t *testing.T) {
	s := parse(t, grid)
	run := s.Experiments[0].Jobs[11].Candidates[0]
	expect.That(t, run.Experiment == "a" && run.Method == "mocha" && run.Label == "MOCHA" && run.Algorithm == "mocha",
		"run is %+v", run)
	if got := run.Settings.Federation.Protocol; got != "charged" {
		t.Errorf("the method's protocol is not in force: %q", got)
	}
	if got := s.Experiments[0].Jobs[10].Candidates[0].Settings.Federation.Protocol; got != "wait-for-all" {
		t.Errorf("cocoa has the protocol %q", got)
	}
	want := []results.Setting{
		{Key: "drops", Value: "1/2"}, {Key: "network.profile", Value: "lte"},
		{Key: "data.skew", Value: "3"}, {Key: "problem.lambda", Value: "1"},
	}
	diff := cmp.Diff(want, run.Point)
	expect.That(t, diff == "", "point (-want +got):\n%s", diff)
	if run.Settings.Faults.DropProbability.All != 0.5 || !cmp.Equal(run.Settings.Faults.Never, []int{0}) ||
		run.Settings.Network.Profile != "lte" || run.Settings.Data.Skew != 3 || run.Settings.Problem.Lambda != 1 {
		t.Errorf("settings of the point are not in force: %+v", run.Settings)
	}
	job := s.Experiments[1].Jobs[0]
	diff = cmp.Diff([]uint64{7, 8}, job.Seeds)
	expect.That(t, diff == "", "seeds (-want +got):\n%s", diff)
	for i, epochs := range []float64{2, 1} {
		got := job.Candidates[i].Options.(*algorithms.MOCHAOptions).Epochs
		expect.That(t, got == epochs, "candidate %d has %g epochs, want %g", i, got, epochs)
	}
	diff = cmp.Diff([]results.Setting{{Key: "options.epochs", Value: "1"}}, job.Candidates[1].Tuned)
	expect.That(t, diff == "", "tuned (-want +got):\n%s", diff)
	again := job.Candidates[1].WithSeed(8)
	if again.Seed != 8 || again.ID != "b/mocha/network.profile=ethernet/options.epochs=1/seed=8" ||
		job.Candidates[1].Seed != 7 {
		t.Errorf("WithSeed gives %s (%d) and leaves %d", again.ID, again.Seed, job.Candidates[1].Seed)
	}
	if got := s.Experiments[1].Tuning.Target; got != results.ToSuboptimality(1e-3) {
		t.Errorf("tuning target %v, want the default 1e-3", got)
	}
}

// defaults < file < experiment's set < point < tuned option < --set.
func TestPrecedence(t *testing.T) {
	rounds := func(source string, set ...string) int {
		return parse(t, source, set...).Experiments[0].Jobs[0].Candidates[0].Settings.Run.Rounds
	}
	file := mocha + "[run]\nrounds = 2\n"
	experiment := file + "[[experiment]]\nname = \"a\"\nset = { \"run.rounds\" = 3 }\n"
	point := file + "[[experiment]]\nname = \"a\"\nsweep = { \"run.rounds\" = [4] }\n"
	axis := file + "[[experiment]]\nname = \"a\"\n[[experiment.axis]]\nname = \"b\"\npoints = [{ label = \"c\", " +
		"set.run.rounds = 5 }]\n"
	for _, test := range []struct {
		name   string
		source string
		want   int
	}{
		{"default", mocha, 100}, {"file", file, 2}, {"experiment", experiment, 3}, {"sweep", point, 4},
		{"axis", axis, 5},
		{"scenario's sweep", file + "[sweep]\n\"run.rounds\" = [6]\n", 6},
		{"experiment over scenario's sweep", strings.Replace(experiment, "[[", "[sweep]\n\"run.rounds\" = [6]\n[[", 1),
			3},
	} {
		got := rounds(test.source)
		expect.That(t, got == test.want, "%s: %d rounds, want %d", test.name, got, test.want)
		got = rounds(test.source, "run.rounds=9", "run={rounds=8}")
		expect.That(t, got == 8, "%s: %d rounds, want the 8 of the last --set", test.name, got)
	}
	const tune = "[methods.mocha]\noptions.epochs = 2\n[[experiment]]\nname = \"a\"\n[experiment.tune.mocha]\n" +
		"options.epochs = [3, 4]\n"
	epochs := func(set ...string) (got []float64) {
		for _, run := range parse(t, tune, set...).Experiments[0].Jobs[0].Candidates {
			got = append(got, run.Options.(*algorithms.MOCHAOptions).Epochs)
		}
		return got
	}
	diff := cmp.Diff([]float64{3, 4}, epochs())
	expect.That(t, diff == "", "tuned epochs (-want +got):\n%s", diff)
	diff = cmp.Diff([]float64{5}, epochs("methods.mocha.options.epochs=5"))
	expect.That(t, diff == "", "overridden epochs (-want +got):\n%s", diff)
}

func TestOverrides(t *testing.T) {
	for _, test := range []struct {
		name string
		set  []string
		want []string
	}{
		{"swept key collapses",
			[]string{"network.profile=wifi", "experiment.b.methods=[\"cocoa\"]", "problem.lambda=2",
				"experiment.a.axis.drops=1/2"}, []string{
				"a/cocoa/drops=1%2F2/network.profile=wifi/data.skew=3/problem.lambda=2/seed=7",
				"a/mocha/drops=1%2F2/network.profile=wifi/data.skew=3/problem.lambda=2/seed=7",
				"b/cocoa/network.profile=wifi/seed=7",
			}},
		{"keys of experiments", []string{
			"experiment.a.sweep={network={profile=['wifi']},problem.lambda=[5]}", "experiment.a.methods=['mocha']",
			"experiment.a.axis.drops=['p = 0']", "experiment.b.tune.mocha.options.epochs=[4,5]",
			"sweep.network.profile=['lte']", "run.seeds=[3]",
		}, []string{
			"a/mocha/drops=p = 0/network.profile=wifi/data.skew=3/problem.lambda=5/seed=3",
			"b/mocha/network.profile=lte/options.epochs=4/seed=3",
			"b/mocha/network.profile=lte/options.epochs=5/seed=3",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			source := grid
			if test.name == "swept key collapses" {
				source = source[:strings.Index(source, "[experiment.tune")] // cocoa is not tuned
			}
			diff := cmp.Diff(test.want, ids(parse(t, source, test.set...)))
			expect.That(t, diff == "", "(-want +got):\n%s", diff)
		})
	}
}

// A named axis that sets one key is a sweep with other labels: it collapses
// too, and takes the name of the value, since the old one would be wrong.
func TestOverrideCollapsesAxisOfOneKey(t *testing.T) {
	source := mocha + "[[experiment]]\nname = \"a\"\n[[experiment.axis]]\nname = \"b\"\n" +
		"points = [{ label = \"few\", set.run.rounds = 5 }, { label = \"many\", set.run.rounds = 50 }]\n" +
		"[experiment.figure]\nseries = \"b\"\nemphasis = \"few\"\n"
	s := parse(t, source, "run.rounds=7")
	diff := cmp.Diff([]string{"a/mocha/b=7/seed=1"}, ids(s))
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
	got := s.Experiments[0].Figures[0].Emphasis
	expect.That(t, got == "", "the figure emphasises %q, which is gone", got)
}

func TestWithoutExperiments(t *testing.T) {
	s := parse(t, mocha+"[methods.a]\nalgorithm = \"cocoa\"\n")
	if s.Name != "x" || len(s.Experiments) != 1 || s.Experiments[0].Name != "x" || s.Experiments[0].Figures != nil {
		t.Errorf("scenario %q with experiments %+v", s.Name, s.Experiments)
	}
	diff := cmp.Diff([]string{"x/mocha/seed=1", "x/a/seed=1"}, ids(s))
	expect.That(t, diff == "", "methods are not in the order of the file (-want +got):\n%s", diff)
}

// The settings of a run do not change those of another.
func TestRunsShareNothing(t *testing.T) {
	s := parse(t, grid)
	run := func(i int) *RunSpec { return &s.Experiments[0].Jobs[i].Candidates[0] }
	run(1).Options.(*algorithms.MOCHAOptions).Epochs = 99
	run(1).Settings.Run.Seeds[0] = 99
	expect.That(t, run(3).Options.(*algorithms.MOCHAOptions).Epochs != 99 && run(3).Settings.Run.Seeds[0] != 99,
		"two runs share options or lists")
}

func TestShipped(t *testing.T) {
	shipped := scenarios.Shipped()
	expect.Must(t, len(shipped) != 0, "nothing is shipped")
	for _, info := range shipped {
		s, err := Load(info.Name, nil)
		if err != nil {
			t.Errorf("%s: %v", info.Name, err)
			continue
		}
		expect.That(t, s.Name == info.Name && info.Description != "" && s.Description == info.Description,
			"%s: name %q, description %q against %q", info.Name, s.Name, s.Description, info.Description)
		fromFile, err := Load("../../scenarios/"+info.Name+scenarios.Extension, nil)
		if err != nil {
			t.Errorf("%s from its file: %v", info.Name, err)
			continue
		}
		diff := cmp.Diff(ids(s), ids(fromFile))
		expect.That(t, diff == "", "%s differs from its file:\n%s", info.Name, diff)
	}
}

// TestWholeFloatsAreIntegers: 1e3 is written where an integer is meant, in files and overrides.
func TestWholeFloatsAreIntegers(t *testing.T) {
	s := parse(t, "[run]\nrounds = 1e3\nseeds = [1.0, 2e0]\n[methods.mocha]\n", "data.synthetic.clients=1e1")
	if r := s.Settings.Run; r.Rounds != 1000 || len(r.Seeds) != 2 || r.Seeds[1] != 2 ||
		s.Settings.Data.Synthetic.Clients != 10 {
		t.Errorf("got %+v", s.Settings.Run)
	}
	resolveAgain(t, s)
}
