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

	"fedsim/internal/tools/expect"
)

// The seed of the environment is that of rapid.
func TestSeed(t *testing.T) {
	if want := os.Getenv(Variable); want == "4711" {
		got := flag.Lookup("rapid.seed").Value.String()
		expect.That(t, got == want, "rapid.seed is %s, want %s", got, want)
		return
	}
	again := exec.Command(os.Args[0], "-test.run=^TestSeed$")
	again.Env = append(os.Environ(), Variable+"=4711")
	out, err := again.CombinedOutput()
	expect.That(t, err == nil, "%v\n%s", err, out)
}

// Every package with random tests imports this one.
func TestAllPackagesImport(t *testing.T) {
	random, seeded := map[string]bool{}, map[string]bool{}
	expect.NoError(t, filepath.WalkDir("../../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		dir := filepath.Dir(path)
		random[dir] = random[dir] || bytes.Contains(text, []byte("\t\"pgregory.net/rapid\"\n"))
		seeded[dir] = seeded[dir] || bytes.Contains(text, []byte("\t_ \"fedsim/internal/tools/rapidseed\"\n"))
		return err
	}))
	for dir := range random {
		expect.That(t, !random[dir] || seeded[dir],
			"%s has random tests and must import fedsim/internal/tools/rapidseed", dir)
	}
}
