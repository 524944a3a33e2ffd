package scenario

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

const ownSettings = `
problem.lambda = 0.5
[methods.mocha]
[methods.local]
algorithm = "mocha"
set = { "problem.regularizer" = "independent", run.outer = 1 }
[methods.global]
algorithm = "mocha"
set = { data.pool = true, "problem.regularizer" = "independent" }
[run]
outer = 3
[[experiment]]
name = "e"
set = { "run.outer" = 2 }
[experiment.tune.mocha]
problem.lambda = [0.1, 0.2]
"options.epochs" = [1.0, 4.0]
[experiment.tune.local]
"problem.lambda" = [0.3, 0.6]
[experiment.tuning]
target = { test_error = 0.1 }
extend = 2
`

func TestMethodsHaveSettingsOfTheirOwn(t *testing.T) {
	type facts struct {
		Method, Regularizer string
		Pool                bool
		Outer, Candidates   int
		Lambdas             []float64
	}
	read := func(text string, sets ...string) []facts {
		t.Helper()
		s := parse(t, text, sets...)
		var all []facts
		for _, j := range s.Experiments[0].Jobs {
			run := &j.Candidates[0]
			f := facts{run.Method, run.Settings.Problem.Regularizer, run.Settings.Data.Pool, run.Settings.Run.Outer,
				len(j.Candidates), nil}
			for i := range j.Candidates {
				f.Lambdas = append(f.Lambdas, j.Candidates[i].Settings.Problem.Lambda)
			}
			all = append(all, f)
		}
		return all
	}
	want := []facts{
		{"mocha", "probabilistic", false, 2, 4, []float64{0.1, 0.1, 0.2, 0.2}},
		{"local", "independent", false, 1, 2, []float64{0.3, 0.6}},
		{"global", "independent", true, 2, 1, []float64{0.5}},
	}
	if diff := cmp.Diff(want, read(ownSettings)); diff != "" {
		t.Error(diff)
	}
	s := parse(t, ownSettings)
	resolved := resolvedOf(t, s)
	if diff := cmp.Diff(want, read(string(resolved))); diff != "" {
		t.Errorf("written and read again: %s", diff)
	}
	// An override replaces what methods set and tune.
	want = []facts{
		{"mocha", "mean", false, 2, 2, []float64{0.7, 0.7}},
		{"local", "mean", false, 4, 1, []float64{0.7}},
		{"global", "mean", false, 2, 1, []float64{0.7}},
	}
	if diff := cmp.Diff(want,
		read(ownSettings, "problem.lambda=0.7", "problem.regularizer=\"mean\"", "data.pool=false",
			"methods.local.set.run.outer=4")); diff != "" {
		t.Errorf("overridden: %s", diff)
	}
	// The grid of a setting grows as that of an option does.
	j := s.Experiments[0].Jobs[1]
	run, err := j.Vary(&j.Candidates[1], 0, 1.2)
	if err != nil || run.Settings.Problem.Lambda != 1.2 || run.Settings.Problem.Regularizer != "independent" {
		t.Errorf("lambda 1.2: %v, %v", run.Settings.Problem, err)
	}
	if _, err := j.Vary(&j.Candidates[1], 0, -1); err == nil || !strings.Contains(err.Error(), "problem.lambda = -1") {
		t.Errorf("a lambda of -1: %v", err)
	}
}

func TestErrorsInSettingsOfMethods(t *testing.T) {
	for _, c := range []struct{ old, by, want string }{
		{"data.pool = true", "run.seeds = [1, 2]", "run.seeds must be the same for all methods"},
		{"data.pool = true", "methods.mocha.label = \"x\"", "methods.mocha.label must be the same"},
		{"data.pool = true", "data.pol = true", "unknown key data.pol: did you mean pool?"},
		{"data.pool = true", "problem.lambda = -2.0", "problem.lambda = -2: must be in [1e-12, 1e12]"},
		{"run.outer = 1 }", "problem.lambda = 1.0 }", "methods.local.set: problem.lambda is tuned in experiment e"},
		{"name = \"e\"", "name = \"e\"\nsweep = { \"data.pool\" = [true, false] }",
			"methods.global.set: experiment e varies data.pool by an axis or a sweep"},
		{"name = \"e\"", "name = \"e\"\nsweep = { \"problem.lambda\" = [1.0] }",
			"problem.lambda is varied by an axis or a sweep: it cannot be tuned for method mocha"},
		{"problem.lambda = [0.1, 0.2]", "run.seeds = [[1], [2]]", "run.seeds must be options."},
	} {
		text := strings.Replace(ownSettings, c.old, c.by, 1)
		expect.Must(t, text != ownSettings, "%q is not in the scenario", c.old)
		_, err := Parse("s.toml", []byte(text), nil)
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "%s:\n got %v\nwant %s", c.by, err, c.want)
	}
}
