package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/results/rundir"
)

// root is the repository, relative to this package.
const root = "../../.."

func read(t *testing.T, name string) string {
	t.Helper()
	text := filetest.Read(t, filepath.Join(root, name))
	return string(text)
}

// readRuns is rundir.Read that must not fail.
func readRuns(t testing.TB, dir string) *rundir.Results {
	t.Helper()
	read := expect.Value(rundir.Read(dir))(t)
	return read
}

// runLines runs lines of shell blocks in a folder, and returns how many there were.
func runLines(t *testing.T, dir string, blocks []string) (ran int) {
	t.Helper()
	for _, block := range blocks {
		for line := range strings.Lines(block) {
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			expect.That(t, err == nil, "%s%v\n%s", line, err, out)
			ran++
		}
	}
	return ran
}

// section returns the text of a page from a heading to the next one of the same level.
func section(t *testing.T, name, heading string) string {
	t.Helper()
	level, _, _ := strings.Cut(heading, " ")
	_, after, ok := strings.Cut(read(t, name), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("%s has no section %q", name, heading)
	}
	text, _, _ := strings.Cut(after, "\n"+level+" ")
	return text
}

// blocks returns the code blocks of a page in a language.
func blocks(page, language string) []string {
	var found []string
	var block strings.Builder
	inside, wanted := false, false
	for line := range strings.Lines(page) {
		fence, ok := strings.CutPrefix(line, "```")
		switch {
		case ok && !inside:
			inside, wanted = true, strings.TrimSpace(fence) == language
		case ok:
			if wanted {
				found = append(found, block.String())
			}
			block.Reset()
			inside, wanted = false, false
		case wanted:
			block.WriteString(line)
		}
	}
	return found
}

// shortened adds settings to a command of a page that runs deadline, so that it takes a quarter
// of the time. It is for pages that do not show the output of the command; the tutorial runs
// quickstart in full.
func shortened(line string) string {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "fedsim run deadline") {
		line += " --set run.rounds=40 --set run.seeds=[1]"
	}
	return line
}

// TestReadmeCommands runs the commands of the README in order in one folder, but for those of its
// first block, which .ci/run runs. The README shows part of the output of the first.
func TestReadmeCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("draws twice")
	}
	t.Parallel()
	page := read(t, "README.md")
	shown, dir, ran := blocks(page, "text")[0], t.TempDir(), 0
	for _, block := range blocks(page, "sh")[1:] {
		for line := range strings.Lines(block) {
			line, ok := strings.CutPrefix(strings.TrimSpace(line), "go run ./cmd/")
			if !ok {
				t.Errorf("%q is no command of fedsim", line)
				continue
			}
			if ran > 0 {
				line = shortened(line)
			}
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
			if ran == 0 && !strings.Contains(string(out), shown) {
				t.Errorf("%s prints\n%sand the README shows\n%s", line, out, shown)
			}
			ran++
		}
	}
	if ran != 4 {
		t.Errorf("ran %d commands, want the 4 after the first block", ran)
	}
}

// TestInstallCommandsWork checks that the first way to install the Python package is one that
// needs no release, and that pages warn of the other package with the name fedsim.
func TestInstallCommandsWork(t *testing.T) {
	for _, page := range []string{"README.md", "docs/python.md", "docs/flower.md", "python/README.md"} {
		text := read(t, page)
		_, first, _ := strings.Cut(text, "pip install ")
		expect.That(t, strings.HasPrefix(strings.TrimPrefix(first, "'"), "./python"),
			"%s first shows pip install %.30q, which fails before a release", page, first)
		if page != "docs/flower.md" &&
			!strings.Contains(strings.Join(strings.Fields(text), " "),
				"`fedsim` on the Python package index is another project") {
			t.Errorf("%s does not say that fedsim on the package index is another project", page)
		}
	}
}

// budgets has the most words of each page that is written by hand.
var budgets = map[string]int{
	"README.md": 900, "docs/tutorial.md": 2000, "docs/thirty-keys.md": 700, "docs/methods.md": 7090,
	"docs/time.md": 5000, "docs/results.md": 3100, "docs/data.md": 2020, "docs/python.md": 2600,
	"docs/flower.md": 1500, "docs/real.md": 2400, "docs/clusters.md": 900, "docs/extend.md": 2235,
	"docs/architecture.md": 1640, "docs/protocols.md": 2500, "docs/paper.md": 2500,
	"docs/theory.md": 1100, "docs/personal.md": 1730, "docs/verify.md": 410,
}

// unbudgeted lists the pages that are generated, and those whose text is to be in others.
var unbudgeted = strings.Fields("scenarios")

