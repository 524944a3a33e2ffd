package kubernetes

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sameRuns requires that two run directories have the same files with the same bytes, but for
// wall-clock times.
func sameRuns(t *testing.T, got, want string) {
	t.Helper()
	g, w := files(t, got), files(t, want)
	for name, content := range w {
		other, ok := g[name]
		if !ok {
			t.Errorf("%s has no %s", got, name)
		} else if !bytes.Equal(timeless(t, name, other), timeless(t, name, content)) {
			t.Errorf("%s differs in %s and %s", name, got, want)
		}
	}
	for name := range g {
		if _, ok := w[name]; !ok {
			t.Errorf("%s has %s, too", got, name)
		}
	}
	if len(w) < 4 {
		t.Errorf("%s has only %d files", want, len(w))
	}
}

// files returns the contents of the files of a folder by path.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		all[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// timeless returns a file of a run directory without the wall-clock times in it.
func timeless(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	switch {
	case name == "manifest.json":
		var manifest map[string]any
		if err := json.Unmarshal(content, &manifest); err != nil {
			t.Fatal(err)
		}
		delete(manifest, "clock")
		delete(manifest, "command") // has the folder
		content, err := json.Marshal(manifest)
		if err != nil {
			t.Fatal(err)
		}
		return content
	case filepath.Ext(name) == ".csv":
		records, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for i := len(records[0]) - 1; i >= 0; i-- {
			if strings.HasPrefix(records[0][i], "wall_") {
				for r := range records {
					records[r] = slices.Delete(records[r], i, i+1)
				}
			}
		}
		var out bytes.Buffer
		if err := csv.NewWriter(&out).WriteAll(records); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	return content
}
