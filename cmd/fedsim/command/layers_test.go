package command

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// basement is the last place on the map: tools that have no place of their own.
const basement = "internal/tools/..."

// rooms returns the places of packages on the map of docs/architecture.md, counted from the top
// and within a row from left to right.
func rooms(t *testing.T) map[string]int {
	page := read(t, "docs/architecture.md")
	places := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z]+[`/].*?) \\|").FindAllStringSubmatch(page, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			places[strings.Trim(name, "`")] = len(places)
		}
	}
	if places[basement] != len(places)-1 || len(places) < 20 {
		t.Fatalf("the map of docs/architecture.md has the rooms %v, but not %q at its end", places, basement)
	}
	return places
}

// imported returns the packages of fedsim that the files of a package import, those of other
// platforms and build tags, too, but not its tests.
func imported(t *testing.T, name string) []string {
	files, err := filepath.Glob(filepath.Join(root, name, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if ours, ok := strings.CutPrefix(path, "fedsim/"); ok && !slices.Contains(found, ours) {
				found = append(found, ours)
			}
		}
	}
	return found
}

// packages returns the packages of the module.
func packages(t *testing.T) (names []string) {
	list := exec.Command("go", "list", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skipf("go list: %v", err) // no go command
	}
	for path := range strings.FieldsSeq(string(out)) {
		names = append(names, strings.TrimPrefix(path, "fedsim/"))
	}
	return names
}

// imports returns what each package of the module imports of it.
func imports(t *testing.T) map[string][]string {
	found := map[string][]string{}
	for _, name := range packages(t) {
		found[name] = imported(t, name)
	}
	return found
}

// Every package has a room on the map of docs/architecture.md, and imports only rooms below its
// own. Packages for tests, which end in "test", are imported by tests alone.
func TestImportsRunDownwards(t *testing.T) {
	t.Parallel()
	places, packages := rooms(t), imports(t)
	place := func(name string) int {
		if at, ok := places[name]; ok {
			return at
		}
		if !strings.HasPrefix(name, "internal/tools/") {
			t.Errorf("package %s has no row in the map of docs/architecture.md", name)
		}
		return places[basement]
	}
	for name, imported := range packages {
		for _, below := range imported {
			switch {
			case strings.HasSuffix(name, "test"):
			case strings.HasSuffix(below, "test"):
				t.Errorf("%s imports %s, which is for tests", name, below)
			case place(name) == places[basement] && place(below) == places[basement]:
			case place(below) <= place(name):
				t.Errorf("%s imports %s: the map of docs/architecture.md has %s above", name, below, below)
			}
		}
		place(name)
	}
	for name := range places {
		if _, ok := packages[name]; !ok && name != basement {
			t.Errorf("the map of docs/architecture.md has a row for %s, which is no package", name)
		}
	}
}

// The page has a picture of at most 25 lines, and names twenty files to read first.
func TestFilesToReadFirst(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/architecture.md")
	_, picture, _ := strings.Cut(page, "```text\n")
	picture, _, _ = strings.Cut(picture, "```")
	if lines := strings.Count(picture, "\n"); lines < 10 || lines > 25 {
		t.Errorf("the picture has %d lines", lines)
	}
	files := regexp.MustCompile("(?m)^[0-9]+\\. `([^`]+)`: ").FindAllStringSubmatch(page, -1)
	if len(files) != 20 {
		t.Errorf("%d files to read first", len(files))
	}
	for _, m := range files {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Error(err)
		}
	}
}

// Mathematics never sees time, time never sees mathematics, not even through other packages, and
// figures see results alone.
func TestWhatPackagesNeverReach(t *testing.T) {
	t.Parallel()
	packages := imports(t)
	var reach func(name string, reached map[string]bool)
	reach = func(name string, reached map[string]bool) {
		for _, below := range packages[name] {
			if !reached[below] {
				reached[below] = true
				reach(below, reached)
			}
		}
	}
	in := func(names string) *regexp.Regexp { return regexp.MustCompile("^(" + names + ")(/|$)") }
	const (
		time = "engine|devices|network|clients|internal/tools/flows|internal/rooms/traces"
		math = "data|mtl|algorithms|internal/rooms/replay|internal/rooms/outside/external|internal/rooms/theory"
	)
	for _, rule := range []struct{ name, never *regexp.Regexp }{
		{in(time), in(math)},
		{in(math), in(time)},
		{in(time + "|" + math), in("federation|experiment|results|plots|scenarios")},
		{in("plots"), in(time + "|" + math + "|federation|experiment|scenarios|results/rundir")},
	} {
		found := 0
		for name := range packages {
			if !rule.name.MatchString(name) {
				continue
			}
			found++
			reached := map[string]bool{}
			reach(name, reached)
			for below := range reached {
				if rule.never.MatchString(below) {
					t.Errorf("%s reaches %s by its imports", name, below)
				}
			}
		}
		if found == 0 {
			t.Errorf("no package is %s", rule.name)
		}
	}
}

// A program that links the simulator, the clients or the figures without the command gets no
// parquet, no file locks and no protobuf.
func TestPackagesLinkNoFileFormats(t *testing.T) {
	refused := []string{"parquet", "flock", "protobuf", "fedsim/results/rundir"}
	for _, root := range []string{"fedsim/federation", "fedsim/plots", "fedsim/clients"} {
		out, err := exec.Command("go", "list", "-deps", root).Output()
		if err != nil {
			t.Fatal(err)
		}
		for path := range strings.FieldsSeq(string(out)) {
			if slices.ContainsFunc(refused, func(name string) bool { return strings.Contains(path, name) }) {
				t.Errorf("%s imports %s", root, path)
			}
		}
	}
}
