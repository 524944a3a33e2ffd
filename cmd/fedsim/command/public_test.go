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

	"github.com/google/go-cmp/cmp"
)

// public lists the packages that plugins and programs may import. The promise of docs/plugins.md
// is about their exported API.
var public = []string{
	"algorithms", "algorithms/compress", "algorithms/kit", "algorithms/methods", "algorithms/privacy", "clients", "cmd/fedsim/command", "config", "data", "data/formats", "data/parquet",
	"devices", "devices/fleets", "engine", "experiment", "experiment/into", "experiment/scenario", "federation", "federation/learning", "federation/session", "mtl", "network", "plots", "results",
	"results/rundir", "scenarios",
}

// Every package outside internal is public by intent, is in docs/plugins.md, and has a comment
// that says what it must not know, and an Example with its output.
func TestPublicPackages(t *testing.T) {
	t.Parallel()
	var found []string
	for _, name := range packages(t) {
		if !internal("fedsim/"+name) && name != "cmd/fedsim" {
			found = append(found, name)
		}
	}
	if diff := cmp.Diff(public, found); diff != "" {
		t.Errorf("the public packages are (-list +tree):\n%s", diff)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `"+regexp.QuoteMeta(modulePath)+"/([a-z/]+)` \\|").FindAllStringSubmatch(read(t, "docs/plugins.md"), -1) {
		listed = append(listed, m[1])
	}
	if diff := cmp.Diff(public, listed); diff != "" {
		t.Errorf("docs/plugins.md has the packages (-list +page):\n%s", diff)
	}
	for _, name := range found {
		files, err := filepath.Glob(filepath.Join(root, name, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var tests []*ast.File
		comment := ""
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(parsed.Name.Name, "_test") {
				tests = append(tests, parsed)
			} else {
				comment += parsed.Doc.Text()
			}
		}
		if !strings.Contains(strings.Join(strings.Fields(comment), " "), "must not know") {
			t.Errorf("the comment of package %s does not say what it must not know", name)
		}
		if !slices.ContainsFunc(doc.Examples(tests...), func(e *doc.Example) bool { return e.Output != "" }) {
			t.Errorf("package %s has no Example with its output", name)
		}
	}
}

// A program in another module, beside a checkout, finds the library by the commands of
// docs/plugins.md. "make check" compiles the same program in the module of the examples.
func TestOwnModule(t *testing.T) {
	t.Parallel()
	checkout, err := filepath.Abs(root)
	dir := t.TempDir()
	err = errors.Join(err, os.Symlink(checkout, filepath.Join(dir, "fedsim")))
	_, section, _ := strings.Cut(read(t, "docs/plugins.md"), "\n## Start a module\n")
	if err != nil || len(blocks(section, "sh")) == 0 {
		t.Fatal("docs/plugins.md has no commands that start a module", err)
	}
	commands := blocks(section, "sh")[0] + "cp \"$CHECKOUT/examples/rates/rates.go\" .\ncp \"$CHECKOUT/examples/go.sum\" .\ngo list -mod=mod -deps .\n" // tidy would need the tests of all modules
	cmd := exec.Command("sh", "-e", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CHECKOUT="+checkout)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
