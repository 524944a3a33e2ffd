//go:build unix

package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// contended has two short runs with rows by device, and a long run, which takes a tenth
// of a second.
const contended = `
[data.synthetic]
clients = 3
features = 4
rows_min = 8
rows_max = 12
[problem]
regularizer = "probabilistic"
[methods.mocha]
[[experiment]]
name = "short"
set = { "run.rounds" = 5, "run.devices" = true }
sweep = { "network.profile" = ["wifi", "3g"] }
[[experiment]]
name = "long"
set = { "run.rounds" = 3000, "run.outer" = 2 }
`

// halted is a stopped process that runs contended and has a checkpoint of the long run.
type halted struct {
	cmd    *exec.Cmd
	root   string // holds x.toml, whole and run
	stderr bytes.Buffer
}

// halt runs contended to root/whole. Then program runs it to root/run and is stopped after
// a checkpoint of the long run.
func halt(t *testing.T, program ...string) *halted {
	t.Helper()
	h := &halted{root: t.TempDir()}
	if err := os.Chmod(h.root, 0o777); err != nil { // for users other than root
		t.Fatal(err)
	}
	filetest.Write(t, filepath.Join(h.root, "x.toml"), contended)
	h.exits(t, 0, "fedsim", "run", "x.toml", "--out", "whole")
	h.cmd = exec.Command(program[0],
		append(program[1:], "run", "x.toml", "--out", "run", "--checkpoint=1e-3", "--progress=none", "--workers=1")...)
	h.cmd.Dir, h.cmd.Stderr = h.root, &h.stderr
	expect.NoError(t, h.cmd.Start())
	t.Cleanup(func() { _ = h.cmd.Process.Kill() }) // if it has not ended
	for range 30_000 {
		if hasState(filepath.Join(h.root, "run"), "long/mocha/seed=1") {
			h.signal(t, syscall.SIGSTOP)
			time.Sleep(10 * time.Millisecond) // until all threads have stopped
			return h
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("no checkpoint")
	return nil
}

func (h *halted) signal(t *testing.T, s os.Signal) {
	t.Helper()
	expect.NoError(t, h.cmd.Process.Signal(s))
}

// exits runs a command in root, checks its exit status and returns its output.
func (h *halted) exits(t *testing.T, want int, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = h.root
	out, _ := cmd.CombinedOutput()
	got := cmd.ProcessState.ExitCode()
	expect.Must(t, got == want, "%v: status %d, want %d: %s", args, got, want, out)
	return string(out)
}

// resume resumes the run and compares its results with those of the uninterrupted run.
func (h *halted) resume(t *testing.T) {
	t.Helper()
	h.exits(t, 0, "fedsim", "run", "--resume", "run")
	d := cmp.Diff(lasting(t, filepath.Join(h.root, "whole")), lasting(t, filepath.Join(h.root, "run")))
	expect.That(t, d == "", "%v", d)
}

// Only one process writes a run directory. Other commands are rejected until that process
// has ended, even by a kill.
func TestOneProcessWritesADirectory(t *testing.T) {
	h := halt(t, "fedsim")
	busy := fmt.Sprintf("fedsim: run: is being written to by another fedsim, process %d: wait until it is done",
		h.cmd.Process.Pid)
	for _, args := range [][]string{
		{"fedsim", "run", "x.toml", "--out", "run"},
		{"fedsim", "run", "x.toml", "--out", "run", "--force"},
		{"fedsim", "run", "--resume", "run"},
		{"fedsim", "theory", "x.toml", "--out", "run", "--force"},
	} {
		want := busy + ", or choose another directory with --out\n"
		if args[2] == "--resume" { // it cannot be combined with --out
			want = busy + "\n"
		}
		got := h.exits(t, exitFailed, args...)
		expect.That(t, got == want, "%v: got %q, want %q", args, got, want)
	}
	h.signal(t, syscall.SIGKILL)
	err := h.cmd.Wait()
	expect.Must(t, err != nil, "the process was not killed")
	if got := h.exits(t, exitUsage, "fedsim", "run", "x.toml", "--out", "run"); !strings.HasPrefix(got,
		"fedsim: run: holds an unfinished run, 1 finished and more under way") {
		t.Errorf("got %q", got)
	}
	h.resume(t)
}

// A directory becomes read-only during a run: the error at its end names the file, and the
// checkpoint is preserved.
func TestDirectoryBecomesReadOnly(t *testing.T) {
	h := halt(t, "unprivileged")
	stage := filepath.Join(h.root, "run", ".unfinished")
	dirs := []string{filepath.Join(stage, "checkpoint"), stage, filepath.Join(h.root, "run")}
	for _, dir := range dirs {
		expect.NoError(t, os.Chmod(dir, 0o555))
	}
	h.signal(t, syscall.SIGCONT)
	_ = h.cmd.Wait() // the status is checked below
	got := h.cmd.ProcessState.ExitCode()
	expect.That(t, got == exitFailed, "status %d, want %d", got, exitFailed)
	line := h.stderr.String()
	if !strings.Contains(line, "run/.unfinished/") ||
		!strings.Contains(line, ": permission denied; the checkpoint is saved") || strings.Count(line, "\n") != 2 {
		t.Errorf("got %q", line)
	}
	for _, dir := range dirs {
		expect.NoError(t, os.Chmod(dir, 0o777))
	}
	h.resume(t)
}
