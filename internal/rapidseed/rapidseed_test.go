package rapidseed

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Seed and cases of the environment are those of rapid.
func TestEnvironment(t *testing.T) {
	if os.Getenv(Seed) == "4711" {
		for name, want := range map[string]string{"rapid.seed": "4711", "rapid.checks": "12"} {
			if got := flag.Lookup(name).Value.String(); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		return
	}
	again := exec.Command(os.Args[0], "-test.run=^TestEnvironment$")
	again.Env = append(os.Environ(), Seed+"=4711", Cases+"=12")
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Every package with random tests imports this one.
func TestAllPackagesImport(t *testing.T) {
	random, seeded := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		dir := filepath.Dir(path)
		random[dir] = random[dir] || bytes.Contains(text, []byte("\t\"pgregory.net/rapid\"\n"))
		seeded[dir] = seeded[dir] || bytes.Contains(text, []byte("\t_ \"fedsim/internal/rapidseed\"\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range random {
		if random[dir] && !seeded[dir] {
			t.Errorf("%s has random tests and must import fedsim/internal/rapidseed", dir)
		}
	}
}
