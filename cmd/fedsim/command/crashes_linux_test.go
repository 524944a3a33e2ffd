//go:build linux && (amd64 || arm64)

package command

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

var everyCall = flag.Bool("every-call", false,
	"check what every call leaves, not a sample of them, and draw the figures")

// complete has every kind of file of a run directory.
const complete = `
[data.synthetic]
clients = 3
features = 4
rows_min = 8
rows_max = 12
[run]
rounds = 2
devices = true
save_model = true
theta_every = 1
client_metrics = ["error"]
[methods.mocha]
[methods.cocoa]
[[experiment]]
name = "x"
table = {}
`

// crashes are the folders that a command would leave if it were killed at every call of
// fileCalls.
type crashes struct {
	*testing.T
	root     string
	scenario string
	args     []string                   // how runs are repeated
	want     map[bool]map[string]string // files of an undisturbed run, without and with figures
}

func newCrashes(t *testing.T) *crashes {
	t.Parallel()
	c := &crashes{T: t, root: t.TempDir(), args: []string{"-q", "--no-figures"}}
	if *everyCall {
		c.args = c.args[:1]
	}
	c.scenario = c.path("x.toml")
	filetest.Write(t, c.scenario, complete)
	c.want = map[bool]map[string]string{}
	for _, figures := range []bool{false, true} {
		whole := c.path(fmt.Sprint("whole", figures))
		runFedsim(t, "run", c.scenario, "--out", whole, "-q", fmt.Sprintf("--no-figures=%t", !figures))
		c.want[figures] = lasting(t, whole)
	}
	return c
}

func (c *crashes) path(name string) string { return filepath.Join(c.root, name) }

// ok repeats a command that must succeed.
func (c *crashes) ok(args ...string) {
	c.Helper()
	runFedsim(c.T, append(args, c.args...)...)
}

