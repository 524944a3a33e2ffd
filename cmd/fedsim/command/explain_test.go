package command

import "testing"

// TestExplainPage runs the commands of docs/explain.md; the last one prints what the
// page shows.
func TestExplainPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs and draws")
	}
	t.Parallel()
	runPage(t, "docs/explain.md")
}
