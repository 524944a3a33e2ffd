package rundir

import (
	"path/filepath"
	"testing"

	"fedsim/internal/filetest"
)

// A directory of a version with another format is refused: the error names that version and what
// to do.
func TestDirectoriesOfEarlierVersionsAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, manifestFile)
	filetest.Write(t, path, `{"format": 1, "fedsim": "v0.8.0", "edges": []}`)
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

// A directory of a later version may have fields that this one does not know: the error names that
// version.
func TestUnknownFieldsNameTheVersion(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, manifestFile)
	filetest.Write(t, path, "{\"format\": 2, \"fedsim\": \"v1.7.0\",\n \"edges\": []}")
	want := path + `:2: unknown field "edges": fedsim v1.7.0 wrote it: use that version or a later one`
	if _, err := Read(dir); err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
}
