package command

import "testing"

// TestExplainPage runs the commands of docs/time.md and compares the output of the last
// one with the page.
func TestExplainPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs and draws")
	}
	t.Parallel()
	runPage(t, "docs/time.md", "## Why a run took so long")
}