// each calls what it is given with a fresh copy of each different state of a folder during a
// command, in order. It skips
// most of them, fewer during an install, unless all are asked for.
func (c *crashes) each(command []string, dir string, installing func(dir string) bool, check func(at string)) {
	c.Helper()
	to := c.path("states")
	expect.NoError(c, os.MkdirAll(to, 0o777))
	out, err := exec.Command("call-by-call", append([]string{"copy", dir, to}, command...)...).CombinedOutput()
	if strings.Contains(string(out), "seccomp: ") {
		c.Skipf("the kernel does not report system calls: %s", out)
	}
	expect.Must(c, err == nil, "%v: %s", err, out)
	whole, err := filepath.Glob(filepath.Join(to, "*.ok"))
	expect.NoError(c, err)
	slices.SortFunc(whole, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	seen := map[string]bool{}
	checked := 0
	for _, name := range whole {
		state := strings.TrimSuffix(name, ".ok")
		content := fmt.Sprint(listing(c.T, state))
		if seen[content] {
			continue
		}
		seen[content] = true
		every := 30
		if installing(state) {
			every = 4
		}
		if !*everyCall && len(seen)%every != 1 {
			continue
		}
		checked++
		expect.NoError(c, os.RemoveAll(dir))
		expect.NoError(c, os.Rename(state, dir))
		check("killed at " + filepath.Base(state))
	}
	c.Logf("checked %d of %d states at %d calls", checked, len(seen), len(whole))
	expect.NoError(c, errors.Join(os.RemoveAll(to), os.RemoveAll(dir)))
}

// same requires the files of an undisturbed run.
func (c *crashes) same(at, dir string) {
	c.Helper()
	want := c.want[isFile(filepath.Join(dir, "figures")) || *everyCall]
	d := gocmp.Diff(want, lasting(c.T, dir))
	expect.Must(c, d == "", "%s: it differs from an undisturbed run: %s", at, d)
}

// midInstall reports whether a folder has files of a run without a manifest.
func midInstall(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return len(entries) > 1 && !isFile(filepath.Join(dir, "manifest.json"))
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A run that is killed before any rename, removal or sync is resumed, and overwritten.
func TestRunsKilledAtEveryCall(t *testing.T) {
	c := newCrashes(t)
	dir, again := c.path("dir"), false
	c.each([]string{"run", c.scenario, "--out", dir, "-q"}, dir, midInstall, func(at string) {
		if again = !again || *everyCall; again {
			expect.NoError(t, os.CopyFS(c.path("copy"), os.DirFS(dir)))
			c.ok("run", c.scenario, "--out", c.path("copy"), "--force")
			c.same(at+", overwritten", c.path("copy"))
			expect.NoError(t, os.RemoveAll(c.path("copy")))
		}
		c.ok("run", c.scenario, "--resume", dir)
		c.same(at+", resumed", dir)
	})
}

// Likewise for one that replaces another run. At every moment there is a complete run, the
// old or the new one, or the new one is resumed.
func TestForcedRunsKilledAtEveryCall(t *testing.T) {
	c := newCrashes(t)
	dir, other := c.path("dir"), c.path("other.toml")
	filetest.Write(t, other, strings.ReplaceAll(complete, `"x"`, `"y"`))
	runFedsim(t, "run", other, "--out", dir, "-q")
	runFedsim(t, "report", dir)
	old := lasting(t, dir)
	c.each([]string{"run", c.scenario, "--out", dir, "--force", "-q"}, dir, midInstall, func(at string) {
		if isFile(filepath.Join(dir, "manifest.json")) {
			if now := withoutStage(lasting(t, dir)); gocmp.Diff(now, old) != "" &&
				now["/scenario.toml"] == old["/scenario.toml"] {
				t.Fatalf("%s: the old run changed: %s", at, gocmp.Diff(now, old))
			}
		}
		if isFile(filepath.Join(dir, ".unfinished", "run.log")) {
			c.ok("run", "--resume", dir)
		} else {
			c.ok("run", c.scenario, "--out", dir, "--force")
		}
		c.same(at, dir)
	})
}

// withoutStage removes the files of the stage.
func withoutStage(files map[string]string) map[string]string {
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasPrefix(name, "/.unfinished") })
	return files
}

// Likewise for a plan, its workers and its merge.
func TestPlansKilledAtEveryCall(t *testing.T) {
	c := newCrashes(t)
	plan, out := c.path("plan"), c.path("dir")
	never := func(string) bool { return false }
	planned := []string{"plan", "make", c.scenario, "-o", plan}
	work, merge := []string{"plan", "work", plan, "-q", "--workers=1"},
		[]string{"plan", "merge", plan, "--out", out, "--force"}
	merged := func(at string) {
		c.ok(merge...)
		c.same(at, out)
	}
	finish := func(at string) {
		runFedsim(t, planned...)
		runFedsim(t, work...)
		merged(at)
	}
	c.each(planned, plan, never, finish)
	runFedsim(t, planned...)
	c.each(work, plan, never, finish)
	finish("whole")
	c.each(append(merge, "-q"), out, midInstall, merged)
}

// Calls that fail in the middle of an install, as on a broken disk, leave a run that is resumed.
func TestRunsWhoseCallsFail(t *testing.T) {
	c := newCrashes(t)
	step := 17
	if *everyCall {
		step = 1
	}
	for at := 1; ; at += step {
		dir := c.path(fmt.Sprint(at))
		out, err := exec.Command("call-by-call",
			append([]string{"fail", fmt.Sprint(at), "run", c.scenario, "--out", dir}, c.args...)...).CombinedOutput()
		if strings.Contains(string(out), "seccomp: ") {
			c.Skipf("the kernel does not report system calls: %s", out)
		}
		if err == nil {
			break
		}
		c.ok("run", c.scenario, "--resume", dir)
		c.same(fmt.Sprintf("failed from call %d", at), dir)
	}
}
