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

	"fedsim/internal/tools/expect"
)

// basement is the last place on the map: tools that have no place of their own.
const basement = "internal/tools/..."

// placesOf returns the places of packages on the map of docs/architecture.md, counted from the top
// and within a row from left to right.
func placesOf(t *testing.T) map[string]int {
	page := read(t, "docs/architecture.md")
	places := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z]+[`/].*?) \\|").FindAllStringSubmatch(page, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			places[strings.Trim(name, "`")] = len(places)
		}
	}
	expect.Must(t, places[basement] == len(places)-1 && len(places) >= 20,
		"the map of docs/architecture.md has the rooms %v, but not %q at its end", places, basement)
	return places
}

// imported returns the packages of fedsim that the files of a package import, those of other
// platforms and build tags, too, but not its tests.
func imported(t *testing.T, name string) []string {
	files := expect.Value(filepath.Glob(filepath.Join(root, name, "*.go")))(t)
	var found []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed := expect.Value(parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly))(t)
		for _, i := range parsed.Imports {
			path := expect.Value(strconv.Unquote(i.Path.Value))(t)
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
	places, packages := placesOf(t), imports(t)
	place := func(name string) int {
		if at, ok := places[name]; ok {
			return at
		}
		expect.That(t, strings.HasPrefix(name, "internal/tools/"),
			"package %s has no row in the map of docs/architecture.md", name)
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
	lines := strings.Count(picture, "\n")
	expect.That(t, lines >= 10 && lines <= 25, "the picture has %d lines", lines)
	files := regexp.MustCompile("(?m)^[0-9]+\\. `([^`]+)`: ").FindAllStringSubmatch(page, -1)
	expect.That(t, len(files) == 20, "%d files to read first", len(files))
	for _, m := range files {
		_, err := os.Stat(filepath.Join(root, m[1]))
		expect.That(t, err == nil, "%v", err)
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
		math = "data|mtl|algorithms|internal/rooms/replay|internal/rooms/theory"
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
				expect.That(t, !rule.never.MatchString(below), "%s reaches %s by its imports", name, below)
			}
		}
		expect.That(t, found != 0, "no package is %s", rule.name)
	}
}

// A program that links the simulator, the clients or the figures without the command gets no
// parquet, no file locks and no protobuf.
func TestPackagesLinkNoFileFormats(t *testing.T) {
	refused := []string{"parquet", "flock", "protobuf", "fedsim/results/rundir"}
	for _, root := range []string{"fedsim/federation", "fedsim/plots", "fedsim/clients"} {
		out := expect.Value(exec.Command("go", "list", "-deps", root).Output())(t)
		for path := range strings.FieldsSeq(string(out)) {
			if slices.ContainsFunc(refused, func(name string) bool { return strings.Contains(path, name) }) {
				t.Errorf("%s imports %s", root, path)
			}
		}
	}
}

// The folders that the page on the architecture calls the spine have no more lines than it says.
func TestSpine(t *testing.T) {
	page := read(t, "docs/architecture.md")
	said := regexp.MustCompile(`read at most (\d+) lines:([^.]*)\.`).FindStringSubmatch(page)
	expect.Must(t, said != nil, "docs/architecture.md does not say how many lines the spine has")
	most, err := strconv.Atoi(said[1])
	expect.NoError(t, err)
	total := 0
	for _, name := range regexp.MustCompile("`([a-z/]+)`").FindAllStringSubmatch(said[2], -1) {
		files, err := filepath.Glob(filepath.Join(root, name[1], "*.go"))
		expect.NoError(t, err)
		lines := 0
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			expect.NoError(t, err)
			lines += strings.Count(string(text), "\n")
		}
		expect.That(t, lines > 0, "%s has no lines", name[1])
		t.Logf("%6d %s", lines, name[1])
		total += lines
	}
	expect.That(t, total <= most, "the spine has %d lines, must have at most %d", total, most)
	t.Logf("%6d in all", total)
}
