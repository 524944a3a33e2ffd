package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/results/rundir"
)

// interruptAt runs a command, interrupts it as soon as a file exists, and exits with its
// status: interrupt-at FILE COMMAND...
func interruptAt() {
	interruptWhen(func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// interruptSaved does so as soon as a directory has the state of a name: interrupt-saved DIR:NAME COMMAND...
func interruptSaved() {
	interruptWhen(func(of string) bool {
		dir, name, _ := strings.Cut(of, ":")
		return hasState(dir, name)
	})
}

// hasState reports whether the log of a run directory has a complete state of a name.
func hasState(dir, name string) bool {
	log, err := os.ReadFile(filepath.Join(dir, ".unfinished", "run.log"))
	return err == nil && bytes.Contains(log, fmt.Appendf(nil, `{"state":%q}`, name))
}

// interruptAfterRun does so as soon as a run of a directory has ended: interrupt-after DIR COMMAND...
func interruptAfterRun() {
	interruptWhen(func(dir string) bool {
		found, err := rundir.Read(rundir.Locate(dir))
		return err == nil && len(found.Runs) > 0
	})
}

func interruptWhen(is func(path string) bool) {
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fail(err)
	}
	for range 3000 {
		if is(os.Args[1]) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // the next run begins
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		fail(err)
	}
	exitAs(cmd.Wait())
}

// interruptItself sends itself two interrupts.
func interruptItself() {
	ctx, stop := untilInterrupted(context.Background(), os.Stderr)
	defer stop()
	for _, text := range []string{"waiting for a", "", "b"} {
		waitsFor(ctx, func() string { return text })
	}
	send := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			fail(err)
		}
	}
	send()
	<-ctx.Done()
	fmt.Println("first:", context.Cause(ctx))
	send()
	time.Sleep(time.Minute)
}

// takeInterrupts catches SIGINT during a test, so that programs which it starts do not ignore it:
// commands that a shell runs in the background ignore SIGINT, and hand that down.
func takeInterrupts(t *testing.T) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	t.Cleanup(func() { signal.Stop(caught) })
}

func TestSecondInterruptKills(t *testing.T) {
	takeInterrupts(t)
	cmd := exec.Command("interrupt-itself")
	out, err := cmd.Output()
	expect.That(t, string(out) == "first: context canceled\n", "got %q", out)
	exit, ok := errors.AsType[*exec.ExitError](err)
	expect.Must(t, ok, "it was not killed: %v", err)
	want := "fedsim: interrupted: waiting for a, b; Ctrl-C (SIGINT) ends fedsim at once\n"
	expect.That(t, string(exit.Stderr) == want, "the first signal says %q, want %q", exit.Stderr, want)
	s := exit.Sys().(syscall.WaitStatus)
	expect.That(t, s.Signaled() && s.Signal() == syscall.SIGINT, "it ended with %v, must be killed by the signal", exit)
}

// The first signal names the learner that a run waits for, at once. The second ends fedsim.
func TestFirstSignalNamesALearnerThatHangs(t *testing.T) {
	takeInterrupts(t)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	scenario := fmt.Sprintf(`name = "hangs"
[data.synthetic]
clients = 3
features = 2
[methods.x]
algorithm = "external"
program.command = [%q, "-c", 'read a; echo "{\"v\":1,\"name\":\"n\",\"can\":[],\"metrics\":[]}"; read b; : > %s; exec sleep 1000']
`, sh, started)
	file := filepath.Join(dir, "hangs.toml")
	filetest.Write(t, file, scenario)
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		_ = os.Remove(started)
		cmd := exec.Command("fedsim", "run", file, "--allow-external", "--progress=none", "--force", "--out",
			filepath.Join(dir, "out"))
		stderr, err := cmd.StderrPipe()
		expect.NoError(t, err)
		expect.NoError(t, cmd.Start())
		for _, err := os.Stat(started); err != nil; _, err = os.Stat(started) {
			time.Sleep(5 * time.Millisecond)
		}
		send := func() {
			err := cmd.Process.Signal(signal)
			expect.That(t, err == nil, "%v", err)
		}
		send()
		found := false
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			text := lines.Text()
			if strings.HasPrefix(text, "fedsim: interrupted: ") {
				found = true
				if !strings.Contains(text, "waiting for learner n: start of run hangs/x/seed=1, since ") ||
					!strings.Contains(text, "timeout_s = 0: no limit") ||
					!strings.HasSuffix(text, "ends fedsim at once") {
					t.Errorf("%v says %q", signal, text)
				}
				send()
			}
		}
		err = cmd.Wait()
		exit, ok := errors.AsType[*exec.ExitError](err)
		expect.That(t, found && ok && exit.Sys().(syscall.WaitStatus).Signaled(),
			"%v: it ended with %v, must be killed by the second signal", signal, err)
	}
}
