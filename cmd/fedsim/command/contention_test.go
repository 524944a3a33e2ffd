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

// longCheckpoint is the checkpoint of the long run: the start of the SHA-256 of its name.
const longCheckpoint = "acd0b4c42a80750f.state"

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
	h.cmd = exec.Command(program[0], append(program[1:], "run", "x.toml", "--out", "run", "--checkpoint=1e-3", "--progress=none", "--workers=1")...)
	h.cmd.Dir, h.cmd.Stderr = h.root, &h.stderr
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.cmd.Process.Kill() }) // if it has not ended
	saved := filepath.Join(h.root, "run", ".unfinished", "checkpoint")
	for range 30_000 {
		if _, err := os.Stat(filepath.Join(saved, longCheckpoint)); err == nil {
			h.signal(t, syscall.SIGSTOP)
			time.Sleep(10 * time.Millisecond) // until all threads have stopped
			if half, _ := filepath.Glob(filepath.Join(saved, ".*.tmp")); len(half) == 0 {
				return h
			}
			h.signal(t, syscall.SIGCONT) // try again: it was writing a file
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("no checkpoint")
	return nil
}

func (h *halted) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := h.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// exits runs a command in root, checks its exit status and returns its output.
func (h *halted) exits(t *testing.T, want int, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = h.root
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Fatalf("%v: status %d, want %d: %s", args, got, want, out)
	}
	return string(out)
}

// resume resumes the run and compares its results with those of the uninterrupted run.
func (h *halted) resume(t *testing.T) {
	t.Helper()
	h.exits(t, 0, "fedsim", "run", "--resume", "run")
	if d := cmp.Diff(lasting(t, filepath.Join(h.root, "whole")), lasting(t, filepath.Join(h.root, "run"))); d != "" {
		t.Error(d)
	}
}

// Only one process writes a run directory. Other commands are rejected until that process
// has ended, even by a kill.
func TestOneProcessWritesADirectory(t *testing.T) {
	h := halt(t, "fedsim")
	busy := fmt.Sprintf("fedsim: run: is being written to by another fedsim, process %d: wait until it is done", h.cmd.Process.Pid)
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
		if got := h.exits(t, exitFailed, args...); got != want {
			t.Errorf("%v: got %q, want %q", args, got, want)
		}
	}
	h.signal(t, syscall.SIGKILL)
	if err := h.cmd.Wait(); err == nil {
		t.Fatal("the process was not killed")
	}
	if got := h.exits(t, exitUsage, "fedsim", "run", "x.toml", "--out", "run"); !strings.HasPrefix(got, "fedsim: run: holds an unfinished run, 1 finished and more under way") {
		t.Errorf("got %q", got)
	}
	h.resume(t)
}

// A directory becomes read-only during a run: the error names the file, and the
// checkpoint is preserved.
func TestDirectoryBecomesReadOnly(t *testing.T) {
	h := halt(t, "unprivileged")
	stage := filepath.Join(h.root, "run", ".unfinished")
	dirs := []string{filepath.Join(stage, "checkpoint"), stage, filepath.Join(h.root, "run")}
	for _, dir := range dirs {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	h.signal(t, syscall.SIGCONT)
	_ = h.cmd.Wait() // the status is checked below
	if got := h.cmd.ProcessState.ExitCode(); got != exitFailed {
		t.Errorf("status %d, want %d", got, exitFailed)
	}
	line := h.stderr.String()
	if !strings.Contains(line, "run/.unfinished/checkpoint/") || !strings.Contains(line, ": permission denied; the checkpoint is saved") || strings.Count(line, "\n") != 1 {
		t.Errorf("got %q", line)
	}
	for _, dir := range dirs {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	h.resume(t)
}
