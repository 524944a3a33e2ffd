package work

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// newDir returns the directory of a plan without a plan.
func newDir(t *testing.T) *Dir {
	t.Helper()
	d := &Dir{path: t.TempDir()}
	for _, folder := range []string{claimsDir, failedDir, doneDir} {
		if err := os.Mkdir(filepath.Join(d.path, folder), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// clock returns the clock of the file server for a worker.
func (d *Dir) clock(worker string) func() (time.Time, error) {
	return func() (time.Time, error) { return d.Now(worker) }
}

// another is a worker on another machine: only its heartbeat tells whether it lives.
func another(name string) Claim { return Claim{Worker: name, Host: "elsewhere"} }

// hold claims and requires success or not.
func requireHold(t *testing.T, d *Dir, id string, by Claim, want bool) *hold {
	t.Helper()
	h, ok, err := d.hold(id, by, StaleAfter, d.clock(by.Worker))
	if err != nil || ok != want {
		t.Fatalf("hold(%s) by %s = %v, %v, want %v", id, by.Worker, ok, err, want)
	}
	return h
}

// grow makes the last heartbeat of a claim older.
func grow(t *testing.T, d *Dir, id string, age time.Duration) {
	t.Helper()
	then := time.Now().Add(-age)
	if err := os.Chtimes(d.note(claimsDir, id), then, then); err != nil {
		t.Fatal(err)
	}
}

func requireWorker(t *testing.T, d *Dir, id, want string) *Claim {
	t.Helper()
	c, err := d.Claim(id)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	if c != nil {
		got = c.Worker
	}
	if got != want {
		t.Fatalf("the worker of the claim is %q, want %q", got, want)
	}
	return c
}

func TestClaim(t *testing.T) {
	d := newDir(t)
	a := requireHold(t, d, "1", another("a"), true)
	requireHold(t, d, "1", another("b"), false)
	requireHold(t, d, "2", another("b"), true)
	grow(t, d, "1", StaleAfter-5*time.Second)
	requireHold(t, d, "1", another("b"), false)
	a.claim.Share = 0.25
	if err := a.beat(); err != nil {
		t.Fatal(err)
	}
	if c := requireWorker(t, d, "1", "a"); c.Beat != 1 || c.Share != 0.25 || time.Since(c.written) > StaleAfter/2 {
		t.Errorf("after a heartbeat the claim is %+v", c)
	}
	if err := a.release(); err != nil {
		t.Fatal(err)
	}
	requireWorker(t, d, "1", "")
	requireHold(t, d, "1", another("b"), true)
	if err := a.release(); err != nil { // of another
		t.Fatal(err)
	}
	requireWorker(t, d, "1", "b")
}

// A worker that was stopped for long loses its claim and does not take it back.
func TestStaleClaimIsTakenOver(t *testing.T) {
	d := newDir(t)
	a := requireHold(t, d, "1", another("a"), true)
	grow(t, d, "1", StaleAfter+time.Second)
	b := requireHold(t, d, "1", another("b"), true)
	if err := a.beat(); err != nil {
		t.Fatal(err)
	}
	requireWorker(t, d, "1", "b")
	if err := b.release(); err != nil {
		t.Fatal(err)
	}
	if err := a.beat(); err != nil { // it still works on the group
		t.Fatal(err)
	}
	requireWorker(t, d, "1", "a")
}

// Of several workers that find a stale claim one has it afterwards, always a whole one.
func TestOneTakesOver(t *testing.T) {
	d := newDir(t)
	for range 50 {
		requireHold(t, d, "1", another("dead"), true)
		grow(t, d, "1", 2*StaleAfter)
		var taken atomic.Int32
		var all sync.WaitGroup
		for _, name := range []string{"a", "b", "c", "d"} {
			all.Go(func() {
				_, ok, err := d.hold("1", another(name), StaleAfter, d.clock(name))
				if err != nil {
					t.Error(err)
				}
				if ok {
					taken.Add(1)
				}
			})
		}
		all.Wait()
		if taken.Load() < 1 {
			t.Fatal("nobody has the claim")
		}
		if c, err := d.Claim("1"); err != nil || c == nil || c.Worker == "" || !strings.Contains("abcd", c.Worker) {
			t.Fatalf("the claim is %+v, %v", c, err)
		}
		if err := os.Remove(d.note(claimsDir, "1")); err != nil {
			t.Fatal(err)
		}
	}
}

// A claim that is being written, or was cut off by a full disk, counts by its age.
func TestClaimWithoutContent(t *testing.T) {
	d := newDir(t)
	if err := os.WriteFile(d.note(claimsDir, "1"), []byte(`{"worker":`), 0o666); err != nil {
		t.Fatal(err)
	}
	requireHold(t, d, "1", another("b"), false)
	grow(t, d, "1", StaleAfter+time.Second)
	requireHold(t, d, "1", another("b"), true)
}

// The claim of a process of this machine is free as soon as the process has ended. A process
// number alone proves nothing: it is given again, and other machines and containers have it, too.
func TestClaimOfEndedProcess(t *testing.T) {
	me := ThisProcess()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells when a process started")
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	theirs := me
	theirs.PID = child.Process.Pid
	theirs.Start, _ = startOf(theirs.PID)
	with := func(change func(*Process)) Process {
		p := theirs
		change(&p)
		return p
	}
	other := with(func(p *Process) { p.Machine = "another boot" })
	for _, x := range []struct {
		name  string
		p     Process
		ended bool
	}{
		{"this process", me, false},
		{"a living one", theirs, false},
		{"an older one with its number", with(func(p *Process) { p.Start = "1" }), true},
		{"one of another machine", other, false},
		{"an unknown one", Process{}, false},
	} {
		if got := x.p.ended(); got != x.ended {
			t.Errorf("%s: ended = %v, want %v", x.name, got, x.ended)
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for i := 0; !theirs.ended(); i++ { // it is a zombie: nobody has waited for it
		if i > 10_000 {
			t.Fatal("a killed process counts as alive")
		}
		time.Sleep(time.Millisecond)
	}
	_ = child.Wait() // it was killed
	if !theirs.ended() || other.ended() {
		t.Errorf("after its end: ended = %v, of another machine %v", theirs.ended(), other.ended())
	}
	d := newDir(t)
	dead := another("dead")
	dead.Process = theirs
	requireHold(t, d, "1", dead, true)
	requireHold(t, d, "1", another("b"), true)
	requireWorker(t, d, "1", "b")
}

func TestFailure(t *testing.T) {
	d := newDir(t)
	if f, err := d.Failure("1"); f != nil || err != nil {
		t.Fatal(f, err)
	}
	if err := writeNote(d.note(failedDir, "1"), &Failure{Reason: "NaN", Host: "n1", TookS: 2}); err != nil {
		t.Fatal(err)
	}
	if f, err := d.Failure("1"); err != nil || f.Reason != "NaN" || f.Host != "n1" || f.TookS != 2 {
		t.Fatal(f, err)
	}
	for range 2 {
		if err := d.Forget("1"); err != nil {
			t.Fatal(err)
		}
	}
	if f, err := d.Failure("1"); f != nil || err != nil {
		t.Fatal(f, err)
	}
	if err := os.WriteFile(d.note(failedDir, "1"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if f, err := d.Failure("1"); err != nil || !strings.HasPrefix(f.Reason, "unknown: ") {
		t.Fatal(f, err)
	}
}
