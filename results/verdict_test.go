package results

import (
	"slices"
	"testing"
)

// A solution takes no time: it is first to no target, and the fastest method is.
func TestSolutionsAreNotFirst(t *testing.T) {
	runs := exampleRuns()[2:4]
	solved := path("methods", "solved", "optimum", 1, 0, []int{0, 10, 20, 30}, Setting{"network", "lte"})
	want := []string{"first to primal sub-optimality 1e-01: MOCHA"}
	if got := Summarize(append(runs, solved), ToSuboptimalities(1e-1)).Experiments[0].Verdicts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
