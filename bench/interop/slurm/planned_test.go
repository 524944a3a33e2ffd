package slurm

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fedsim/results/rundir"
)

// planned is a plan directory, with a cluster.
type planned struct {
	*testing.T
	*cluster
	ctx      context.Context // ends before the test is killed
	env      []string
	scenario string
	dir      string
}

// newPlanned starts a cluster and plans a scenario.
func newPlanned(t *testing.T, scenario string) *planned {
	t.Helper()
	if *fedsim == "" {
		t.Skip("run make test-slurm")
	}
	ctx, cancel := t.Context(), context.CancelFunc(nil)
	if end, ok := t.Deadline(); ok {
		ctx, cancel = context.WithDeadline(ctx, end.Add(-20*time.Second)) // time to stop the cluster
		t.Cleanup(cancel)
	}
	c := start(ctx, t)
	// It holds no names that need no quoting.
	p := &planned{T: t, cluster: c, ctx: ctx, env: c.env, scenario: scenario, dir: filepath.Join(t.TempDir(), "it's a plan")}
	p.fedsim("plan", scenario, "-o", p.dir)
	return p
}

// start starts a fedsim.
func (p *planned) start(args ...string) *exec.Cmd {
	p.Helper()
	cmd := exec.CommandContext(p.ctx, *fedsim, args...)
	cmd.Env = p.env
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	return cmd
}

// run runs fedsim and returns what it printed.
func (p *planned) run(args ...string) (string, error) {
	ctx := p.ctx
	if ctx == nil {
		ctx = p.Context()
	}
	cmd := exec.CommandContext(ctx, *fedsim, args...)
	cmd.Env = p.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// fedsim runs fedsim, which must succeed, and returns what it printed.
func (p *planned) fedsim(args ...string) string {
	p.Helper()
	text, err := p.run(args...)
	if err != nil {
		p.Fatalf("fedsim %s: %v: %s", strings.Join(args, " "), err, text)
	}
	return text
}

// slurm runs one of Slurm's commands, which must succeed.
func (p *planned) slurm(args ...string) string {
	p.Helper()
	out, err := p.cluster.slurm(p.ctx, args...)
	if err != nil {
		p.Fatal(err)
	}
	return out
}

// until waits for a condition.
func (p *planned) until(what string, holds func() bool) {
	p.Helper()
	begun := time.Now()
	if err := wait(p.ctx, limit, what, func() (bool, error) { return holds(), nil }); err != nil {
		p.Fatalf("%v; %s", err, p.fedsim("status", p.dir))
	}
	p.Logf("%5.1f s until %s", time.Since(begun).Seconds(), what)
}

// tasks returns the tasks in Slurm's queue, as <job>_<task>.
func (p *planned) tasks() []string {
	p.Helper()
	return strings.Fields(p.slurm("squeue", "--noheader", "--array", "--format=%i"))
}

// ends returns fields of all tasks that Slurm knows, also of those that ended.
func (p *planned) ends(fields ...string) [][]string {
	p.Helper()
	var ends [][]string
	for text := range strings.SplitSeq(p.slurm("scontrol", "show", "job"), "\n\n") {
		var end []string
		for _, field := range fields {
			_, value, ok := strings.Cut(" "+strings.ReplaceAll(text, "\n", " "), " "+field+"=")
			if !ok {
				break
			}
			if field == "Comment" { // the only one with spaces
				value, _, _ = strings.Cut(value, "  ")
			} else {
				value, _, _ = strings.Cut(value, " ")
			}
			end = append(end, strings.TrimSpace(value))
		}
		if len(end) == len(fields) {
			ends = append(ends, end)
		}
	}
	return ends
}

// restarts returns how often Slurm started a task again.
func (p *planned) restarts() int {
	p.Helper()
	sum := 0
	for _, end := range p.ends("Restarts") {
		n, err := strconv.Atoi(end[0])
		if err != nil {
			p.Fatal(err)
		}
		sum += n
	}
	return sum
}

// worker is a fedsim of a task.
type worker struct {
	pid       int
	task, job string
}

// workers returns the workers of tasks that run.
func (p *planned) workers() []worker {
	var all []worker
	for _, pid := range p.processes() {
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !strings.HasPrefix(string(command), *fedsim+"\x00work\x00") {
			continue
		}
		if w := (worker{pid, variable(pid, "SLURM_ARRAY_TASK_ID"), variable(pid, "SLURM_JOB_ID")}); w.job != "" {
			all = append(all, w)
		}
	}
	return all
}

// on returns the processes of a node if a worker is among them: its daemon and those of its
// tasks.
func (p *planned) on(node string) []int {
	var pids []int
	busy := false
	for _, pid := range p.processes() {
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue
		}
		name := variable(pid, "SLURMD_NODENAME")
		busy = busy || name == node && strings.HasPrefix(string(command), *fedsim+"\x00")
		if name == node || strings.HasSuffix(string(command), "\x00-N\x00"+node+"\x00") {
			pids = append(pids, pid)
		}
	}
	if !busy {
		return nil
	}
	return pids
}

