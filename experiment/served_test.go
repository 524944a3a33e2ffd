package experiment

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms"
	"fedsim/internal/rooms/outside/external"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// networks is a scenario in which a method learns a network of fedsim, and in another experiment the
// same network in another process.
func networks(method, options string, processes int, model ...string) string {
	return fmt.Sprintf(`
[methods.it]
algorithm = %q
options = { %s }
[[experiment]]
name = "inside"
[experiment.set]
"problem.model" = "mlp"
"problem.model_options.hidden" = [4]
"problem.loss" = "softmax"
[[experiment]]
name = "outside"
[experiment.set]
"problem.model" = "external"
"problem.program.processes" = %d
"problem.program.command" = %s
`, method, options, processes, modelCommand(model...))
}

// withClasses are the settings of the data and the problem.
var withClasses = []string{"problem.regularizer_options.warm_start=0", "data.target=classes",
	"data.synthetic.classes=3",
	"problem.regularizer=independent", "problem.lambda=1e-6", "data.test_fraction=0.25", "run.rounds=20"}

// modelCommand returns the command of the program of an external model, as a TOML list: the test
// binary, of which TestMain makes one.
func modelCommand(arguments ...string) string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return config.Literal(append([]string{self, "model-for-tests"}, arguments...))
}

// closeRuns requires two runs to have the same events, and measures that agree to a tolerance.
func closeRuns(t *testing.T, a, b results.Run, tolerance float64) {
	t.Helper()
	if a.EventHash != b.EventHash || a.Steps != b.Steps || a.Status != b.Status || len(a.Rounds) != len(b.Rounds) {
		t.Fatalf("inside: events %x, %d steps, %s, %d rounds; outside: %x, %d, %s, %d", a.EventHash, a.Steps, a.Status,
			len(a.Rounds), b.EventHash, b.Steps, b.Status, len(b.Rounds))
	}
	for h := range a.Rounds {
		x, y := &a.Rounds[h], &b.Rounds[h]
		for _, m := range [][2]float64{{x.Primal, y.Primal}, {x.TrainError, y.TrainError}, {x.TestError, y.TestError},
			{x.ValidationError, y.ValidationError}} {
			if math.IsNaN(m[0]) && math.IsNaN(m[1]) {
				continue
			}
			expect.Must(t, math.Abs(m[0]-m[1]) <= tolerance*math.Max(1, math.Abs(m[0])),
				"round %d: %v inside, %v outside", h, m[0], m[1])
		}
	}
	if last := a.Rounds[len(a.Rounds)-1]; !(last.Primal < a.Rounds[0].Primal) {
		t.Errorf("nothing is learned: P goes from %g to %g", a.Rounds[0].Primal, last.Primal)
	}
}

// A network in plain loops in another process learns as that of fedsim does, under every method that
// takes gradients, to 1e-9 after 20 rounds: only the order of sums differs.
func TestAnExternalModelEqualsTheBuiltInNetwork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options string
		set     []string
	}{
		"fedavg":     {"batch = 4, epochs = 2", nil},
		"fedprox":    {"batch = 4, mu = 0.1, momentum = 0.5", nil},
		"fedavgm":    {"batch = 4", nil},
		"fedadam":    {"batch = 4", nil},
		"fedyogi":    {"batch = 4", nil},
		"fedadagrad": {"batch = 4", nil},
		"scaffold":   {"batch = 4", nil},
		"feddyn":     {"batch = 4", nil},
		"fednova":    {"batch = 4", nil},
		"mifa":       {"batch = 4", []string{"faults.drop_probability=0.3", "federation.protocol=first"}},
		"fedvarp":    {"batch = 4", []string{"faults.drop_probability=0.3", "federation.protocol=first"}},
		"fedau":      {"batch = 4", []string{"faults.drop_probability=0.3", "federation.protocol=first"}},
		"fedbuff": {"batch = 4, buffer = 2",
			[]string{"federation.protocol=asynchronous", "federation.clients_per_round=3"}},
		"fedasync": {"batch = 4", []string{"federation.protocol=asynchronous", "federation.clients_per_round=3"}},
		"ringmaster": {"batch = 4, delay = 2",
			[]string{"federation.protocol=asynchronous", "federation.clients_per_round=3"}},
		"rennala": {"batch = 4, gradients = 2, stop = true",
			[]string{"federation.protocol=asynchronous", "federation.clients_per_round=3"}},
		"rescaled":   {"batch = 4", []string{"federation.protocol=asynchronous"}},
		"ringleader": {"batch = 4", []string{"federation.protocol=asynchronous"}},
		"fedcompass": {"batch = 4",
			[]string{"federation.protocol=compass", "federation.protocol_options={min_steps = 2, max_steps = 6}"}},
		"ditto":      {"batch = 4", nil},
		"apfl":       {"batch = 4", nil},
		"per-fedavg": {"batch = 4, variant = \"hessian-free\"", nil},
		"fedem":      {"batch = 4", []string{"federation.clients_per_round=3"}},
		"hierfavg":   {"batch = 4", []string{"network.hubs.size=3"}},
		"gossip":     {"batch = 4", nil},
		"mb-sgd":     {"batch = 4, step = 0.1, delay = 100.0", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := mustGather(t,
				parse(t, networks(name, c.options, 1), append(slices.Clone(withClasses), c.set...)...), Options{})
			inside := runs[0]
			if name == "fedem" { // the FLOPs of losses alone are not known of a program
				inside.EventHash = runs[1].EventHash
			}
			closeRuns(t, inside, runs[1], 1e-9)
			two := mustGather(t, parse(t, networks(name, c.options, 2), append(slices.Clone(withClasses), c.set...)...),
				Options{Workers: 2})
			equalRuns(t, name+" over two processes", runs[1], two[1])
		})
	}
}

