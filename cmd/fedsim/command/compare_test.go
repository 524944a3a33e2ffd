package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestComparePage runs the commands of docs/compare.md. The last one prints the output on
// the page and writes the files that it names.
func TestComparePage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs twelve seeds and draws")
	}
	t.Parallel()
	dir := runPage(t, "docs/compare.md")
	for _, name := range []string{"compare.csv", "compare.md", "compare.png", "compare.svg"} {
		if info, err := os.Stat(filepath.Join(dir, "comparison", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// runPage runs the block of commands of a page in a new folder, and compares the output of
// the last command with the block of output on the page. It returns the folder.
func runPage(t *testing.T, name string) (dir string) {
	t.Helper()
	page := read(t, name)
	commands, shown := blocks(page, "sh"), blocks(page, "text")
	if len(commands) != 1 || len(shown) != 1 {
		t.Fatalf("the page has %d blocks of commands and %d of output: must have one of each", len(commands), len(shown))
	}
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
