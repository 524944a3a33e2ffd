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
	for _, folder := range folders {
		if err := os.Mkdir(filepath.Join(d.path, folder), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// another is a worker on another machine: only its heartbeat shows whether it lives.
func another(name string) Claim { return Claim{Worker: name, Host: "elsewhere"} }

// requireClaim claims and requires success or not.
func requireClaim(t *testing.T, d *Dir, id string, by Claim, want bool) *lease {
	t.Helper()
	l, ok, err := d.acquire(id, by, StaleAfter, d.View(time.Now).fileTime)
	if err != nil || ok != want {
		t.Fatalf("acquire(%s) by %s = %v, %v, want %v", id, by.Worker, ok, err, want)
	}
	return l
}

// grow makes the last heartbeat of a claim older.
func grow(t *testing.T, d *Dir, id string, age time.Duration) {
	t.Helper()
	then := time.Now().Add(-age)
	if err := os.Chtimes(d.claimPath(id), then, then); err != nil {
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
	a := requireClaim(t, d, "1", another("a"), true)
	requireClaim(t, d, "1", another("b"), false)
	requireClaim(t, d, "2", another("b"), true)
	grow(t, d, "1", StaleAfter-5*time.Second)
	requireClaim(t, d, "1", another("b"), false)
	a.claim.Share, a.claim.TookS = 0.25, 3
	requireBeat(t, a, true)
	if c := requireWorker(t, d, "1", "a"); c.Share != 0.25 || time.Since(c.written) > StaleAfter/2 {
		t.Errorf("after a heartbeat the claim is %+v", c)
	}
	if err := a.release(); err != nil {
		t.Fatal(err)
	}
	if c := requireWorker(t, d, "1", "a"); !c.Ended || c.Share != 0.25 {
		t.Errorf("the ended claim is %+v", c)
	}
	b := requireClaim(t, d, "1", another("b"), true)
	if err := b.release(); err != nil { // nothing was done
		t.Fatal(err)
	}
	if c := requireWorker(t, d, "1", "a"); !c.Ended || c.TookS != 3 {
		t.Errorf("the ended claim is %+v", c)
	}
	requireClaim(t, d, "1", another("b"), true)
	if c := requireWorker(t, d, "1", "b"); c.Ended || c.TookS != 3 {
		t.Errorf("the claim of the next worker is %+v", c)
	}
	if err := a.release(); err != nil { // of another
		t.Fatal(err)
	}
	requireWorker(t, d, "1", "b")
}

// requireBeat writes a heartbeat, and requires that the worker has the claim or not.
func requireBeat(t *testing.T, l *lease, want bool) {
	t.Helper()
	if mine, err := l.beat(); mine != want || err != nil {
		t.Fatalf("beat = %v, %v, want %v", mine, err, want)
	}
}

// A worker that was stopped for long loses its claim and does not take it back.
func TestStaleClaimIsTakenOver(t *testing.T) {
	d := newDir(t)
	a := requireClaim(t, d, "1", another("a"), true)
	grow(t, d, "1", StaleAfter+time.Second)
	b := requireClaim(t, d, "1", another("b"), true)
	requireBeat(t, a, false)
	requireWorker(t, d, "1", "b")
	if err := b.release(); err != nil {
		t.Fatal(err)
	}
	requireBeat(t, a, true) // nothing was done, and it still works on the group
	requireClaim(t, d, "1", another("b"), false)
	grow(t, d, "1", StaleAfter+time.Second)
	b = requireClaim(t, d, "1", another("b"), true)
	b.claim.TookS = 1
	if err := b.release(); err != nil {
		t.Fatal(err)
	}
	requireBeat(t, a, false)
	requireWorker(t, d, "1", "b")
}

// Of several workers that find a stale claim one has it afterwards, always a whole one.
func TestOneTakesOver(t *testing.T) {
	d := newDir(t)
	for range 50 {
		requireClaim(t, d, "1", another("dead"), true)
		grow(t, d, "1", 2*StaleAfter)
		var taken atomic.Int32
		var all sync.WaitGroup
		for _, name := range []string{"a", "b", "c", "d"} {
			all.Go(func() {
				_, ok, err := d.acquire("1", another(name), StaleAfter, d.View(time.Now).fileTime)
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
		if err := os.Remove(d.claimPath("1")); err != nil {
			t.Fatal(err)
		}
	}
}

// A claim that is being written, or was cut off by a full disk, counts by its age.
func TestClaimWithoutContent(t *testing.T) {
	d := newDir(t)
	if err := os.WriteFile(d.claimPath("1"), []byte(`{"worker":`), 0o666); err != nil {
		t.Fatal(err)
	}
	requireClaim(t, d, "1", another("b"), false)
	grow(t, d, "1", StaleAfter+time.Second)
	requireClaim(t, d, "1", another("b"), true)
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
	requireClaim(t, d, "1", dead, true)
	requireClaim(t, d, "1", another("b"), true)
	requireWorker(t, d, "1", "b")
}

func TestFailure(t *testing.T) {
	d := planned(t, 0)
	id := d.Plan.Groups()[0].ID
	l := requireClaim(t, d, id, another("a"), true)
	l.claim.Failure, l.claim.TookS = "NaN", 2
	if err := l.release(); err != nil {
		t.Fatal(err)
	}
	if c := requireWorker(t, d, id, "a"); !c.Ended || c.Failure != "NaN" || c.TookS != 2 {
		t.Fatal(c)
	}
	for range 2 {
		if err := d.View(time.Now).Retry(); err != nil {
			t.Fatal(err)
		}
		if c := requireWorker(t, d, id, "a"); !c.Ended || c.Failure != "" || c.TookS != 2 {
			t.Fatal(c)
		}
	}
}
