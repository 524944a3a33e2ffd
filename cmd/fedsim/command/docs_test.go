package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the repository, seen from this package.
const root = "../../.."

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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

// TestReadmeCommands runs what the README says, in its order, in one folder. The
// main scenario takes a minute and is left to .ci/run; what needs the HAR
// archive is checked up to its data.
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
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if strings.Contains(line, "har.zip") {
				if err == nil || !strings.HasPrefix(string(out), "fedsim: ") || !strings.Contains(string(out), "har.zip: no such file") {
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

// TestReadmeLinks checks that what the pages point to is there.
func TestReadmeLinks(t *testing.T) {
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/plugins.md", "docs/json.md", "docs/tutorial.md", "docs/compare.md", "docs/reading.md", "docs/explain.md", "docs/report.md"} {
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

// TestPluginsPage builds the module of docs/plugins.md as it stands there, and
// runs its scenario.
func TestPluginsPage(t *testing.T) {
	if testing.Short() {
		t.Skip("links a binary")
	}
	t.Parallel()
	page := read(t, "docs/plugins.md")
	code, module, scenario := blocks(page, "go"), blocks(page, ""), blocks(page, "toml")
	if len(code) != 2 || len(module) != 1 || len(scenario) != 1 {
		t.Fatalf("the page has %d blocks of Go, %d of go.mod, %d of TOML: must be 2, 1, 1", len(code), len(module), len(scenario))
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	// What go mod tidy would find without asking the network.
	requires := strings.Join(regexp.MustCompile(`(?ms)^require \(.*?^\)`).FindAllString(read(t, "go.mod"), -1), "\n")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"steady/steady.go": code[0],
		"main.go":          code[1],
		"go.mod":           strings.Replace(module[0], "../fedsim", here, 1) + requires + "\n",
		"go.sum":           read(t, "go.sum"),
		"steady.toml":      scenario[0],
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	command := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off", "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	command("go", "build", "-o", "mine", ".")
	if out := command("./mine", "algorithms"); !strings.Contains(out, "options.steps  integer  50") {
		t.Errorf("the method is not listed:\n%s", out)
	}
	if out := command("./mine", "run", "steady.toml"); !regexp.MustCompile(`(?m)^  steady +\d`).MatchString(out) {
		t.Errorf("the method did not run:\n%s", out)
	}
}