// TestWordBudgets checks that pages stay short, and all together at most 37,000 words.
func TestWordBudgets(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatalf("there are no pages (%v)", err)
	}
	for _, path := range found {
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		if _, ok := budgets["docs/"+name+".md"]; !ok && !slices.Contains(unbudgeted, name) {
			t.Errorf("docs/%s.md has no budget of words: write it into another page, or add one", name)
		}
	}
	total := 0
	for page, most := range budgets {
		words := handWritten(read(t, page))
		total += words
		if words > most {
			t.Errorf("%s has %d words, want at most %d", page, words, most)
		}
	}
	if total > 37_000 {
		t.Errorf("all pages have %d words, want at most 37,000", total)
	}
	_, release, _ := strings.Cut(read(t, "CHANGELOG.md"), "\n## 1.0.0\n")
	release, _, _ = strings.Cut(release, "\n## ")
	lines := strings.Count(release, "\n")
	expect.That(t, lines >= 20 && lines <= 80, "release 1.0.0 has %d lines in CHANGELOG.md, want 20 to 80", lines)
}

// handWritten counts the words of a page but for what tests compare with its source: text between a
// comment and <!-- end -->, code in Go, outputs, transcripts, the map of packages, and tables of tests.
func handWritten(page string) int {
	for _, source := range []string{
		"(?ms)^<!-- .*?^<!-- end -->$", "(?ms)^```(text|transcript|go)$.*?^```$",
		`(?m)^\| (?:paper|line) \| code \| test \|\n(?:\|.*\n)+`, `(?m)^\| folder \| owns .*\n(?:\|.*\n)+`,
	} {
		page = regexp.MustCompile(source).ReplaceAllString(page, "")
	}
	return len(regexp.MustCompile(`\S*[\pL\pN]\S*`).FindAllString(page, -1))
}

