package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
	read, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// runLines runs lines of shell blocks in a folder, and returns how many there were.
func runLines(t *testing.T, dir string, blocks []string) (ran int) {
	t.Helper()
	for _, block := range blocks {
		for line := range strings.Lines(block) {
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s%v\n%s", line, err, out)
			}
			ran++
		}
	}
	return ran
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

// shortened adds settings to a command of a page that runs quickstart, so that it takes a quarter
// of the time. It is for pages that do not show the output of the command; the tutorial runs
// quickstart in full.
func shortened(line string) string {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "fedsim run quickstart") {
		line += " --set run.rounds=40 --set run.seeds=[1]"
	}
	return line
}

// TestReadmeCommands runs the commands of the README in order in one folder. .ci/run runs
// the main scenario, which takes a minute. Commands for the HAR archive must report that
// it is missing.
func TestReadmeCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("draws five times")
	}
	t.Parallel()
	dir := t.TempDir()
	ran := 0
	for _, block := range blocks(read(t, "README.md"), "sh")[1:] {
		for line := range strings.Lines(block) {
			line, ok := strings.CutPrefix(strings.TrimSpace(line), "go run ./cmd/")
			if !ok {
				t.Errorf("%q is no command of fedsim", line)
				continue
			}
			cmd := exec.Command("sh", "-c", shortened(line))
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "FEDSIM_DATA=") // with the archive at hand they take half an hour
			out, err := cmd.CombinedOutput()
			if strings.Contains(line, "har.zip") {
				if err == nil || !strings.HasPrefix(string(out), "fedsim: ") || !strings.Contains(string(out), "file does not exist: looked for har.zip") {
					t.Errorf("%s: %v\n%s", line, err, out)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
			ran++
		}
	}
	if ran < 8 {
		t.Errorf("ran %d commands: the README has at least 8", ran)
	}
}

// TestInstallCommandsWork checks that the first way to install the Python package is one that
// needs no release, and that pages warn of the other package with the name fedsim.
func TestInstallCommandsWork(t *testing.T) {
	for _, page := range []string{"README.md", "docs/python.md", "docs/flower.md", "python/README.md"} {
		text := read(t, page)
		_, first, _ := strings.Cut(text, "pip install ")
		if !strings.HasPrefix(strings.TrimPrefix(first, "'"), "./python") {
			t.Errorf("%s first shows pip install %.30q, which fails before a release", page, first)
		}
		if page != "docs/flower.md" && !strings.Contains(strings.Join(strings.Fields(text), " "), "`fedsim` on the Python package index is another project") {
			t.Errorf("%s does not say that fedsim on the package index is another project", page)
		}
	}
}

// TestLengths checks that the first pages that a user reads stay short.
func TestLengths(t *testing.T) {
	if words := len(strings.Fields(read(t, "README.md"))); words > 1600 {
		t.Errorf("README.md has %d words, want at most 1600", words)
	}
	_, release, _ := strings.Cut(read(t, "CHANGELOG.md"), "\n## 1.0.0\n")
	release, _, _ = strings.Cut(release, "\n## ")
	if lines := strings.Count(release, "\n"); lines < 20 || lines > 80 {
		t.Errorf("release 1.0.0 has %d lines in CHANGELOG.md, want 20 to 80", lines)
	}
}

// TestReadmeLinks checks that the targets of links exist.
func TestReadmeLinks(t *testing.T) {
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/plugins.md", "docs/json.md", "docs/tutorial.md", "docs/compare.md", "docs/reading.md", "docs/explain.md", "docs/report.md", "docs/models.md", "docs/clusters.md"} {
		for _, m := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(read(t, page), -1) {
			if strings.HasPrefix(m[1], "https://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s points to %s: %v", page, m[1], err)
			}
		}
	}
}

