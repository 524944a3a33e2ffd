package experiment

import (
	"fmt"
	"math"
	"os"
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// learnerCommand returns the command of a learner, as a TOML list for a scenario: the test
// binary, of which TestMain makes one. It lacks some of the abilities.
func learnerCommand(lacks ...string) string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return config.Literal(append([]string{self, "learner-for-tests"}, lacks...))
}

// paired is a scenario with a built-in method and the same arithmetic in another process.
func paired(method, options string) string {
	return fmt.Sprintf(`
[methods.inside]
algorithm = %q
options = { %s }
[methods.outside]
algorithm = "external"
program.command = %s
options = { method = %q, options = { %s }, tasks = 5, features = 6, rows_min = 10, rows_max = 30 }
`, method, options, learnerCommand(), method, options)
}

// equalRuns requires two runs to have the same events, times, bytes, energy and model, bit for
// bit.
func equalRuns(t *testing.T, name string, a, b results.Run) {
	t.Helper()
	if a.EventHash != b.EventHash || a.ModelHash != b.ModelHash || a.Steps != b.Steps || a.Status != b.Status {
		t.Errorf("%s: hashes %x %x, steps %d, %s; in another process %x %x, %d, %s", name, a.EventHash, a.ModelHash,
			a.Steps, a.Status, b.EventHash, b.ModelHash, b.Steps, b.Status)
	}
	expect.Must(t, len(a.Rounds) == len(b.Rounds),
		"%s: %d rounds, in another process %d", name, len(a.Rounds), len(b.Rounds))
	for h := range a.Rounds {
		x, y := &a.Rounds[h], &b.Rounds[h]
		if x.TimeS != y.TimeS || x.FLOPs != y.FLOPs || x.BytesDown != y.BytesDown || x.BytesUp != y.BytesUp ||
			x.EnergyJ != y.EnergyJ ||
			x.Participants != y.Participants || x.Dropped != y.Dropped || x.Late != y.Late {
			t.Fatalf("%s: round %d is %+v, in another process %+v", name, h, x, y)
		}
		if math.Float64bits(x.TestError) != math.Float64bits(y.TestError) ||
			math.Float64bits(x.TrainError) != math.Float64bits(y.TrainError) {
			t.Fatalf("%s: round %d has errors %g and %g, in another process %g and %g", name, h, x.TrainError,
				x.TestError, y.TrainError, y.TestError)
		}
	}
}

// A learner in another process with the arithmetic of a built-in method has its times and
// its model, bit for bit, under every protocol.
func TestALearnerInAnotherProcessEqualsTheBuiltInMethod(t *testing.T) {
	t.Parallel()
	for name, set := range map[string][]string{
		"wait-for-all": {"federation.server_gflops=1e-4"},
		"drops":        {"faults.drop_probability=0.2", "network.jitter=0.3"},
		"deadline": {"federation.protocol=deadline", "federation.deadline_s=0.3", "faults.drop_probability=0.2",
			"federation.protocol_options.retries=2"},
		"late": {"federation.protocol=deadline", "federation.deadline_s=0.25",
			"federation.protocol_options.fit_work=false",
			"federation.late=keep", "network.jitter=0.5"},
		"charged": {"federation.protocol=charged", "faults.drop_probability=0.2"},
		"first": {"federation.protocol=first", "federation.clients_per_round=2",
			"federation.protocol_options.over_selection=2"},
		"losses": {"federation.selection=power-of-choice", "federation.clients_per_round=2",
			"federation.selection_options.candidates=4"},
		"speed":    {"federation.selection=speed", "federation.clients_per_round=2"},
		"relative": {"federation.cost=relative"},
		"hubs":     {"network.hubs.size=3", "faults.drop_probability=0.2"},
	} {
		runs := mustGather(t,
			parse(t, paired("fedavg", "batch = 1, step = 0.05"), append(set, "run.rounds=8", "problem.loss=hinge")...),
			Options{})
		equalRuns(t, name, runs[0], runs[1])
	}
	// Dropouts strike after the work: a client that drops before its first one is due when work as usual would be done,
	// which is not known of a program.
	runs := mustGather(t,
		parse(t, paired("fedbuff", "buffer = 2"), "federation.protocol=asynchronous", "faults.drop_probability=0.1",
			"faults.drop_phase=upload", "federation.clients_per_round=3", "problem.loss=hinge"), Options{})
	equalRuns(t, "asynchronous", runs[0], runs[1])
}

// Without one_model hubs add up nothing: they send the response of each client, as they do
// for a method with a model for each task.
func TestHubsAddUpNothingWithoutOneModel(t *testing.T) {
	t.Parallel()
	runs := mustGather(t, parse(t, paired("mb-sgd", "batch = 2"), "network.hubs.size=3", "run.rounds=2"), Options{})
	shared := mustGather(t, parse(t, paired("fedavg", ""), "network.hubs.size=3", "run.rounds=2"), Options{})
	inside, outside, one := runs[0].Rounds[1], runs[1].Rounds[1], shared[1].Rounds[1]
	if runs[0].EventHash != runs[1].EventHash || inside.BytesUp != outside.BytesUp || inside.BytesUp != 2*64+5*48 ||
		one.BytesUp != 2*64+2*48 {
		t.Errorf("%g bytes up, in another process %g, of one model %g", inside.BytesUp, outside.BytesUp, one.BytesUp)
	}
}