// TestPageLinks checks that the files and the anchors to which pages link exist.
func TestPageLinks(t *testing.T) {
	t.Parallel()
	pages := []string{"README.md", "CONTRIBUTING.md", "bench/README.md", "examples/python/README.md",
		"python/README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/reference/*.md", "docs/reference/keys/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		expect.Must(t, err == nil && len(found) != 0, "there are no pages %s (%v)", pattern, err)
		for _, path := range found {
			page := expect.Value(filepath.Rel(root, path))(t)
			pages = append(pages, filepath.ToSlash(page))
		}
	}
	code := regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	links := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]+))?\)`)
	for _, page := range pages {
		for _, m := range links.FindAllStringSubmatch(code.ReplaceAllString(read(t, page), "x"), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := page
			if m[1] != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), m[1]))
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if m[2] != "" && strings.HasSuffix(target, ".md") && !anchors(read(t, target))[m[2]] {
				t.Errorf("%s links to %s#%s, and there is no such heading", page, m[1], m[2])
			}
		}
	}
}

// anchors returns the anchors of the headings of a page, as GitHub and the site make them.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	dropped := regexp.MustCompile(`[^\p{L}\p{N}\-_ ]`)
	between, _ := fences(page)
	for _, text := range between {
		for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
			heading := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
			for anchor, n := heading, 1; ; n++ {
				if !found[anchor] {
					found[anchor] = true
					break
				}
				anchor = fmt.Sprintf("%s-%d", heading, n)
			}
		}
	}
	return found
}

// TestPluginsPage checks that every code block of docs/extend.md is part of the example or
// test that is named before it. "make examples" builds, tests and runs the examples.
func TestPluginsPage(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("^`((?:examples|cmd/fedsim|federation)/[^`]+)`\n$")
	var file, text, block string
	inside, commands := false, false
	shown := map[string]bool{}
	for line := range strings.Lines(read(t, "docs/extend.md")) {
		switch {
		case strings.HasPrefix(line, "```") && inside:
			inside = false
			if commands {
				continue
			}
			expect.That(t, strings.Contains(text, block), "%s does not hold:\n%s", file, block)
			shown[filepath.Dir(file)] = true
		case strings.HasPrefix(line, "```"):
			inside, block = true, ""
			if commands = line == "```sh\n"; !commands && file == "" {
				t.Fatalf("no file is named before %q", line)
			}
		case inside:
			block += line
		default:
			if m := named.FindStringSubmatch(line); m != nil {
				file = m[1]
				text = read(t, file)
			}
		}
	}
	for _, dir := range []string{"examples/prox/fedavgprox", "examples/steady/steady", "examples/foreground/foreground",
		"examples/gilbert/gilbert", "examples/utility/utility", "examples/semiasync/semiasync"} {
		expect.That(t, shown[dir], "the page shows nothing of %s", dir)
	}
}

// TestExamples checks that the table of docs/extend.md lists all examples, and that the examples
// are one module and have the same form.
func TestExamples(t *testing.T) {
	t.Parallel()
	programs, err := filepath.Glob(filepath.Join(root, "examples", "*", "main.go"))
	expect.Must(t, err == nil && len(programs) != 0, "there are no examples (%v)", err)
	if modules, err := filepath.Glob(filepath.Join(root, "examples", "*", "go.mod")); err != nil || len(modules) > 0 {
		t.Errorf("%q (%v): the examples are one module, examples/go.mod", modules, err)
	}
	page := read(t, "docs/extend.md")
	for _, program := range programs {
		name := filepath.Base(filepath.Dir(program))
		if !strings.Contains(page, "[examples/"+name+"](../examples/"+name+")") {
			t.Errorf("docs/extend.md does not list examples/%s", name)
		}
		dir := "examples/" + name + "/"
		expect.That(t, strings.Contains(read(t, dir+name+".toml"), "name = \""+name+"\"\n"),
			"%s%s.toml has another name", dir, name)
		expect.That(t, len(strings.Split(read(t, dir+"main.go"), "\n")) <= 13, "%smain.go does more than link", dir)
	}
}

// The commands of the README and of all pages can run one after another in one folder:
// no two of them write the same run directory. The tutorial is an exception: it shows the
// error.
func TestPagesFollowOneAnother(t *testing.T) {
	pages := expect.Value(filepath.Glob("../../../docs/*.md"))(t)
	taken := map[string]string{"runs/drops": "tutorial.md", "runs/calm": "tutorial.md", "runs/own": "tutorial.md",
		"runs/quickstart": "README.md and tutorial.md"}
	out := regexp.MustCompile(` --out (\S+)`)
	found := 0
	for _, path := range pages {
		page := filepath.Base(path)
		if page == "tutorial.md" {
			continue
		}
		for _, block := range blocks(read(t, "docs/"+page), "sh") {
			for line := range strings.Lines(block) {
				words := strings.Fields(line)
				if len(words) < 3 || words[0] != "fedsim" || words[1] != "run" || strings.Contains(line, "--force") ||
					strings.Contains(line, "--resume") {
					continue
				}
				found++
				dir := "runs/" + strings.TrimSuffix(filepath.Base(words[2]), ".toml")
				if m := out.FindStringSubmatch(line); m != nil {
					dir = m[1]
				}
				if other := taken[dir]; other != "" {
					t.Errorf("%s: %q goes to %s, as a command of %s does", page, strings.TrimSpace(line), dir, other)
				}
				taken[dir] = page
			}
		}
	}
	expect.That(t, found >= 5, "%d commands were found", found)
}

// TestJournalPaper checks the paper on fedsim: its citations are those of paper.bib, each with an
// identifier, and the numbers of a paragraph stand in the pages that it names.
func TestJournalPaper(t *testing.T) {
	t.Parallel()
	parts := strings.SplitN(read(t, "docs/joss/paper.md"), "---\n", 3)
	bib := read(t, "docs/joss/paper.bib")
	expect.Must(t, len(parts) == 3 && strings.Contains(parts[1], "\nbibliography: paper.bib\n"),
		"the paper does not begin with its metadata")
	words := len(strings.Fields(parts[2]))
	expect.That(t, words >= 750 && words <= 1250, "%d words, want about 1,000", words)
	cited := map[string]bool{}
	for _, m := range regexp.MustCompile(`@([a-z]+[0-9]{4})`).FindAllStringSubmatch(parts[2], -1) {
		cited[m[1]] = true
	}
	for _, entry := range strings.Split(bib, "\n@") {
		_, key, _ := strings.Cut(entry, "{")
		key, fields, _ := strings.Cut(key, ",")
		expect.That(t, cited[key] && (strings.Contains(fields, " doi = ") || strings.Contains(fields, " eprint = ")),
			"paper.bib: %s is not cited, or has no identifier", key)
		delete(cited, key)
	}
	expect.That(t, len(cited) == 0, "paper.bib has no entry for %v", cited)
	checked := 0
	for _, paragraph := range strings.Split(parts[2], "\n\n") {
		var pages strings.Builder
		for _, m := range regexp.MustCompile("`((?:docs|bench)/[a-z/A-Z]+[.]md)`").FindAllStringSubmatch(paragraph,
			-1) {
			pages.WriteString(read(t, m[1]))
		}
		claims := regexp.MustCompile(`@[a-z]+[0-9]{4}`).ReplaceAllString(paragraph, "")
		for _, number := range regexp.MustCompile(`[0-9][0-9,.]*[0-9]|[0-9]`).FindAllString(claims, -1) {
			checked++
			if !regexp.MustCompile(`(^|[^0-9.])` + regexp.QuoteMeta(number) + `([^0-9]|$)`).
				MatchString(pages.String()) {
				t.Errorf("the number %s of %.60q stands in no page that the paragraph names", number, paragraph)
			}
		}
	}
	expect.That(t, checked >= 15, "checked %d numbers, want at least 15", checked)
}
