package command

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExplainPage runs the commands of docs/explain.md; the last one prints what the
// page shows.
func TestExplainPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs and draws")
	}
	t.Parallel()
	page := read(t, "docs/explain.md")
	commands, shown := blocks(page, "sh"), blocks(page, "text")
	if len(commands) != 1 || len(shown) != 1 {
		t.Fatalf("the page has %d blocks of commands and %d of output: must have one of each", len(commands), len(shown))
	}
	dir := t.TempDir()
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
}
