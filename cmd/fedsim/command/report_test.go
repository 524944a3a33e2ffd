package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// TestReportPage runs the commands of docs/results.md on the report.
func TestReportPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs and draws")
	}
	t.Parallel()
	dir := runPage(t, "docs/results.md", "## Report")
	page, err := os.ReadFile(filepath.Join(dir, "deadline.html"))
	expect.That(t, err == nil && strings.HasPrefix(string(page), "<!DOCTYPE html>"),
		"the page begins with %.20q (%v)", page, err)
}
