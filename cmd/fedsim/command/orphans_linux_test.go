package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// gated is a run, with a number of rounds, whose learner waits in its fifth round until the file open exists.
const gated = `
[data]
source = "external"
[data.external]
clients = 4
rows = 10
[run]
rounds = %d
devices = true
[methods.mean]
algorithm = "external"
program.command = ["learner", "gate=open", "log=pid"]
`

// gatedRun is fedsim in a new process group, with a learner that waits.
type gatedRun struct {
	*exec.Cmd
	dir     string
	learner int // its process id
	stderr  bytes.Buffer
}

// startGated starts the run in a directory and returns when the learner waits.
func startGated(t *testing.T, rounds int) *gatedRun {
	t.Helper()
	r := &gatedRun{dir: t.TempDir()}
	filetest.Write(t, filepath.Join(r.dir, "x.toml"), fmt.Appendf(nil, gated, rounds))
	r.Cmd = exec.Command("fedsim", "run", "x.toml", "--allow-external", "--no-figures", "--checkpoint=1e-9",
		"--progress=none")
	r.Dir, r.Stderr = r.dir, &r.stderr
	r.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	expect.NoError(t, r.Start())
	t.Cleanup(func() { _ = syscall.Kill(-r.Process.Pid, syscall.SIGKILL) })
	eventually(t, "the learner waits", func() bool {
		_, err := os.Stat(filepath.Join(r.dir, "open.waiting"))
		return err == nil
	})
	r.learner = int(filetest.Number(t, strings.TrimSpace(string(filetest.Read(t, filepath.Join(r.dir, "pid"))))))
	expect.Must(t, !gone(r.learner), "the learner does not run")
	return r
}

// open lets the learner continue.
func (r *gatedRun) open(t *testing.T) {
	t.Helper()
	filetest.Write(t, filepath.Join(r.dir, "open"), "")
}

// resume resumes the run, and compares it with one that nothing has interrupted. Again
// says that the fifth round must be computed again.
func (r *gatedRun) resume(t *testing.T, again bool) {
	t.Helper()
	waiting := filepath.Join(r.dir, "open.waiting")
	expect.NoError(t, os.Remove(waiting))
	r.open(t)
	run := func(args ...string) map[string]string {
		cmd := exec.Command("fedsim", append([]string{"run", "--allow-external", "--no-figures"}, args...)...)
		cmd.Dir = r.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		} else if strings.Contains(string(out), "from the beginning") {
			t.Errorf("%v: there was no checkpoint: %s", args, out)
		}
		return lasting(t, filepath.Join(r.dir, args[len(args)-1]))
	}
	resumed := run("--resume", "runs/x")
	if _, err := os.Stat(waiting); (err == nil) != again {
		t.Errorf("the fifth round is computed again: %t, must be %t", err == nil, again)
	}
	d := cmp.Diff(run("x.toml", "--out", "whole"), resumed)
	expect.That(t, d == "", "the resumed run differs from an uninterrupted one: %s", d)
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 60_000 {
		if holds() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s: not within a minute", what)
}

// gone reports whether a process has ended, although its status may not have been asked
// for.
func gone(id int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	return err != nil || regexp.MustCompile(`^\d+ \(.*\) Z `).Match(text)
}

// A learner dies with fedsim, even if it does not read its input. The run resumes.
func TestKilledRunsLeaveNoLearner(t *testing.T) {
	r := startGated(t, 8)
	expect.NoError(t, r.Process.Kill())
	_ = r.Wait()
	eventually(t, "the learner ends", func() bool { return gone(r.learner) })
	r.resume(t, true)
}

// A learner that is killed ends the run with one line. The run resumes.
func TestKilledLearnersAreReported(t *testing.T) {
	r := startGated(t, 8)
	expect.NoError(t, syscall.Kill(r.learner, syscall.SIGKILL))
	err := r.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	expect.That(t, ok && exit.ExitCode() == exitFailed, "got %v", err)
	lines := strings.Split(strings.TrimSpace(r.stderr.String()), "\n")
	const want = `^fedsim: run x/mean/seed=1: learner scalar failed in round 5: begin: ` +
		`was killed by the signal killed; the checkpoint is saved: .* --resume runs/x --allow-external$`
	if last := lines[len(lines)-1]; len(lines) != 3 || !regexp.MustCompile(want).MatchString(last) {
		t.Errorf("got %q, want two lines about the program and %s", lines, want)
	}
	r.resume(t, true)
}

// Ctrl-C, which interrupts the process group of fedsim, does not reach the learner: its
// round ends and is saved.
func TestInterruptedRunsWaitForLearners(t *testing.T) {
	r := startGated(t, 300) // fedsim has so many rounds to notice the signal
	expect.NoError(t, syscall.Kill(-r.Process.Pid, syscall.SIGINT))
	r.open(t)
	err := r.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	expect.That(t, ok && exit.ExitCode() == exitInterrupted, "got %v: %s", err, r.stderr.String())
	expect.That(t, strings.HasSuffix(r.stderr.String(), "--resume runs/x --allow-external\n"),
		"got %s", r.stderr.String())
	eventually(t, "the learner ends", func() bool { return gone(r.learner) })
	r.resume(t, false)
}

// The second Ctrl-C kills fedsim, and with it a learner that does not answer.
func TestSecondInterruptEndsLearners(t *testing.T) {
	r := startGated(t, 8)
	exited := make(chan error, 1)
	go func() { exited <- r.Wait() }()
	eventually(t, "fedsim ends", func() bool {
		_ = syscall.Kill(-r.Process.Pid, syscall.SIGINT)
		select {
		case err := <-exited:
			exit, ok := errors.AsType[*exec.ExitError](err)
			expect.That(t, ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGINT, "got %v", err)
			return true
		default:
			return false
		}
	})
	eventually(t, "the learner ends", func() bool { return gone(r.learner) })
}
