package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// Interrupted commands that generate data or fit logs write nothing.
func TestDataAreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "rows.csv")
	const large = "data.synthetic.clients=300" // takes a while, yet small: its generation continues after the interrupt
	var rows strings.Builder
	rows.WriteString("round,client,bytes_down,bytes_up,sent_s,seen_s,compute_s\n")
	for i := range 40_000 {
		fmt.Fprintf(&rows, "%d,%d,1e6,1e6,%d,%d,1\n", i/4, i%4, 10*(i/4), 10*(i/4)+3+i%5)
	}
	log := filetest.New(t, "log.csv", rows.String())
	for _, args := range [][]string{
		{"data", "generate", "--set", large, "-o", file},
		{"data", "generate", "--set", large},
		{"data", "describe", "--set", large},
		{"calibrate", log, "-o", file},
	} {
		var out, errors strings.Builder
		if code := execute(ctx, args, &out, &errors); code != exitInterrupted || out.Len() > 0 ||
			errors.String() != "fedsim: interrupted; nothing is written\n" {
			t.Errorf("fedsim %s: exit %d, prints %q and %q", strings.Join(args, " "), code, out.String(),
				errors.String())
		}
	}
	_, err := os.Stat(file)
	expect.That(t, os.IsNotExist(err), "the file exists: %v", err)
}
