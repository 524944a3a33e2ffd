package scenario

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"

	"github.com/google/go-cmp/cmp"
)

// lte-high-var.toml holds all three figures, and each has its own file:
// both must run the same.
func TestEachFigureEqualsItsPartOfTheWhole(t *testing.T) {
	whole := loaded(t, "lte-high-var")
	expect.Must(t, len(whole.Experiments) == 3,
		"lte-high-var has %d experiments, want those of three figures", len(whole.Experiments))
	for _, part := range whole.Experiments {
		single := loaded(t, part.Name)
		expect.Must(t, len(single.Experiments) == 1,
			"%s has %d experiments, want 1", part.Name, len(single.Experiments))
		own := single.Experiments[0]
		if diff := cmp.Diff(part.Figures, own.Figures); diff != "" {
			t.Errorf("%s: figures differ (-whole +own):\n%s", part.Name, diff)
		}
		if diff := cmp.Diff(part.Tuning, own.Tuning); diff != "" {
			t.Errorf("%s: tuning differs (-whole +own):\n%s", part.Name, diff)
		}
		expect.Must(t, len(part.Jobs) == len(own.Jobs),
			"%s: %d jobs in the whole, %d in its own file", part.Name, len(part.Jobs), len(own.Jobs))
		for i := range part.Jobs {
			for k, a := range part.Jobs[i].Candidates {
				b := own.Jobs[i].Candidates[k]
				// A run depends on the options of its method only.
				a.Settings.Methods, b.Settings.Methods = nil, nil
				diff := cmp.Diff(a, b)
				expect.Must(t, diff == "", "%s: run %s differs (-whole +own):\n%s", part.Name, a.ID, diff)
			}
		}
	}
}

// An experiment has the figure of [experiment.figure] and those of [[experiment.figures]],
// each with the defaults of its kind and a file of its own; the resolved scenario has them,
// too.
func TestSeveralFigures(t *testing.T) {
	const source = mocha +
		"[run]\nclient_metrics = [\"error\"]\n[[experiment]]\nname = \"e\"\nsweep = { \"run.rounds\" = [5, 9] }\n" +
		"[experiment.figure]\nx = \"round\"\nseries = \"run.rounds\"\nemphasis = \"9\"\n" +
		"[[experiment.figures]]\nkind = \"distribution\"\ny = \"train_error\"\npanel = \"run.rounds\"\n" +
		"x_scale = \"log\"\nx_max = 0.5\n" +
		"[[experiment.figures]]\nkind = \"distribution\"\nfile = \"own\"\n"
	lines, first, second := results.DefaultFigure(), results.DefaultDistribution(), results.DefaultDistribution()
	lines.File, lines.X, lines.Series, lines.Emphasis = "e", "round", "run.rounds", "9"
	first.File, first.Y, first.Panel, first.XScale, first.XMax = "e-2", "train_error", "run.rounds", "log", 0.5
	second.File = "own"
	want := []results.Figure{lines, first, second}
	s := parse(t, source)
	diff := cmp.Diff(want, s.Experiments[0].Figures)
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
	resolved := resolvedOf(t, s)
	again := parse(t, string(resolved))
	diff = cmp.Diff(want, again.Experiments[0].Figures)
	expect.That(t, diff == "", "resolved (-want +got):\n%s", diff)
	// An override removes the emphasized value.
	f := parse(t, source, "run.rounds=5").Experiments[0].Figures[0]
	expect.That(t, f.Emphasis == "", "the figure emphasizes %q", f.Emphasis)
}

// Keys of the other kind have no effect on a distribution: they are errors.
func TestFiguresOfDistributionsAreChecked(t *testing.T) {
	const head = mocha + "[[experiment]]\nname = \"e\"\n[[experiment.figures]]\nkind = \"distribution\"\n"
	const idle = `has no effect with kind = "distribution"`
	for line, want := range map[string]string{
		"x = \"round\"":     `x.toml:6:5: experiment.figures[0].x = "round": ` + idle,
		"y_scale = \"log\"": `experiment.figures[0].y_scale = "log": ` + idle,
		"y_min = 0.5":       `experiment.figures[0].y_min = 0.5: ` + idle,
		"y_max = 2":         `experiment.figures[0].y_max = 2: ` + idle,
		"x_max = -1.0": `experiment.figures[0].x_max = -1: must be a number that is not ` +
			`negative`,
		"x_scale = \"square\"": `x.toml:6:11: experiment.figures[0].x_scale = "square": ` +
			`must be one of linear, log`,
		"y = \"a b\"": `experiment.figures[0].y = "a b": must be a metric by client`,
		"panel = \"links\"": `x.toml:6:9: experiment.figures[0].panel = "links": ` +
			`must be one of method`,
		"emphasis = \"x\"":                    `experiment.figures[0].emphasis = "x": must be one of mocha`,
		"kind2 = 1":                           `unknown key experiment.figures[0].kind2: did you mean kind?`,
		"file = \"a/b\"":                      `experiment.figures[0].file = "a/b"`,
		"file = \"e\"\n[experiment.figure]\n": `x.toml:6:8: two figures go to`,
		"[[experiment.figures]]\nkind = \"histogram\"": `experiment.figures[1].kind = "histogram": ` +
			`must be one of lines, distribution, new-clients`,
		"[[experiment.figures]]\nkind = \"new-clients\"\ny = \"test_error\"": `experiment.figures[1].y = ` +
			`"test_error": must be one of new_error`,
		"[[experiment.figures]]\nkind = \"new-clients\"\nx = \"round\"": `experiment.figures[1].x = "round": ` +
			`has no effect`,
		"[[experiment.figures]]\ny = \"x\"\nkind = \"lines\"": `experiment.figures[1].y = "x": ` +
			`must be one of suboptimality`,
	} {
		_, err := Parse("x.toml", []byte(head+line+"\n"), nil)
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: %v, want %s", line, err, want)
	}
	for _, set := range []string{`run.client_metrics=[]`, `run.client_metrics=["loss"]`, `data.test_fraction=0.5`} {
		_, err := Parse("x.toml", []byte(head), []string{set})
		want := `figure e: y = "test_error": must be train_ or test_ and one of run.client_metrics`
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: %v, want %s", set, err, want)
	}
	if _, err := Parse("x.toml", []byte(head), []string{`run.client_metrics=["error"]`}); err != nil {
		t.Error(err)
	}
}

// A figure of new clients needs some.
func TestFiguresOfNewClientsAreChecked(t *testing.T) {
	const head = mocha + "[[experiment]]\nname = \"e\"\n[experiment.figure]\nkind = \"new-clients\"\n"
	_, err := Parse("x.toml", []byte(head), nil)
	const want = `figure e: kind = "new-clients" has nothing to show: data.new_clients must be positive`
	expect.That(t, err != nil && strings.Contains(err.Error(), want), "%v", err)
	s := expect.Value(Parse("x.toml", []byte("data.new_clients = 0.2\nproblem.regularizer = \"mean\"\n"+head), nil))(t)
	expect.That(t, s.Experiments[0].Figures[0].Y == "new_error", "%+v", s.Experiments[0].Figures)
}
