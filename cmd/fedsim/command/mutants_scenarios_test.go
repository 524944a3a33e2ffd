//go:build unix

package command

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/scenarios"
)

// figures matches the figures of a resolved scenario.
var figures = regexp.MustCompile(`(?m)^\[experiment\.figure\]\n([^\[\n].*\n)*`)

// tinyScenarios returns short forms of the shipped scenarios with every key, so that every
// key is changed in some mutant. Only one has figures: drawing takes longer than the rest.
func tinyScenarios(t *testing.T) (texts [][]byte) {
	t.Helper()
	type form struct {
		name string
		sets []string
	}
	var forms []form
	for _, info := range scenarios.Shipped() {
		forms = append(forms, form{name: info.Name})
	}
	for _, method := range []string{data.PartitionShards, data.PartitionDirichlet, data.PartitionPowerLaw} {
		forms = append(forms,
			form{"deadline",
				[]string{"data.partition.merge=true", "data.partition.clients=4", "data.partition.method=" + method}})
	}
	for _, info := range forms {
		sets := append(slices.Concat(info.sets, shortForms[info.name]), "problem.optimum.gap=1e-1", "run.rounds=2",
			"run.seeds=[1]", "data.synthetic.clients=5", "data.synthetic.features=4", "data.synthetic.factors=2",
			"data.synthetic.clusters=1", "data.synthetic.rows_min=6", "data.synthetic.rows_max=9")
		s, err := scenario.Load(info.name, sets)
		for err != nil && len(sets) > 0 { // not every scenario has every key
			sets = sets[:len(sets)-1]
			s, err = scenario.Load(info.name, sets)
		}
		expect.NoError(t, err)
		text, err := s.Resolved()
		expect.NoError(t, err)
		if info.name != "deadline" || info.sets != nil {
			text = figures.ReplaceAll(text, nil)
		}
		texts = append(texts, text)
	}
	return texts
}

// A mutated scenario is rejected with a position or the name of a run, or it runs until it is interrupted. It
// leaves no partial run directory.
func TestMutantScenarios(t *testing.T) {
	var shipped [][]byte
	for _, info := range scenarios.Shipped() {
		if info.Name != "leaderboard" { // which has thousands of candidates: to check them takes seconds
			text, _ := scenarios.Source(info.Name)
			shipped = append(shipped, text)
		}
	}
	tiny := tinyScenarios(t)
	forMutants(t, 1, *mutants, func(m *mutated) {
		base := shipped[m.random.IntN(len(shipped))]
		runs := m.number%2 == 0
		if runs {
			base = tiny[m.random.IntN(len(tiny))]
		}
		path := m.write("x.toml", mutate(m.random, base))
		status, stderr := m.fedsim("check", path)
		if status != exitDone && !strings.HasPrefix(stderr, path) && !strings.Contains(stderr, ": run ") {
			m.report("the error has no position: %s", stderr)
		}
		if !runs {
			return
		}
		out := filepath.Join(m.dir, "run")
		ran, stderr := m.fedsim("run", path, "--out", out, "--workers=1", "--progress=none")
		if status != exitDone && ran != exitUsage {
			m.report("validate rejected it, but run ended with status %d: %s", ran, stderr)
		}
		m.requireWhole(out, ran, stderr)
	})
}
