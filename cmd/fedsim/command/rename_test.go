package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// The module can be renamed by one command: no import, page or script keeps the old path, every
// import is found, and a wrong name changes nothing.
func TestRename(t *testing.T) {
	if testing.Short() {
		t.Skip("copies the checkout")
	}
	for _, program := range []string{"git", "perl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s", program)
		}
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "copy")
	do := func(want int, words ...string) string {
		t.Helper()
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		expect.Must(t, cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == want,
			"%s: %v, want exit code %d\n%s", strings.Join(words, " "), err, want, out)
		return string(out)
	}
	expect.NoError(t, os.Mkdir(dir, 0o755))
	absolute := expect.Value(filepath.Abs(root))(t)
	do(0, "git", "init", "-q")
	do(0, "git", "--git-dir=.git", "--work-tree="+absolute, "add", "-A")
	do(0, "git", "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "Before")
	do(0, "git", "checkout", "-q", "-f", "HEAD", "--", ".")
	for name, want := range map[string]string{
		"":                    "MODULE is missing",
		"fedsim2":             "has no host",
		"example.org/other":   "must end with /fedsim",
		"example.org//fedsim": "is not a module path",
		modulePath:            "no",
	} {
		if got := do(2, "internal/develop/rename", name); !strings.Contains(got, want) ||
			strings.Count(got, "\n") != 1 {
			t.Errorf("MODULE=%s: %q, want one line with %q", name, got, want)
		}
	}
	if got := do(0, "git", "status", "--porcelain"); got != "" {
		t.Errorf("wrong names changed\n%s", got)
	}
	const module = "example.org/an/owner/fedsim"
	do(0, "internal/develop/rename", module)
	do(0, "go", "vet", "./internal/tools/rapidseed")
	for _, place := range []string{".", "examples", "bench"} {
		got := do(0, "go", "-C", place, "list", "-mod=mod", "-deps", "-test", "./...")
		expect.That(t, strings.Contains(got, module+"/results\n"), "%s does not use the module's new name", place)
	}
	if got := do(1, "git", "grep", "-nE",
		`(^|[^[:alnum:]_./~-])`+modulePath+`/(internal|results|engine|data|mtl)\b`); got != "" {
		t.Errorf("the old path is left:\n%s", got)
	}
	for file, want := range map[string]string{"CITATION.cff": "repository-code: \"https://" + module + "\"\n",
		"internal/develop/site/mkdocs.yml": "repo_url: https://" + module + "\n",
		"python/pyproject.toml":            "Source = \"https://" + module + "\"\n"} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || strings.Count(string(text), want) != 1 {
			t.Errorf("%s has not the line %s(%v)", file, want, err)
		}
	}
}
