package command

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// requireFit reports every line that is wider than a terminal.
func requireFit(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "        "))
		expect.That(t, n <= columns.Width, "%s has a line of %d characters: %s", what, n, line)
	}
}

// The help of every command fits a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	var each func(*cobra.Command)
	each = func(cmd *cobra.Command) {
		var out strings.Builder
		cmd.SetOut(&out)
		cmd.InitDefaultHelpFlag()
		expect.NoError(t, cmd.Help())
		requireFit(t, cmd.CommandPath()+" --help", out.String())
		for _, c := range cmd.Commands() {
			each(c)
		}
	}
	each(newRoot(nil))
}

// Likewise for the tables that commands print.
func TestOutputFits(t *testing.T) {
	if testing.Short() {
		t.Skip("runs scenarios")
	}
	t.Parallel()
	dir := t.TempDir()
	scenario := filepath.Join(dir, "small.toml")
	const text = `
[data.synthetic]
clients = 3
features = 4
rows_min = 8
rows_max = 12
[problem]
optimum.sweeps = 200
[run]
rounds = 4
seeds = [1, 2]
devices = true
targets = { suboptimality = [0.9, 0.5], test_error = [0.6, 0.3], gap = [1.0] }
[methods.mocha]
[methods.mb-sgd]
[[experiment]]
name = "an-experiment-of-a-long-name"
sweep = { "faults.drop_probability" = [0.0, 0.25] }
tune.mb-sgd."options.step" = [0.1, 1.0]
tune.mb-sgd."options.batch" = [1, 4]
tuning.extend = 0
`
	filetest.Write(t, scenario, text)
	run, other := filepath.Join(dir, "run"), filepath.Join(dir, "other")
	for _, args := range [][]string{
		{"run", scenario, "--out", run},
		{"run", scenario, "--out", other, "--set", "network.profile=3g"},
		{"show", run},
		{"compare", run, other},
		{"explain", run, "--without", "1", "--deadline", "0.5"},
		{"run", scenario, "--tune-only", "--out", filepath.Join(dir, "tuned")},
		{"methods"}, {"methods", "mocha"}, {"scenarios", "list"}, {"fleet", "list"}, {"fleet", "describe", "mixed"},
		{"data", "describe"}, {"data", "describe", "--set", "data.preset=google-glass"},
		{"theory", "theory", "--seeds", "2", "--set", "run.rounds=5", "--out", filepath.Join(dir, "theory")},
		{"version"},
	} {
		var out, errs strings.Builder
		if status := execute(t.Context(), args, &out, &errs); status != exitDone {
			t.Errorf("%v ends with %d: %s", args, status, errs.String())
		}
		// Paths of files are not wrapped.
		requireFit(t, strings.Join(args[:1], " "), strings.ReplaceAll(out.String(), dir+string(filepath.Separator), ""))
	}
}
