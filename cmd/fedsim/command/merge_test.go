package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

var allMerged = flag.Bool("all-merged", false, "run TestShippedScenariosMerge")

func init() {
	programs["undo"] = func() {
		n, err := strconv.Atoi(os.Args[2])
		if err := errors.Join(err, undo(os.Args[1], n)); err != nil {
			fail(err)
		}
	}
}

// undo removes groups of a plan that are done: undo DIR NUMBER.
func undo(dir string, n int) error {
	done, err := filepath.Glob(filepath.Join(dir, "done", "*"))
	for i := 0; i < n && err == nil; i++ {
		err = errors.Join(os.RemoveAll(done[i]),
			os.Remove(filepath.Join(dir, "claims", filepath.Base(done[i])+".json")))
	}
	return err
}

// workOn does a plan with n workers at a time.
func workOn(t *testing.T, dir string, n int) {
	t.Helper()
	var workers sync.WaitGroup
	for range n {
		workers.Go(func() {
			status, out, errors := mainOf("plan", "work", dir, "--workers", "1", "--allow-external")
			expect.That(t, status == 0, "a worker of %d: exit status %d\n%s%s", n, status, out, errors)
		})
	}
	workers.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// withoutClock returns the files of a run directory by name. It removes wall-clock times and
// the command line.
func withoutClock(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	expect.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		switch filepath.Base(path) {
		case "manifest.json":
			var m map[string]any
			if err := json.Unmarshal(text, &m); err != nil {
				return err
			}
			delete(m, "clock")
			delete(m, "command")
			text, _ = json.MarshalIndent(m, "", " ")
		case "runs.csv":
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			for i, line := range lines {
				lines[i] = line[:strings.LastIndex(line, ",")] // wall_s is last
			}
			text = []byte(strings.Join(lines, "\n"))
		}
		files[name] = string(text)
		return err
	}))
	return files
}

// mainOf runs a command line.
func mainOf(args ...string) (status int, out, errors string) {
	var stdout, stderr bytes.Buffer
	status = Main(args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// planned plans a scenario, with further flags, in a new directory.
func planned(t *testing.T, name string, sets []string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plan")
	args := append([]string{"plan", "make", name, "-o", dir}, sets...)
	status, out, errors := mainOf(args...)
	expect.Must(t, status == 0, "exit status %d\n%s%s", status, out, errors)
	return dir
}

// everything is a scenario in which much is shared and much is stored.
const everything = `
[data]
test_fraction = 0.25
[data.synthetic]
clients = 4
features = 4
rows_min = 20
rows_max = 30
[run]
rounds = 6
seeds = [1, 2]
targets = { suboptimality = [1e-2] }
[methods.mocha]
[methods.cocoa]
[methods.fedavg]
[methods.central]
[[experiment]]
name = "tuned"
methods = ["mocha", "fedavg"]
[experiment.set]
run.rounds = 40
[experiment.tune.mocha]
"options.epochs" = [0.5, 1]
[experiment.tune.fedavg]
"options.step" = [0.1, 0.3]
[experiment.tuning]
target = { suboptimality = 1e-2 }
extend = 2
[[experiment]]
name = "stored"
methods = ["mocha", "cocoa", "fedavg"]
[experiment.set]
run = { devices = true, save_model = true, client_metrics = ["error"], theta_every = 2, vary = "all" }
[[experiment]]
name = "shared"
methods = ["mocha", "cocoa"]
[experiment.sweep]
"network.profile" = ["3g", "wifi"]
[[experiment]]
name = "timed"
methods = ["mocha"]
[experiment.set]
run.mode = "timing"
[[experiment]]
name = "errors"
methods = ["central"]
set = { "run.rounds" = 1, "run.vary" = "split", "run.client_metrics" = [], "run.theta_every" = 1000 }
tuning.folds = 2
tune.central = { "problem.lambda" = [1, 0.01] }
table = {}
[[experiment.axis]]
name = "data"
points = [{ label = "one" }, { label = "two", set = { "data.synthetic.clients" = 5 } }]
`

// learned is a scenario of a learner in another process, with values by client.
const learned = `
[data]
source = "external"
[data.external]
clients = 4
rows = 10
[run]
rounds = 3
seeds = [1, 2]
[methods.x]
algorithm = "external"
program.command = ["learner"]
`

// Runs that workers made leave the bytes of one process, however many there were, and the
// same summary.
func TestMergedRunsEqualOneRun(t *testing.T) {
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name+".toml")
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	path := write("everything", everything)
	one := runOnce(t, path, "--no-figures")
	for _, file := range []string{"devices.parquet", "client_values.parquet", "metrics.parquet", "models/000006.npy",
		"tables/errors.csv"} {
		expect.That(t, one.files[file] != "", "there is no %s", file)
	}
	expect.That(t, strings.Contains(one.files["manifest.json"], `"tuned"`), "nothing was tuned")
	for _, n := range []int{1, 3} {
		sameMerged(t, one, n, "--no-figures")
	}
	sameMerged(t, runOnce(t, write("learned", learned)), 2)
}

// All shipped scenarios, cut short, are merged to the bytes of one run; one of them by 1, 2, 7
// and 100 workers.
func TestShippedScenariosMerge(t *testing.T) {
	if !*allMerged {
		t.Skip("takes minutes: run it with -all-merged")
	}
	for _, info := range scenarios.Shipped() {
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel()
			form, workers := shortForms[info.Name], []int{1, 2}
			switch info.Name {
			case "deadline":
				form = []string{"run.rounds=20", "run.devices=true", "run.save_model=true"}
			case "lte-high-var":
				form, workers = small("run.max_time_s=1"), []int{1, 2, 7, 100}
			}
			var sets []string
			for _, set := range form {
				sets = append(sets, "--set", set)
			}
			one := runOnce(t, info.Name, sets...)
			for _, n := range workers {
				sameMerged(t, one, n)
			}
		})
	}
}

