package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

// TestComparePage runs the commands of docs/results.md on comparisons. The last one prints the output on
// the page and writes the files that it names.
func TestComparePage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs twelve seeds and draws")
	}
	t.Parallel()
	dir := runPage(t, "docs/results.md", "## Comparing runs")
	for _, name := range []string{"compare.csv", "compare.md", "compare.png", "compare.svg"} {
		info, err := os.Stat(filepath.Join(dir, "comparison", name))
		expect.That(t, err == nil && info.Size() != 0, "%s: %v", name, err)
	}
}

// runPage runs the block of commands of a section of a page in a new folder, and compares the output of
// the last command with the block of output on the page. It returns the folder.
func runPage(t *testing.T, name, heading string) (dir string) {
	t.Helper()
	page := section(t, name, heading)
	commands, shown := blocks(page, "sh"), blocks(page, "text")
	expect.Must(t, len(commands) == 1 && len(shown) == 1,
		"the page has %d blocks of commands and %d of output: must have one of each", len(commands), len(shown))
	dir = t.TempDir()
	var last string
	for line := range strings.Lines(commands[0]) {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		var errors strings.Builder
		cmd.Stderr = &errors
		out, err := cmd.Output()
		if err != nil || errors.Len() > 0 {
			t.Fatalf("%s%v\n%s", line, err, errors.String())
		}
		last = string(out)
	}
	if d := cmp.Diff(shown[0], last); d != "" {
		t.Errorf("the page shows another output:\n%s", d)
		t.Log("it is now\n" + last)
	}
	return dir
}
