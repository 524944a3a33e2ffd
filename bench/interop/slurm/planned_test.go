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
	ctx     context.Context // ends before the test is killed
	env     []string
	dir     string
	run     string    // run directory of one process
	running *exec.Cmd // which writes it
}

// newPlanned starts a cluster and plans a scenario. It starts "fedsim run" with the scenario, too.
func newPlanned(t *testing.T, scenario string, options ...string) *planned {
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
	// A name that scripts must quote.
	p := &planned{T: t, cluster: c, ctx: ctx, env: c.env, dir: filepath.Join(t.TempDir(), "it's a plan"),
		run: filepath.Join(t.TempDir(), "run")}
	p.running = p.start("run", scenario, "--out", p.run, "--progress=none")
	p.fedsim(append([]string{"plan", "make", scenario, "-o", p.dir}, options...)...)
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
	p.Cleanup(func() { _ = cmd.Wait() }) // the context has ended
	return cmd
}

// try runs fedsim and returns its output.
func (p *planned) try(args ...string) (string, error) {
	ctx := p.ctx
	if ctx == nil {
		ctx = p.Context()
	}
	cmd := exec.CommandContext(ctx, *fedsim, args...)
	cmd.Env = p.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// fedsim runs fedsim, which must succeed, and returns its output.
func (p *planned) fedsim(args ...string) string {
	p.Helper()
	text, err := p.try(args...)
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

// until waits for a condition, until shortly before the test would be killed.
func (p *planned) until(what string, holds func() bool) {
	p.Helper()
	begun, limit := time.Now(), time.Hour
	if end, ok := p.Deadline(); ok {
		limit = time.Until(end) - 40*time.Second
	}
	if err := wait(p.ctx, limit, what, func() (bool, error) { return holds(), nil }); err != nil {
		p.Fatalf("%v; %s", err, p.fedsim("show", p.dir))
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
		if err != nil || !strings.HasPrefix(string(command), *fedsim+"\x00plan\x00work\x00") {
			continue
		}
		if w := (worker{pid, variable(pid, "SLURM_ARRAY_TASK_ID"), variable(pid, "SLURM_JOB_ID")}); w.job != "" {
			all = append(all, w)
		}
	}
	return all
}

// crash kills a node with all that runs there. It reports false if no worker does.
func (p *planned) crash(node string) bool {
	if !slices.ContainsFunc(p.workers(), func(w worker) bool { return variable(w.pid, nodeName) == node }) {
		return false
	}
	// All stop before the first ends: Slurm must not learn of the end of a script.
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		for _, pid := range p.processes() {
			if variable(pid, nodeName) == node {
				_ = syscall.Kill(pid, signal)
			}
		}
	}
	return true
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
		// A worker that is stopped cannot end before Slurm's signal comes. One that has claimed
		// a group handles the signal.
		w := workers[0]
		if syscall.Kill(w.pid, syscall.SIGSTOP) != nil {
			return false
		}
		if !slices.ContainsFunc(p.state().Items,
			func(item item) bool { return item.State == "running" && item.PID == w.pid }) {
			_ = syscall.Kill(w.pid, syscall.SIGCONT)
			return false
		}
		stopped = w
		return true
	})
	before = p.done()
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel() // scancel repeats the signal to a task of an array
	scancel := exec.CommandContext(ctx, "scancel", "--signal=TERM", "--batch", stopped.job)
	scancel.Env = p.env
	if err := scancel.Start(); err != nil {
		p.Fatal(err)
	}
	p.until("the worker has the signal", func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", stopped.pid))
		if err != nil {
			p.Fatal(err)
		}
		_, pending, _ := strings.Cut(string(status), "\nShdPnd:\t")
		pending, _, _ = strings.Cut(pending, "\n")
		mask, err := strconv.ParseUint(pending, 16, 64)
		if err != nil {
			p.Fatal(err)
		}
		return mask>>(syscall.SIGTERM-1)&1 == 1
	})
	cancel()
	_ = scancel.Wait()
	if err := syscall.Kill(stopped.pid, syscall.SIGCONT); err != nil {
		p.Fatal(err)
	}
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
		claim, err := os.ReadFile(filepath.Join(p.dir, "claims", e.Name()+".json"))
		if err == nil && bytes.Contains(claim, []byte(`"ended": true`)) { // it is written after the folder
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

// state is what "fedsim show" says.
type state struct {
	Groups struct{ Total, Done, Failed int }
	Items  []item
}

// item is a group or a prerequisite.
type item struct {
	State string
	PID   int
}

func (p *planned) state() state {
	p.Helper()
	var s state
	if err := json.Unmarshal([]byte(p.fedsim("show", p.dir, "--json")), &s); err != nil {
		p.Fatal(err)
	}
	if s.Groups.Total == 0 || s.Groups.Failed > 0 {
		p.Fatalf("groups: %+v", s.Groups)
	}
	return s
}

// complete reports whether all groups are done.
func (p *planned) complete() bool {
	p.Helper()
	s := p.state()
	return s.Groups.Done == s.Groups.Total
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
		p.Fatalf("no task is left: %s", p.fedsim("show", p.dir))
	}
}

// sameAsRun merges the plan and compares all files with those of "fedsim run".
func (p *planned) sameAsRun() {
	p.Helper()
	merged := filepath.Join(p.TempDir(), "merged")
	p.fedsim("plan", "merge", p.dir, "--out", merged)
	if err := p.running.Wait(); err != nil {
		p.Fatalf("fedsim run: %v", err)
	}
	want, got := files(p.T, p.run), files(p.T, merged)
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
	m := r.Manifest
	m.Clock, m.Command = nil, nil
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
