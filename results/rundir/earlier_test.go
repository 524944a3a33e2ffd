package rundir

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/results"
)

// testdata/earlier was written by version bab9869, before runs.csv had bytes to a
// target. It is read to the bit, and refused when a column that it has is missing.
func TestDirectoriesOfEarlierVersionsAreRead(t *testing.T) {
	const earlier = "testdata/earlier"
	r, err := Read(earlier)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(r.Manifest.Targets, results.ToSuboptimalities(0.5, 0.01)) || len(r.Runs) != 4 || r.Runs[0].WallS != 0.093409736 {
		t.Errorf("targets %v, %d runs, %g s", r.Manifest.Targets, len(r.Runs), r.Runs[0].WallS)
	}
	if c, ok := r.Runs[0].CostTo(results.ToSuboptimality(0.5)); !ok || c.Rounds != 2 || c.Bytes != 1152 || c.EnergyJ != 1.32527039453568 {
		t.Errorf("cost %+v, %t", c, ok)
	}
	dir := filepath.Join(t.TempDir(), "earlier")
	if err := os.CopyFS(dir, os.DirFS(earlier)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, runsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		",energy_j_to_1e-02,":  `column 31 is "wall_s": must be "energy_j_to_1e-02"`,
		",time_s_to_5e-01,":    `must be "time_s_to_5e-01"`,
		",energy_j_to_1e-02,w": "has 31 columns: must have 32",
	} {
		cut := bytes.Replace(text, []byte(from), []byte(from[len(from)-1:]), 1)
		if strings.HasSuffix(from, "w") {
			cut = bytes.Replace(text, []byte(",wall_s"), nil, 1)
		}
		if err := os.WriteFile(path, cut, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v\nwant %s", from, err, want)
		}
	}
}
