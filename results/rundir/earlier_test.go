package rundir

import (
	"os"
	"path/filepath"
	"testing"
)

// A directory of a version with another format is refused: the error names that version and what
// to do.
func TestDirectoriesOfEarlierVersionsAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, manifestFile)
	if err := os.WriteFile(path, []byte(`{"format": 1, "fedsim": "v0.8.0", "edges": []}`), 0o666); err != nil {
		t.Fatal(err)
	}
	want := path + ": format = 1: must be 2, the one this version of fedsim reads: it was written by fedsim v0.8.0: read it with that version, or run its scenario.toml again in another directory"
	for _, read := range []func() error{
		func() error { _, err := Read(dir); return err },
		func() error { _, err := ReadLive(dir); return err },
	} {
		if err := read(); err == nil || err.Error() != want {
			t.Errorf("error %v\nwant %s", err, want)
		}
	}
}