// finishedRun is a run of a scenario in one process.
type finishedRun struct {
	dir    string
	args   []string // of the command run
	status int
	out    string
	files  map[string]string
}

// runOnce runs a scenario. Further arguments but --no-figures are those of its plan, too.
func runOnce(t *testing.T, name string, args ...string) *finishedRun {
	t.Helper()
	r := &finishedRun{dir: filepath.Join(t.TempDir(), "run"), args: append([]string{"run", name}, args...)}
	var errors string
	if r.status, r.out, errors =
		mainOf(append(slices.Clone(r.args), "--out", r.dir, "--progress", "none",
			"--allow-external")...); r.status != 0 && r.status != 3 {
		t.Fatalf("exit status %d: %s", r.status, errors)
	}
	r.files = withoutClock(t, r.dir)
	return r
}

// sameMerged plans a scenario for n workers and compares their merged directory with that of a run.
func sameMerged(t *testing.T, one *finishedRun, n int, more ...string) {
	t.Helper()
	line := slices.DeleteFunc(slices.Clone(one.args), func(arg string) bool { return arg == "--no-figures" })
	sets := line[2:]
	if n > 1 { // one worker does packed groups
		sets = append(slices.Clone(sets), "--group-time", "0s")
	}
	dir := planned(t, line[1], sets)
	workOn(t, dir, n)
	merged := filepath.Join(t.TempDir(), "run")
	status, out, errors := mainOf(append([]string{"plan", "merge", dir, "--out", merged}, more...)...)
	expect.Must(t, status == one.status, "%d workers: exit status %d, of the run %d: %s", n, status, one.status, errors)
	if d := cmp.Diff(one.out, strings.ReplaceAll(out, merged, one.dir)); d != "" {
		t.Errorf("%d workers: the summary differs: %s", n, d)
	}
	got := withoutClock(t, merged)
	for file := range one.files {
		expect.That(t, file == "manifest.json" || one.files[file] == got[file], "%d workers: %s differs", n, file)
	}
	if d := cmp.Diff(one.files["manifest.json"], got["manifest.json"]); d != "" || len(got) != len(one.files) {
		t.Errorf("%d workers: %d files, want %d: %s", n, len(got), len(one.files), d)
	}
	m := expect.Value(rundir.ReadManifest(merged))(t)
	expect.That(t, slices.Equal(m.Command[1:], line), "%d workers: command %q, want %q", n, m.Command, line)
}
