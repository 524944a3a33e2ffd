package experiment

import (
	"reflect"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// Under run.vary a seed stands for that of the system, for another split of the same
// rows, or for all: its run is that of a scenario that says so itself.
func TestSeedsVaryWhatRunVarySays(t *testing.T) {
	const source = `
[methods.mocha]
[faults]
drop_probability = 0.2
[[experiment]]
name = "x"
set = { "run.rounds" = 12, "problem.optimum.gap" = 1e-3, "data.split_seed" = 11, "data.seed" = 7 }
`
	only := func(set ...string) results.Run {
		run := mustGather(t, parse(t, source, set...), Options{})[0]
		run.ID, run.Seed, run.Vary, run.WallS = "", 0, "", 0
		return run
	}
	other := map[string]bool{}
	for _, test := range []struct {
		vary string
		same []string // as the run with seed 3
	}{
		{"system", []string{"run.seeds=[3]"}},
		{"split", []string{"run.seeds=[5]", "data.split_seed=13"}},
		{"all", []string{"run.seeds=[3]", "data.seed=9", "data.split_seed=13"}},
	} {
		e := parse(t, source, "run.seeds=[5, 3]", "run.vary="+test.vary)
		for _, run := range e[0].Jobs {
			if again := run.Candidates[0].WithSeed(3).WithSeed(5).WithSeed(3); !reflect.DeepEqual(again,
				run.Candidates[0].WithSeed(3)) {
				t.Errorf("%s: seeds add up: %+v", test.vary, again.Settings.Data)
			}
		}
		runs := mustGather(t, e, Options{Workers: 2})
		got := runs[1]
		if want := results.Vary(test.vary); got.Seed != 3 || got.Vary != want && want != results.VarySystem ||
			got.ID != "x/mocha/seed=3" {
			t.Errorf("%s: run %s, seed %d, vary %q", test.vary, got.ID, got.Seed, got.Vary)
		}
		got.ID, got.Seed, got.Vary, got.WallS = "", 0, "", 0
		a, b := text(got), text(only(test.same...))
		expect.That(t, a == b, "%s: the run with seed 3 is\n%s\nwant that of %v:\n%s", test.vary, a, test.same, b)
		expect.That(t, !other[text(got)], "%s varies nothing", test.vary)
		other[text(got)] = true
		if same := runs[0].Optimum == runs[1].Optimum; same != (test.vary == "system") {
			t.Errorf("%s: optima %v and %v", test.vary, runs[0].Optimum, runs[1].Optimum)
		}
	}
}

// Runs on data of their own are resumed as others are.
func TestInterruptedRunsOnOtherDataComeToTheSame(t *testing.T) {
	e := parse(t, eventful, "run.vary=all")
	same(t, mustGather(t, e, Options{}), resumed(t, t.Context(), e, func() int { return 90 }, Options{Workers: 2}))
}
