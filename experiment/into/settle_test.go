package into

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/results"
)

const untilCertainScenario = `[data.synthetic]
clients = 4
features = 4
[run]
metric = "test_error_clients"
rounds = 4
vary = "split"
seeds = "until-certain"
certain = { by = "error", max_seeds = 9 }
[methods.mocha]
[methods.fedavg]
[[experiment]]
name = "x"
[experiment.tune]
mocha = { "problem.lambda" = [1, 0.01] }
`

// Seeds that chose the options of all do not count. With folds each seed chooses its own options, on its training rows
// alone, so that all count.
func TestSeedsOfTuning(t *testing.T) {
	for _, c := range []struct {
		tuning, note string
		first        uint64
	}{
		{"seeds = 2\ntarget = { suboptimality = 0.5 }\n", "tuned under seeds 1-2 (not counted)", 3},
		{"folds = 2\n", "each seed is tuned by folds of its own training rows", 1},
	} {
		text := untilCertainScenario + "[experiment.tuning]\n" + c.tuning
		s := expect.Value(scenario.Load(filetest.New(t, "x.toml", text), nil))(t)
		runs := func(seeds string) []results.Run {
			set := []string{"run.certain=", "run.seeds=" + seeds}
			one := expect.Value(scenario.Load(filetest.New(t, "x.toml", text), set))(t)
			o := Options{Dir: filepath.Join(t.TempDir(), "r"), NoFigures: true}
			return expect.Value(Run(t.Context(), one, o))(t)
		}
		all, first := runs("[1,2,3,4,5,6,7,8,9,10]"), fmt.Sprintf("\nseeds %d-", c.first)
		r := expect.Value(Settle(s, all))(t)
		said := r.Sections.Text(80)
		expect.That(t, strings.Contains(said, c.note), "%q is not in:\n%s", c.note, said)
		expect.That(t, strings.Contains(said, first), "not from seed %d on:\n%s", c.first, said)
		if c.first == 1 { // other seeds do not change the options that a seed chooses, nor its errors
			for _, own := range runs("[1,4]") {
				for i := range all {
					other := all[i].Method != own.Method || all[i].Seed != own.Seed
					expect.That(t, other || all[i].ModelHash == own.ModelHash, "%s: seed %d depends on others",
						own.Method, own.Seed)
				}
			}
		}
	}
}
