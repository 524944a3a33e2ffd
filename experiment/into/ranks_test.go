package into

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

const ranked = `
[data.synthetic]
clients = 4
features = 5
rows_min = 20
rows_max = 20
[run]
rounds = 3
seeds = [1, 2, 3]
[methods.fedavg]
[methods.scaffold]
[[experiment]]
name = "ranks"
ranks = true
`

// Only splits of given rows are corrected for the rows that they share: with a quarter of test rows and a share
// v of validation rows in the others, the ratio of Nadeau and Bengio is (1/4)/(3/4 (1-v)).
func TestOverlapOfRepetitions(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("client,x,y\n")
	for i := range 80 {
		fmt.Fprintf(&rows, "%d,%d,%d\n", i%4, i*i%17, i%2)
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	expect.NoError(t, os.WriteFile(path, []byte(rows.String()), 0o644))
	csv := []string{`data.source="csv"`, fmt.Sprintf("data.path=%q", path), `data.client_column="client"`,
		`data.label_column="y"`}
	for name, c := range map[string]struct {
		set  []string
		want float64
	}{
		"system":               {nil, 0},
		"system, named":        {[]string{`run.vary="system"`}, 0},
		"split":                {[]string{`run.vary="split"`}, 1. / 3},
		"split, validation":    {[]string{`run.vary="split"`, "data.validation_fraction=0.3"}, .25 / .525},
		"generated anew":       {[]string{`run.vary="all"`}, 0},
		"given, system":        {csv, 0},
		"given, splits":        {append([]string{`run.vary="split"`}, csv...), 1. / 3},
		"given, all":           {append([]string{`run.vary="all"`}, csv...), 1. / 3},
		"split, another share": {[]string{`run.vary="split"`, "data.test_fraction=0.5"}, 1},
	} {
		s, err := scenario.Parse("ranked.toml", []byte(ranked), c.set)
		expect.Must(t, err == nil, "%s: %v", name, err)
		runs, err := Run(t.Context(), s, Options{Dir: filepath.Join(t.TempDir(), "run"), NoFigures: true})
		expect.Must(t, err == nil, "%s: %v", name, err)
		for i := range runs {
			got := overlapIn(&s.Experiments[0])(&runs[i])
			expect.That(t, math.Abs(got-c.want) <= 1e-15, "%s: %s: overlap %g, want %g", name, runs[i].ID, got, c.want)
		}
		text := made(s, runs).Text(200)
		corrected := strings.Contains(text, "Nadeau")
		expect.That(t, corrected == (c.want > 0), "%s: corrected %t\n%s", name, corrected, text)
	}
}

// Winners that train on validation rows have all rows that are not tested, and each point of a sweep has its own.
func TestOverlapByJob(t *testing.T) {
	of := func(text string, set ...string) *scenario.Experiment {
		s :=
			expect.Value(
				scenario.Parse("ranked.toml", []byte(ranked+text), append([]string{`run.vary="split"`}, set...)))(t)
		return &s.Experiments[0]
	}
	swept := overlapIn(of("sweep = { \"data.test_fraction\" = [0.25, 0.5] }\n"))
	for value, want := range map[string]float64{"0.25": 1. / 3, "0.5": 1} {
		r := results.Run{Method: "scaffold", Point: []results.Setting{{Key: "data.test_fraction", Value: value}}}
		got := swept(&r)
		expect.That(t, math.Abs(got-want) <= 1e-15, "%s: %g, want %g", value, got, want)
	}
	refit := `tuning = { refit = true, target = { validation_error = 0.5 } }
tune = { fedavg = { "options.step" = [0.1, 0.2] } }` + "\n"
	for text, want := range map[string]float64{"": .25 / .525, refit: 1. / 3} {
		got := overlapIn(of(text, "data.validation_fraction=0.3"))(&results.Run{Method: "fedavg"})
		expect.That(t, math.Abs(got-want) <= 1e-15, "%q: %g, want %g", text, got, want)
	}
}

// A program without ranks refuses a scenario that asks for them, before it creates a directory.
func TestRanksThatAreLeftOut(t *testing.T) {
	defer func() { hasRanks = true }()
	s := expect.Value(scenario.Parse("ranked.toml", []byte(ranked), nil))(t)
	for _, left := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), "run")
		hasRanks = !left
		d, err := Create(s, Options{Dir: dir})
		if err == nil {
			expect.NoError(t, d.Writer.Discard())
		}
		if _, missing := os.Stat(dir); left && (err == nil || missing == nil ||
			!strings.Contains(err.Error(), `experiment "ranks": ranks = true: this fedsim was built without ranks`)) ||
			!left && err != nil {
			t.Errorf("left out: %t: %v", left, err)
		}
	}
}
