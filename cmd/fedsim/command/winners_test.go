package command

import (
	"bytes"
	"flag"
	"path/filepath"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/scenarios"
)

var tunedRun = flag.String("tuned", "", "another run directory whose winners must be inside their grids")

// Shipped figures tune their methods on growing grids; tables of the paper have its grid. No winner is at an edge, unless the
// range of its option ends there. The test runs regression; .ci/run passes the run
// directory of lte-high-var, which takes a minute.
func TestShippedWinnersLieInside(t *testing.T) {
	for _, info := range scenarios.Shipped() {
		s, err := scenario.Load(info.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Experiments {
			for k := range s.Experiments[i].Jobs {
				if e := &s.Experiments[i]; len(e.Jobs[k].Candidates) > 1 && e.Tuning.Extend == 0 && e.Tuning.Folds == 0 {
					t.Errorf("%s, experiment %s: the grid of %s does not grow", info.Name, e.Name, e.Jobs[k].Candidates[0].Method)
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
			if e.Reason == "" {
				t.Errorf("%s: run %s: tuned to %s", dir, run.ID, e)
			}
		}
	}
	if tuned == 0 {
		t.Errorf("%s: no run is tuned", dir)
	}
}