// TestPluginsPage checks that every code block of docs/plugins.md is part of the example or
// test that is named before it. "make examples" builds, tests and runs the examples.
func TestPluginsPage(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("^`((?:examples|cmd/fedsim)/[^`]+)`\n$")
	var file, text, block string
	inside, commands := false, false
	shown := map[string]bool{}
	for line := range strings.Lines(read(t, "docs/plugins.md")) {
		switch {
		case strings.HasPrefix(line, "```") && inside:
			inside = false
			if commands {
				continue
			}
			if !strings.Contains(text, block) {
				t.Errorf("%s does not hold:\n%s", file, block)
			}
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
	for _, dir := range []string{"examples/prox/fedavgprox", "examples/steady/steady", "examples/foreground/foreground", "examples/gilbert/gilbert", "examples/utility/utility", "examples/semiasync/semiasync"} {
		if !shown[dir] {
			t.Errorf("the page shows nothing of %s", dir)
		}
	}
}

// TestExamples checks that the table of docs/plugins.md lists all examples, and that the examples
// are one module and have the same form.
func TestExamples(t *testing.T) {
	t.Parallel()
	programs, err := filepath.Glob(filepath.Join(root, "examples", "*", "main.go"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("there are no examples (%v)", err)
	}
	if modules, err := filepath.Glob(filepath.Join(root, "examples", "*", "go.mod")); err != nil || len(modules) > 0 {
		t.Errorf("%q (%v): the examples are one module, examples/go.mod", modules, err)
	}
	page := read(t, "docs/plugins.md")
	for _, program := range programs {
		name := filepath.Base(filepath.Dir(program))
		if !strings.Contains(page, "[examples/"+name+"](../examples/"+name+")") {
			t.Errorf("docs/plugins.md does not list examples/%s", name)
		}
		dir := "examples/" + name + "/"
		if !strings.Contains(read(t, dir+name+".toml"), "name = \""+name+"\"\n") {
			t.Errorf("%s%s.toml has another name", dir, name)
		}
		if len(strings.Split(read(t, dir+"main.go"), "\n")) > 13 {
			t.Errorf("%smain.go does more than link", dir)
		}
	}
}

// The commands of the README and of all pages can run one after another in one folder:
// no two of them write the same run directory. The tutorial is an exception: it shows the
// error.
func TestPagesFollowOneAnother(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]string{"runs/drops": "tutorial.md", "runs/calm": "tutorial.md", "runs/own": "tutorial.md", "runs/quickstart": "README.md and tutorial.md"}
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
				if len(words) < 3 || words[0] != "fedsim" || words[1] != "run" || strings.Contains(line, "--force") || strings.Contains(line, "--resume") {
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
	if found < 5 {
		t.Errorf("%d commands were found", found)
	}
}

// TestJournalPaper checks the paper on fedsim: its citations are those of paper.bib, each with an
// identifier, and the numbers of a paragraph stand in the pages that it names.
func TestJournalPaper(t *testing.T) {
	t.Parallel()
	parts := strings.SplitN(read(t, "docs/joss/paper.md"), "---\n", 3)
	bib := read(t, "docs/joss/paper.bib")
	if len(parts) != 3 || !strings.Contains(parts[1], "\nbibliography: paper.bib\n") {
		t.Fatal("the paper does not begin with its metadata")
	}
	if words := len(strings.Fields(parts[2])); words < 750 || words > 1250 {
		t.Errorf("%d words, want about 1,000", words)
	}
	cited := map[string]bool{}
	for _, m := range regexp.MustCompile(`@([a-z]+[0-9]{4})`).FindAllStringSubmatch(parts[2], -1) {
		cited[m[1]] = true
	}
	for _, entry := range strings.Split(bib, "\n@") {
		_, key, _ := strings.Cut(entry, "{")
		key, fields, _ := strings.Cut(key, ",")
		if !cited[key] || !strings.Contains(fields, " doi = ") && !strings.Contains(fields, " eprint = ") {
			t.Errorf("paper.bib: %s is not cited, or has no identifier", key)
		}
		delete(cited, key)
	}
	if len(cited) > 0 {
		t.Errorf("paper.bib has no entry for %v", cited)
	}
	checked := 0
	for _, paragraph := range strings.Split(parts[2], "\n\n") {
		var pages strings.Builder
		for _, m := range regexp.MustCompile("`(docs/[a-z/A-Z]+[.]md)`").FindAllStringSubmatch(paragraph, -1) {
			pages.WriteString(read(t, m[1]))
		}
		claims := regexp.MustCompile(`@[a-z]+[0-9]{4}`).ReplaceAllString(paragraph, "")
		for _, number := range regexp.MustCompile(`[0-9][0-9,.]*[0-9]|[0-9]`).FindAllString(claims, -1) {
			checked++
			if !regexp.MustCompile(`(^|[^0-9.])` + regexp.QuoteMeta(number) + `([^0-9]|$)`).MatchString(pages.String()) {
				t.Errorf("the number %s of %.60q stands in no page that the paragraph names", number, paragraph)
			}
		}
	}
	if checked < 15 {
		t.Errorf("checked %d numbers, want at least 15", checked)
	}
}
