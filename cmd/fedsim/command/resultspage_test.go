package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// TestResultsPage runs the commands of docs/results.md on reading a run.
func TestResultsPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs scenarios")
	}
	t.Parallel()
	dir := t.TempDir()
	for _, block := range blocks(section(t, "docs/results.md", "## The directory")+
		section(t, "docs/results.md", "## Models"), "sh") {
		for line := range strings.Lines(block) {
			cmd := exec.Command("sh", "-c", shortened(line))
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			expect.Must(t, err == nil, "%s%v\n%s", line, err, out)
		}
	}
	for _, name := range []string{"runs.parquet", "devices.json", "w.npy", "w.csv"} {
		info, err := os.Stat(filepath.Join(dir, name))
		expect.That(t, err == nil && info.Size() != 0, "%s: %v", name, err)
	}
}