// variable returns an environment variable of a process.
func variable(pid int, name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for v := range strings.SplitSeq(string(text), "\x00") {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// interrupt sends TERM to the script of a task that runs. It returns the task and the groups
// that were done then.
func (p *planned) interrupt() (task string, before map[string]string) {
	p.Helper()
	var stopped worker
	p.until("a task is interrupted", func() bool {
		workers := p.workers()
		if len(workers) == 0 {
			return false
		}
		// A worker that is stopped cannot end before Slurm's signal comes.
		w := workers[0]
		if syscall.Kill(w.pid, syscall.SIGSTOP) != nil {
			return false
		}
		stopped = w
		return true
	})
	defer func() { _ = syscall.Kill(stopped.pid, syscall.SIGCONT) }()
	before = p.done()
	// By the number of the job: with <job>_<task>, scancel repeats the signal.
	p.slurm("scancel", "--signal=TERM", "--batch", stopped.job)
	return stopped.task, before
}

// done returns the claim of the worker that finished each group that is done.
func (p *planned) done() map[string]string {
	p.Helper()
	done := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(p.dir, "done"))
	if err != nil && !os.IsNotExist(err) {
		p.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		claim, err := os.ReadFile(filepath.Join(p.dir, "done", e.Name()+".json"))
		if err == nil { // it is written after the folder
			done[e.Name()] = string(claim)
		}
	}
	return done
}

// keep checks that groups were not done again.
func (p *planned) keep(before map[string]string) {
	p.Helper()
	after := p.done()
	for id, claim := range before {
		if after[id] != claim {
			p.Errorf("group %s was done again: first %s, then %s", id, claim, after[id])
		}
	}
	p.Logf("%d of %d groups were done before", len(before), len(after))
}

// complete reports whether all groups are done, as "fedsim status" says.
func (p *planned) complete() bool {
	p.Helper()
	var state struct {
		Groups struct{ Total, Done, Failed int }
	}
	if err := json.Unmarshal([]byte(p.fedsim("status", p.dir, "--json")), &state); err != nil {
		p.Fatal(err)
	}
	if state.Groups.Total == 0 || state.Groups.Failed > 0 {
		p.Fatalf("groups: %+v", state.Groups)
	}
	return state.Groups.Done == state.Groups.Total
}

// finish waits until no task is left. Then all groups must be done.
func (p *planned) finish() {
	p.Helper()
	p.until("no task is left", func() bool { return len(p.tasks()) == 0 })
	if !p.complete() {
		logs, _ := filepath.Glob(filepath.Join(p.dir, "submitted", "*.out"))
		for _, log := range logs {
			text, _ := os.ReadFile(log)
			p.Logf("%s:\n%s", log, text)
		}
		p.Fatalf("no task is left: %s", p.fedsim("status", p.dir))
	}
}

// sameAsRun merges the plan and compares all files with those of "fedsim run".
func (p *planned) sameAsRun() {
	p.Helper()
	run, merged := filepath.Join(p.TempDir(), "run"), filepath.Join(p.TempDir(), "merged")
	p.fedsim("run", p.scenario, "--out", run, "--progress=none")
	p.fedsim("merge", p.dir, "--out", merged)
	want, got := files(p.T, run), files(p.T, merged)
	if names := slices.Sorted(maps.Keys(want)); !slices.Equal(names, slices.Sorted(maps.Keys(got))) || len(names) < 5 {
		p.Fatalf("files %q, want %q", slices.Sorted(maps.Keys(got)), names)
	}
	size := 0
	for name := range want {
		if size += len(want[name]); want[name] != got[name] {
			p.Errorf("%s differs", name)
		}
	}
	p.Logf("%d files with %d bytes", len(want), size)
}

// files returns the files of a run directory, without what depends on the real clock and on
// the command line.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	r, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := r.Manifest.WithoutClock()
	m.Command = nil
	manifest, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name := strings.TrimPrefix(path, dir)
		switch d.Name() {
		case "manifest.json":
			files[name] = string(manifest)
		case "runs.csv":
			files[name] = withoutWall(t, text)
		default:
			files[name] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// withoutWall returns a table without its column wall_s.
func withoutWall(t *testing.T, text []byte) string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := slices.Index(rows[0], "wall_s")
	if column < 0 {
		t.Fatal("runs.csv has no column wall_s")
	}
	for i := range rows {
		rows[i] = slices.Delete(rows[i], column, column+1)
	}
	return fmt.Sprintf("%q", rows)
}