// Codecs, privacy, selectors by losses, validation rows and tuning work with an external model as
// with a network of fedsim.
func TestAnExternalModelUnderTheRestOfFedsim(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options   string
		set       []string
		tolerance float64
	}{
		"rounded":    {"", []string{"compression.up=float16"}, 1e-9},
		"top-k":      {"", []string{"compression.up=top-k", "run.rounds=1"}, 1e-9},
		"stochastic": {"", []string{"compression.up=qsgd", "run.rounds=1"}, 1e-9},
		"privacy": {"weights = \"equal\"", []string{"privacy.mechanism=central",
			"privacy.mechanism_options.noise_multiplier=0.1"}, 1e-9},
		"secure": {"weights = \"equal\"", []string{"privacy.secure_aggregation=secagg", "run.rounds=1"}, 1e-6},
		"losses": {"",
			[]string{"federation.selection=power-of-choice", "federation.clients_per_round=2",
				"federation.selection_options.candidates=4"}, 1e-9},
		"sampled losses": {"",
			[]string{"federation.selection=cpow-d", "federation.clients_per_round=2",
				"federation.selection_options.candidates=4", "federation.selection_options.batch=3"}, 1e-9},
		"oort": {"", []string{"federation.selection=oort", "federation.clients_per_round=2"}, 1e-9},
		"validation": {"",
			[]string{"data.validation_fraction=0.2", "run.client_metrics=[\"error\", \"loss\"]", "run.clients_every=1"},
			1e-9},
		"pool":         {"", []string{"data.pool=true"}, 1e-9},
		"shared tasks": {"", []string{"data.clients_per_task=2"}, 1e-9},
		"float rows":   {"", []string{"data.precision=float32"}, 1e-9},
		"not resident": {"", []string{"data.resident=false", "problem.optimum.when=never"}, 1e-9},
		"all rows":     {`batch = "all"`, nil, 1e-9},
		"drops":        {"", []string{"faults.drop_probability=0.3"}, 1e-9},
		"deadline":     {"", []string{"federation.protocol=deadline", "federation.deadline_s=0.3"}, 1e-9},
		"coupled":      {"", []string{"problem.regularizer=probabilistic", "run.outer=2"}, 1e-9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := append(slices.Clone(withClasses), c.set...)
			runs := mustGather(t, parse(t, networks("fedavg", c.options, 2), set...), Options{})
			closeRuns(t, runs[0], runs[1], c.tolerance)
		})
	}
}

// A float32 model is given rounded weights: what it learns is that of the network of fedsim but for
// the rounding.
func TestASinglePrecisionExternalModel(t *testing.T) {
	t.Parallel()
	runs := mustGather(t,
		parse(t, networks("fedavg", "batch = 4", 1, "-dtype=float32"),
			append(slices.Clone(withClasses), "run.rounds=1")...), Options{})
	closeRuns(t, runs[0], runs[1], 1e-5)
	expect.That(t, runs[0].Rounds[1].Primal != runs[1].Rounds[1].Primal, "the model is not rounded")
	_, err := gather(t.Context(),
		parse(t, networks("per-fedavg", `variant = "hessian-free"`, 1, "-dtype=float32"), withClasses...), Options{})
	want := `options.variant = "hessian-free": must be "first-order": a difference of gradients of a model in single ` +
		`precision has no correct digits`
	expect.That(t, err != nil && strings.Contains(err.Error(), want), "got %v, want %s", err, want)
}

// A program that reports mean losses alone serves all selectors but those that read their squares.
func TestSelectorsWithoutSquaredLosses(t *testing.T) {
	t.Parallel()
	for selection, want := range map[string]string{
		"power-of-choice": "", "cpow-d": "", "rpow-d": "",
		"oort": "must be another, or have options that need mean losses alone: the program of the model reports no " +
			"squared_losses",
	} {
		set := append(slices.Clone(withClasses), "run.rounds=2", "federation.clients_per_round=2",
			"federation.selection="+selection)
		if selection != "oort" {
			set = append(set, "federation.selection_options.candidates=4")
		}
		_, err := gather(t.Context(), parse(t, servedBy("", "-means"), set...), Options{})
		expect.That(t, (err != nil) == (want != "") && (err == nil || strings.Contains(err.Error(), want)),
			"%s: got %v, want %q", selection, err, want)
	}
}

