package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReportPage runs the commands of docs/report.md.
func TestReportPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs and draws")
	}
	t.Parallel()
	dir := runPage(t, "docs/report.md")
	page, err := os.ReadFile(filepath.Join(dir, "quickstart.html"))
	if err != nil || !strings.HasPrefix(string(page), "<!DOCTYPE html>") {
		t.Errorf("the page begins with %.20q (%v)", page, err)
	}
}
