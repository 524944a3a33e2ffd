package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDataAreInterrupted interrupts the commands that make data, which write nothing
// then.
func TestDataAreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "rows.csv")
	const large = "data.synthetic.tasks=300" // not made at once, and small: it goes on to be made for nobody
	for _, args := range [][]string{
		{"data", "generate", "--set", large, "-o", file},
		{"data", "generate", "--set", large},
		{"data", "describe", "--set", large},
	} {
		var out, errors strings.Builder
		if code := execute(ctx, args, &out, &errors); code != exitInterrupted || out.Len() > 0 || errors.String() != "fedsim: interrupted; nothing is written\n" {
			t.Errorf("fedsim %s: exit %d, prints %q and %q", strings.Join(args, " "), code, out.String(), errors.String())
		}
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is there: %v", err)
	}
}
