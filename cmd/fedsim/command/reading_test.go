package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadingPage runs the commands of docs/reading.md.
func TestReadingPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs scenarios")
	}
	t.Parallel()
	dir := t.TempDir()
	for _, block := range blocks(read(t, "docs/reading.md"), "sh") {
		for line := range strings.Lines(block) {
			cmd := exec.Command("sh", "-c", shortened(line))
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s%v\n%s", line, err, out)
			}
		}
	}
	for _, name := range []string{"runs.parquet", "devices.json", "w.npy", "w.csv"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
