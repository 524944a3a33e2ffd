package command

import (
	"bytes"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/scenarios"
)

var tunedRun = flag.String("tuned", "", "another run directory whose winners must be inside their grids")

// Shipped figures tune their methods on growing grids; tables of the paper have its grid. No winner is at an edge,
// unless the range of its option ends there. The test runs regression; .ci/run passes the run directory of
// lte-high-var.
func TestShippedWinnersLieInside(t *testing.T) {
	for _, info := range scenarios.Shipped() {
		s := expect.Value(scenario.Load(info.Name, nil))(t)
		for i := range s.Experiments {
			for k := range s.Experiments[i].Jobs {
				if e := &s.Experiments[i]; len(e.Jobs[k].Candidates) > 1 && e.Tuning.Extend == 0 &&
					e.Tuning.Folds == 0 {
					t.Errorf("%s, experiment %s: the grid of %s does not grow", info.Name, e.Name,
						e.Jobs[k].Candidates[0].Method)
				}
			}
		}
	}
	if *tunedRun != "" {
		requireInside(t, *tunedRun)
	}
	if testing.Short() {
		return
	}
	dir := filepath.Join(t.TempDir(), "run")
	var out, errors bytes.Buffer
	if status := Main([]string{"run", "regression", "--out", dir, "--progress", "none"}, &out, &errors); status != 0 {
		t.Fatalf("exit status %d\n%s%s", status, out.String(), errors.String())
	}
	requireInside(t, dir)
}

// requireInside checks the winners in the manifest of a run directory.
func requireInside(t *testing.T, dir string) {
	t.Helper()
	r := readRuns(t, dir)
	tuned := 0
	for _, run := range r.Manifest.Runs {
		if len(run.Tuned) > 0 {
			tuned++
		}
		for _, e := range run.Edges {
			expect.That(t, e.Reason != "", "%s: run %s: tuned to %s", dir, run.ID, e)
		}
	}
	expect.That(t, tuned != 0, "%s: no run is tuned", dir)
}

// The claims of the tutorial on the methods of quickstart, and on MOCHA under a deadline, are settled.
func TestTutorialIsSettled(t *testing.T) {
	if testing.Short() {
		t.Skip("runs quickstart under 19 seeds")
	}
	for name, want := range map[string]string{
		"quickstart": "seeds 1-19: settled: FedBuff is first (95 %, all 6 pairs at once)",
		"deadline":   "settled after 7 seeds: MOCHA is faster than CoCoA by at least 5 % (95 %)",
	} {
		var out, errors bytes.Buffer
		dir := filepath.Join(t.TempDir(), "run")
		args := []string{"settle", name, "--out", dir, "--no-figures", "--progress", "none"}
		status := Main(args, &out, &errors)
		expect.That(t, status == 0 && strings.Contains(out.String(), want), "%s: exit status %d, %q is not in\n%s%s",
			name, status, want, &out, &errors)
	}
}
