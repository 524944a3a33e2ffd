package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Interrupted commands that generate data write nothing.
func TestDataAreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "rows.csv")
	const large = "data.synthetic.clients=300" // takes a while, yet small: its generation continues after the interrupt
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
		t.Errorf("the file exists: %v", err)
	}
}
