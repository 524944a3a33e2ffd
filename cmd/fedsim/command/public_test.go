package command

import (
	"errors"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

// public lists the packages that plugins and programs may import. The promise of docs/extend.md
// is about their exported API.
var public = []string{
	"algorithms", "algorithms/kit", "algorithms/methods", "clients", "cmd/fedsim/command",
	"config", "data", "data/formats", "data/parquet", "devices", "devices/fleets", "engine", "experiment",
	"experiment/into", "experiment/scenario", "federation", "federation/learning", "federation/protocols",
	"federation/selectors",
	"federation/servertest", "federation/session", "mtl",
	"network", "plots", "results", "results/rundir", "scenarios",
}

// Every package outside internal but the two commands is public by intent, is in docs/extend.md, and has a comment
// that says what it must not know, and an Example with its output.
func TestPublicPackages(t *testing.T) {
	t.Parallel()
	var found []string
	for _, name := range packages(t) {
		if !internal("fedsim/"+name) && name != "cmd/fedsim" && name != "cmd/fedsim-web" {
			found = append(found, name)
		}
	}
	diff := cmp.Diff(public, found)
	expect.That(t, diff == "", "the public packages are (-list +tree):\n%s", diff)
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `"+regexp.QuoteMeta(modulePath)+"/([a-z/]+)` \\|").
		FindAllStringSubmatch(read(t, "docs/extend.md"), -1) {
		listed = append(listed, m[1])
	}
	diff = cmp.Diff(public, listed)
	expect.That(t, diff == "", "docs/extend.md has the packages (-list +page):\n%s", diff)
	for _, name := range found {
		files := expect.Value(filepath.Glob(filepath.Join(root, name, "*.go")))(t)
		var tests []*ast.File
		comment := ""
		for _, file := range files {
			parsed := expect.Value(parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments))(t)
			if strings.HasSuffix(parsed.Name.Name, "_test") {
				tests = append(tests, parsed)
			} else {
				comment += parsed.Doc.Text()
			}
		}
		expect.That(t, strings.Contains(strings.Join(strings.Fields(comment), " "), "must not know"),
			"the comment of package %s does not say what it must not know", name)
		if strings.HasSuffix(name, "test") {
			continue // the tests of selectors and protocols show how it is used
		}
		if !slices.ContainsFunc(doc.Examples(tests...), func(e *doc.Example) bool { return e.Output != "" }) {
			t.Errorf("package %s has no Example with its output", name)
		}
	}
}

// A program in another module, beside a checkout, finds the library by the commands of
// docs/extend.md. "make check" compiles the same program in the module of the examples.
func TestOwnModule(t *testing.T) {
	t.Parallel()
	checkout, err := filepath.Abs(root)
	dir := t.TempDir()
	err = errors.Join(err, os.Symlink(checkout, filepath.Join(dir, "fedsim")))
	_, section, _ := strings.Cut(read(t, "docs/extend.md"), "\n## Start a module\n")
	if err != nil || len(blocks(section, "sh")) == 0 {
		t.Fatal("docs/extend.md has no commands that start a module", err)
	}
	// tidy would need the tests of all modules
	commands := blocks(section, "sh")[0] +
		"cp \"$CHECKOUT/examples/rates/rates.go\" .\ncp \"$CHECKOUT/examples/go.sum\" .\ngo list -mod=mod -deps .\n"
	cmd := exec.Command("sh", "-e", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CHECKOUT="+checkout)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
