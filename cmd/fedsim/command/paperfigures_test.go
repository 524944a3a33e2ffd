package command

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// The right panel of the paper's Figure 3 reaches the target of its table: with a decay of 0.9 the
// coupling ends 1.9e-3 above the joint optimum, after any number of rounds.
func TestWholeMethodReachesItsTarget(t *testing.T) {
	if testing.Short() {
		return
	}
	dir := filepath.Join(t.TempDir(), "run")
	var out, errors bytes.Buffer
	if status := Main([]string{"run", "fig3-faults", "--out", dir, "--progress", "none", "--no-figures", "--set",
		"run.seeds=[1]", "--set", `experiment.fig3-faults.axis.update=["whole method"]`, "--set",
		`experiment.fig3-faults.axis.drop_probability=["0"]`}, &out, &errors); status != 0 {
		t.Fatalf("exit status %d\n%s%s", status, out.String(), errors.String())
	}
	r := readRuns(t, dir)
	if _, reached := r.Runs[0].Reached(results.ToSuboptimality(1e-3)); !reached {
		t.Errorf("the run ends at %g", r.Runs[0].Rounds[len(r.Runs[0].Rounds)-1].Suboptimality)
	}
}

// In Figure 2 all methods are tuned in the experiment, MOCHA in the length of its clock cycle: untuned, it
// loses to CoCoA in one unit of time and wins in the other. What is compared stands below.
func TestEveryMethodOfFigure2IsTuned(t *testing.T) {
	const high = "federation.protocol_options.steps_high"
	for _, name := range []string{"fig2-systems", "lte-high-var", "vehicle"} {
		s := expect.Value(scenario.Load(name, nil))(t)
		e :=
			s.Experiments[slices.IndexFunc(s.Experiments,
				func(e scenario.Experiment) bool { return e.Name == "fig2-systems" })]
		for _, job := range e.Jobs {
			first := &job.Candidates[0]
			expect.That(t, len(job.Candidates) >= 4,
				"%s: %s has %d candidates, must have at least 4", name, first.ID, len(job.Candidates))
			if cycle := slices.ContainsFunc(first.Tuned,
				func(s results.Setting) bool { return s.Key == high }); first.Algorithm == "mocha" &&
				!cycle {
				t.Errorf("%s: %s: the clock cycle of MOCHA is not tuned", name, first.ID)
			}
		}
		expect.That(t, e.Description != "", "%s: Figure 2 has no description", name)
	}
}
