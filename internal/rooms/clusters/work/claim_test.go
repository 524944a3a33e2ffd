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

	"fedsim/internal/tools/expect"
)

// newDir returns the directory of a plan without a plan.
func newDir(t *testing.T) *Dir {
	t.Helper()
	d := &Dir{path: t.TempDir()}
	for _, folder := range folders {
		expect.NoError(t, os.Mkdir(filepath.Join(d.path, folder), 0o777))
	}
	return d
}

// another is a worker on another machine: only its heartbeat shows whether it lives.
func another(name string) Claim { return Claim{Worker: name, Host: "elsewhere"} }

// requireClaim claims and requires success or not.
func requireClaim(t *testing.T, d *Dir, id string, by Claim, want bool) *lease {
	t.Helper()
	l, ok, err := d.acquire(id, by, StaleAfter, d.View(time.Now).fileTime)
	expect.Must(t, err == nil && ok == want, "acquire(%s) by %s = %v, %v, want %v", id, by.Worker, ok, err, want)
	return l
}

// grow makes the last heartbeat of a claim older.
func grow(t *testing.T, d *Dir, id string, age time.Duration) {
	t.Helper()
	then := time.Now().Add(-age)
	expect.NoError(t, os.Chtimes(d.claimPath(id), then, then))
}

func requireWorker(t *testing.T, d *Dir, id, want string) *Claim {
	t.Helper()
	c := expect.Value(d.Claim(id))(t)
	got := ""
	if c != nil {
		got = c.Worker
	}
	expect.Must(t, got == want, "the worker of the claim is %q, want %q", got, want)
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
	c := requireWorker(t, d, "1", "a")
	expect.That(t, c.Share == 0.25 && time.Since(c.written) <= StaleAfter/2, "after a heartbeat the claim is %+v", c)
	expect.NoError(t, a.release())
	c = requireWorker(t, d, "1", "a")
	expect.That(t, c.Ended && c.Share == 0.25, "the ended claim is %+v", c)
	b := requireClaim(t, d, "1", another("b"), true)
	if err := b.release(); err != nil { // nothing was done
		t.Fatal(err)
	}
	c = requireWorker(t, d, "1", "a")
	expect.That(t, c.Ended && c.TookS == 3, "the ended claim is %+v", c)
	requireClaim(t, d, "1", another("b"), true)
	c = requireWorker(t, d, "1", "b")
	expect.That(t, !c.Ended && c.TookS == 3, "the claim of the next worker is %+v", c)
	if err := a.release(); err != nil { // of another
		t.Fatal(err)
	}
	requireWorker(t, d, "1", "b")
}

// requireBeat writes a heartbeat, and requires that the worker has the claim or not.
func requireBeat(t *testing.T, l *lease, want bool) {
	t.Helper()
	mine, err := l.beat()
	expect.Must(t, mine == want && err == nil, "beat = %v, %v, want %v", mine, err, want)
}

// A worker that was stopped for long loses its claim and does not take it back.
func TestStaleClaimIsTakenOver(t *testing.T) {
	d := newDir(t)
	a := requireClaim(t, d, "1", another("a"), true)
	grow(t, d, "1", StaleAfter+time.Second)
	b := requireClaim(t, d, "1", another("b"), true)
	requireBeat(t, a, false)
	requireWorker(t, d, "1", "b")
	expect.NoError(t, b.release())
	requireBeat(t, a, true) // nothing was done, and it still works on the group
	requireClaim(t, d, "1", another("b"), false)
	grow(t, d, "1", StaleAfter+time.Second)
	b = requireClaim(t, d, "1", another("b"), true)
	b.claim.TookS = 1
	expect.NoError(t, b.release())
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
				expect.That(t, err == nil, "%v", err)
				if ok {
					taken.Add(1)
				}
			})
		}
		all.Wait()
		expect.Must(t, taken.Load() >= 1, "nobody has the claim")
		if c, err := d.Claim("1"); err != nil || c == nil || c.Worker == "" || !strings.Contains("abcd", c.Worker) {
			t.Fatalf("the claim is %+v, %v", c, err)
		}
		expect.NoError(t, os.Remove(d.claimPath("1")))
	}
}

// A claim that is being written, or was cut off by a full disk, counts by its age.
func TestClaimWithoutContent(t *testing.T) {
	d := newDir(t)
	expect.NoError(t, os.WriteFile(d.claimPath("1"), []byte(`{"worker":`), 0o666))
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
	expect.NoError(t, child.Start())
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
		got := x.p.ended()
		expect.That(t, got == x.ended, "%s: ended = %v, want %v", x.name, got, x.ended)
	}
	expect.NoError(t, child.Process.Kill())
	for i := 0; !theirs.ended(); i++ { // it is a zombie: nobody has waited for it
		expect.Must(t, i <= 10_000, "a killed process counts as alive")
		time.Sleep(time.Millisecond)
	}
	_ = child.Wait() // it was killed
	expect.That(t, theirs.ended() && !other.ended(),
		"after its end: ended = %v, of another machine %v", theirs.ended(), other.ended())
	d := newDir(t)
	dead := another("dead")
	dead.Process = theirs
	requireClaim(t, d, "1", dead, true)
	requireClaim(t, d, "1", another("b"), true)
	requireWorker(t, d, "1", "b")
}

func TestFailure(t *testing.T) {
	d := planned(t, "never")
	id := d.Plan.Groups()[0].ID
	l := requireClaim(t, d, id, another("a"), true)
	l.claim.Failure, l.claim.TookS = "NaN", 2
	expect.NoError(t, l.release())
	if c := requireWorker(t, d, id, "a"); !c.Ended || c.Failure != "NaN" || c.TookS != 2 {
		t.Fatal(c)
	}
	for range 2 {
		expect.NoError(t, d.View(time.Now).Retry())
		c := requireWorker(t, d, id, "a")
		expect.Must(t, c.Ended && c.Failure == "" && c.TookS == 2, "%v", c)
	}
}