// Methods that need dual variables, the central solver or scores refuse an external model when the
// scenario is read.
func TestWhatAnExternalModelCannotDo(t *testing.T) {
	t.Parallel()
	const outside = "problem.model=external"
	for _, c := range []struct {
		method, set, want string
	}{
		{"mocha", "", `problem.model=external: must be "linear", or the method a primal one such as mb-sgd or ` +
			`fedavg: mocha is a dual method`},
		{"optimum", "",
			`must be "auto", and problem.model "linear": optimum is the model that the central solver finds`},
		{"fedavg", "problem.loss=softmax",
			`problem.loss=softmax: must be left out when model is "external": its program has the loss`},
		{"fedavg", "problem.regularizer_options.warm_start=1",
			`problem.regularizer_options.warm_start=1: must be 0 when model is "external": ` +
				`the central solver is for linear models`},
		{"fedavg", "problem.program.command=[]",
			`problem.program.command=[]: must be the program of the model and its arguments`},
	} {
		source := fmt.Sprintf("[methods.%s]\n", c.method)
		set := []string{"problem.regularizer_options.warm_start=0", outside, "problem.program.command=" +
			modelCommand()}
		if c.set != "" {
			set = append(set, c.set)
		}
		if err := parseError(source, set...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: got %v, want %s", c.method, c.set, err, c.want)
		}
	}
}

// The last layer of a network in another process stays with clients by the names of its arrays, as that of a network of
// fedsim does. fedrep has the same errors; its times differ, since of a part of an external model no work is known.
func TestArraysOfAnExternalModelStayWithClients(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"fedper", "fedrep"} {
		source := networks(method, "batch = 4", 1) + `"methods.it.options.personal" = "arrays"
"methods.it.options.arrays" = ["out.*"]
`
		runs := mustGather(t, parse(t, source, withClasses...), Options{})
		outside := runs[1]
		if method == "fedrep" {
			outside.EventHash = runs[0].EventHash
		}
		closeRuns(t, runs[0], outside, 1e-9)
		for arrays, want := range map[string]string{
			`["none*"]`: `must name arrays of the model, which has hidden.weight, hidden.bias, out.weight, out.bias`,
			`["*"]`:     `must leave an array to share`,
		} {
			wrong := strings.Replace(source, `["out.*"]`, arrays, 1)
			_, err := gather(t.Context(), parse(t, wrong, withClasses...), Options{})
			expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: %v", arrays, err)
		}
	}
	err := parseError("[methods.fedper]\noptions = { personal = \"arrays\", arrays = [\"a\"] }\n")
	const want = `problem.model = "linear": must be "external"`
	expect.That(t, err != nil && strings.Contains(err.Error(), want), "%v", err)
}

// parseError returns the error of a scenario.
func parseError(source string, set ...string) error {
	_, err := scenario.Parse("small.toml", []byte(small+source), set)
	return err
}

// Options are tuned with an external model as with the network of fedsim, to the same winner.
func TestAMethodIsTunedWithAnExternalModel(t *testing.T) {
	t.Parallel()
	const tune = `
[experiment.tuning]
target = { test_error = 0.3 }
[experiment.tune.it]
"options.step" = [0.01, 0.1]
`
	source := strings.ReplaceAll(networks("fedavg", "batch = 4", 1), "\n[experiment.set]", tune+"[experiment.set]")
	runs := mustGather(t, parse(t, source, withClasses...), Options{})
	a, b := tunedTo(runs[0]), tunedTo(runs[1])
	expect.That(t, a == b && strings.Contains(a, "options.step"), "tuned to %s inside, to %s outside", a, b)
	closeRuns(t, runs[0], runs[1], 1e-9)
}

// BenchmarkExternalGradient measures an empty request: a gradient of the test's program, which is a
// Go program, of a model of 43 values on one row; and with 61,703 values, about as many as LeNet-5 has.
func BenchmarkExternalGradient(b *testing.B) {
	for _, hidden := range []int{4, 6170} {
		b.Run(fmt.Sprintf("values=%d", hidden*10+3), func(b *testing.B) {
			learners := external.NewLearners(b.Context(), nil)
			defer func() {
				err := learners.Close()
				expect.That(b, err == nil, "%v", err)
			}()
			var command []string
			expect.NoError(b,
				json.Unmarshal([]byte(modelCommand(fmt.Sprintf("-hidden=%d", hidden), "-idle")), &command))
			split :=
				expect.Value(
					data.Prepare(
						parse(b, "[methods.fedavg]\n", withClasses...)[0].Jobs[0].Candidates[0].Settings.Data))(b)
			m := expect.Value(learners.StartModel(rooms.ModelOptions{Command: command, Processes: 1}, split))(b)
			w, g, rows := make([]float64, m.Sizes().Values), make([]float64, m.Sizes().Values), []int32{0}
			for b.Loop() {
				expect.Value(m.Gradient(0, rows, nil, w, 0, 1, g, nil))(b)
			}
		})
	}
}
