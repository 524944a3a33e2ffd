package experiment

import (
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// Selectors see the losses of mixtures, and measures by client and of validation rows are theirs, as with a network of
// fedsim.
func TestMixturesOfExternalModels(t *testing.T) {
	t.Parallel()
	for name, set := range map[string][]string{
		"losses": {"federation.selection=power-of-choice", "federation.clients_per_round=2",
			"federation.selection_options.candidates=4"},
		"sampled losses": {"federation.selection=cpow-d", "federation.clients_per_round=2",
			"federation.selection_options.candidates=4", "federation.selection_options.batch=3"},
		"squares": {"federation.selection=oort", "federation.clients_per_round=2",
			"federation.selection_options.alpha=0"},
		"validation": {"data.validation_fraction=0.2", "run.client_metrics=[\"error\", \"loss\"]",
			"run.clients_every=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := mustGather(t, parse(t, networks("fedem", "batch = 4, components = 2", 2),
				append(slices.Clone(withClasses), set...)...), Options{})
			inside := runs[0]
			inside.EventHash = runs[1].EventHash // the FLOPs of losses alone are not known of a program
			closeRuns(t, inside, runs[1], 1e-9)
		})
	}
}

// A program that lacks what mixtures need, or breaks the protocol of it, ends the run with an error of one line.
func TestWhatMixturesNeedOfAProgram(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"-mute": "problem.model = \"external\": must be one whose program answers hello with predictions, or the " +
			"method another: fedem needs the losses of single rows and their weights",
		"-metrics": "problem.model = \"external\": must be one whose program declares no metrics, or the method " +
			"another: they are those of one model, and a client of fedem has a mixture",
		"-fault=losses/table/5": "answers with target 3: must be a class " +
			"in [0, 2] of row 0",
		"-fault=losses/shares/1": "must be probabilities: of the classes, or of the label 1 of row 0",
		"-fault=losses/more/1":   "rows: must be all its ",
	} {
		source := strings.ReplaceAll(servedBy("", model), "methods.fedavg", "methods.fedem")
		_, err := gather(t.Context(), parse(t, source, withClasses...), Options{})
		expect.That(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "\n"),
			"%s: got %v, want %s", model, err, want)
	}
}

// A program that has the rows tells the targets as well.
func TestMixturesOnRowsOfTheProgram(t *testing.T) {
	t.Parallel()
	source := strings.ReplaceAll(servedBy("", `-rows={"train":[5,5,5],"test":[5,5,5]}`), "methods.fedavg",
		"methods.fedem")
	run := mustGather(t, parse(t, source, "data.source=external", "data.external.clients=3", "data.external.rows=5",
		"problem.regularizer_options.warm_start=0", "problem.regularizer=independent", "run.rounds=20"), Options{})[0]
	first, last := run.Rounds[0], run.Rounds[20]
	expect.That(t, last.Primal < first.Primal && last.TestError == last.TrainError,
		"the loss goes from %g to %g; errors %g and %g, of the same rows", first.Primal, last.Primal, last.TrainError,
		last.TestError)
}
