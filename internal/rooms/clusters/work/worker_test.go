package work

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
	"fedsim/results/rundir"
)

const head = `
[data.synthetic]
clients = 3
features = 4
rows_min = 10
rows_max = 20
[run]
rounds = 20
seeds = [1, 2, 3]
[methods.mocha]
`

// small has a group for each seed, and an optimum and a tuning that they need.
const small = head + `
[[experiment]]
name = "plain"
set = { "run.eval_every" = 2 }
[[experiment]]
name = "tuned"
set = { "run.eval_every" = 2, "run.seeds" = [1, 2] }
[experiment.tuning]
target = { suboptimality = 1e-9 }
[experiment.tune.mocha]
"options.epochs" = [1, 2]
`

// planOf writes the plan of a scenario to a new directory and opens it.
func planOf(t *testing.T, text string, set ...string) *Dir {
	t.Helper()
	s := expect.Value(scenario.Parse("x.toml", []byte(text), set))(t)
	p :=
		expect.Value(
			plan.New(t.Context(), s, plan.Options{Version: "v1", Command: []string{"fedsim", "run", "x.toml"}}))(t)
	dir := t.TempDir()
	expect.NoError(t, p.Write(dir, s))
	return open(t, dir)
}

func open(t *testing.T, dir string) *Dir {
	t.Helper()
	d := expect.Value(Open(dir, "v1"))(t)
	return d
}

// tester is a worker of a test.
type tester struct {
	*testing.T
	*Dir
	Options
	notes []string
	share float64 // of the work of all groups that was there before

	round    func()                // called at each round of a run
	finished func(id string) error // called when a run is finished
}

func newTester(t *testing.T, d *Dir, name string) *tester {
	x := &tester{T: t, Dir: d}
	x.Options = Options{
		By: another(name), About: rundir.About{Version: "v1", Scenario: d.resolved, Resumable: true},
		Note: func(text string) { x.notes = append(x.notes, text) },
		Run: experiment.Options{Workers: 1, Clock: time.Now,
			Checkpoints: experiment.CheckpointPolicy{Every: time.Hour, Clock: time.Now}},
		watch: func(o *experiment.Options) {
			o.Recorder = &recordtest.Recorder{
				To: o.Recorder,
				Rounds: func(int, results.Run) func(results.Round) {
					return func(results.Round) {
						if x.round != nil {
							x.round()
						}
					}
				},
				End: func(_ int, run results.Run) error {
					if x.finished != nil {
						return x.finished(run.ID)
					}
					return nil
				},
			}
			progress := o.Progress
			o.Progress = func(p experiment.Progress) {
				progress(p)
				x.share = max(x.share, p.Before)
			}
		},
	}
	return x
}

// work requires success.
func (te *tester) work() {
	te.Helper()
	expect.NoError(te, te.Work(te.Context(), te.Options))
}

// fails requires an error with all of some texts, a line each at most.
func (te *tester) fails(want ...string) error {
	te.Helper()
	err := te.Work(te.Context(), te.Options)
	for _, text := range want {
		expect.That(te, err != nil && strings.Contains(err.Error(), text), "the error is %v, want %q", err, text)
	}
	return err
}

// noted counts notes with a text.
func (te *tester) noted(text string) (n int) {
	for _, note := range te.notes {
		if strings.Contains(note, text) {
			n++
		}
	}
	return n
}

// groupsDone returns how many groups of the plan are done.
func (te *tester) groupsDone() (n int) {
	te.Helper()
	for _, g := range te.Plan.Groups() {
		done := expect.Value(te.Done(g))(te)
		if done {
			n++
		}
	}
	return n
}

// idle requires that nobody works on an item, and some folders of the plan directory to be empty.
func (te *tester) idle(folders ...string) {
	te.Helper()
	for i := range te.Plan.Items {
		c, err := te.Claim(te.Plan.Items[i].ID)
		expect.That(te, err == nil && (c == nil || c.Ended), "the claim of %s is %+v, %v", te.Plan.Items[i].ID, c, err)
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(te.path, folder))
		expect.That(te, err == nil && len(entries) == 0, "%s holds %v, %v", folder, entries, err)
	}
}

// Workers share the groups. Another worker finds nothing to do.
func TestWorkersShareThePlan(t *testing.T) {
	d := planOf(t, small)
	var all sync.WaitGroup
	workers := make([]*tester, 3)
	for i := range workers {
		workers[i] = newTester(t, d, fmt.Sprint("w", i))
		all.Go(func() {
			err := workers[i].Work(t.Context(), workers[i].Options)
			expect.That(t, err == nil, "%v", err)
		})
	}
	all.Wait()
	noted := 0
	for _, x := range workers {
		noted += x.noted("group ")
	}
	x := newTester(t, d, "again")
	if x.work(); len(x.notes) > 0 {
		t.Errorf("another worker: %v", x.notes)
	}
	if n := len(d.Plan.Groups()); noted < n || x.groupsDone() != n || n < 4 {
		t.Errorf("%d groups, %d are done, %d were noted", n, x.groupsDone(), noted)
	}
	x.idle(attemptsDir)
	last, err := d.Claim(d.Plan.Groups()[0].ID)
	if err != nil || last == nil || !last.Ended || !strings.HasPrefix(last.Worker, "w") || last.Share != 1 ||
		last.TookS == 0 {
		t.Errorf("the last claim is %+v, %v", last, err)
	}
}

// leave undoes all groups but some.
func (d *Dir) leave(t *testing.T, done int) {
	t.Helper()
	for _, it := range d.Plan.Groups()[done:] {
		expect.NoError(t, errors.Join(os.RemoveAll(d.DoneDir(it.ID)), remove(d.claimPath(it.ID))))
	}
}

// A worker that does not wait ends when living workers do what is left. It waits for a prerequisite,
// and for claims without heartbeats, which expire.
func TestNoWait(t *testing.T) {
	d := planOf(t, small, "run.seeds=[1]")
	for _, alive := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			x := newTester(t, d, "x")
			x.NoWait = true
			group := d.Plan.Groups()[0]
			expect.NoError(t, os.MkdirAll(filepath.Join(d.path, claimsDir), 0o777))
			a := requireClaim(t, d, group.ID, another("a"), true)
			ended := make(chan error, 1)
			go func() { ended <- x.Work(t.Context(), x.Options) }()
			time.Sleep(StaleAfter)
			select {
			case err := <-ended:
				t.Fatalf("it did not wait: %v", err)
			default:
			}
			left := 0
			if alive {
				requireBeat(t, a, true)
				left = 1
			} else {
				grow(t, d, group.ID, StaleAfter)
			}
			if err := <-ended; err != nil || x.groupsDone() != len(d.Plan.Groups())-left {
				t.Errorf("%d groups are done: %v", x.groupsDone(), err)
			}
			expect.NoError(t, remove(d.claimPath(group.ID)))
		})
	}
	other := planOf(t, small, "run.seeds=[1]")
	synctest.Test(t, func(t *testing.T) {
		expect.NoError(t, os.MkdirAll(filepath.Join(other.path, claimsDir), 0o777))
		optimum := other.Plan.Items[0].ID
		a := requireClaim(t, other, optimum, another("a"), true)
		y := newTester(t, other, "y")
		y.NoWait = true
		ended := make(chan error, 1)
		go func() { ended <- y.Work(t.Context(), y.Options) }()
		time.Sleep(10 * StaleAfter)
		select {
		case err := <-ended:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		expect.NoError(t, a.release())
		if err := <-ended; err != nil || y.groupsDone() != len(other.Plan.Groups()) {
			t.Errorf("%d groups are done: %v", y.groupsDone(), err)
		}
	})
}

// A worker that is interrupted saves a checkpoint and releases its claim; another continues.
func TestInterruptedGroupIsContinued(t *testing.T) {
	d := planOf(t, small, "run.rounds=200")
	ctx, cancel := context.WithCancel(t.Context())
	a := newTester(t, d, "a")
	rounds := 0
	a.round = func() {
		if rounds++; rounds == 300 { // of the second group
			cancel()
		}
	}
	err := a.Work(ctx, a.Options)
	expect.Must(t, experiment.Interrupted(err), "interrupted: %v", err)
	done := a.groupsDone()
	expect.Must(t, done == 1, "%d groups are done", done)
	a.idle()
	b := newTester(t, d, "b")
	b.work()
	expect.That(t, b.share >= 0.3 && b.groupsDone() == len(d.Plan.Groups()),
		"%g of a group was there before, %d groups are done", b.share, b.groupsDone())
	b.idle(attemptsDir)
}

// A worker that cannot do a group, for a reason of its machine, does the others, and records no failure.
func TestGroupThatThisMachineCannotDo(t *testing.T) {
	d := planOf(t, small)
	x := newTester(t, d, "x")
	full := fmt.Errorf("write models: %w", syscall.ENOSPC)
	first := ""
	x.finished = func(id string) error {
		if first = cmp.Or(first, id); id == first {
			return full
		}
		return nil
	}
	if err := x.fails("write models: no space left"); errors.Is(err, ErrFailed) ||
		strings.Contains(err.Error(), "\n") || x.groupsDone() != len(d.Plan.Groups())-1 {
		t.Errorf("%d groups are done; %v", x.groupsDone(), err)
	}
	x.idle()
	x.finished = nil
	if x.work(); x.groupsDone() != len(d.Plan.Groups()) {
		t.Errorf("%d groups are done", x.groupsDone())
	}

	// The second such group ends it.
	y := newTester(t, planOf(t, small), "y")
	y.finished = func(string) error { return full }
	if err := y.fails("write models: no space left"); strings.Contains(err.Error(), "\n") || y.groupsDone() > 0 ||
		y.noted("group") > 0 {
		t.Errorf("%d groups are done; %v; %v", y.groupsDone(), err, y.notes)
	}
}

// A group that fails is recorded, and others go on. It is tried again on demand only.
func TestFailedGroup(t *testing.T) {
	d := planOf(t, small)
	a := newTester(t, d, "a")
	a.finished = func(id string) error {
		if strings.HasPrefix(id, "plain") && strings.HasSuffix(id, "seed=2") {
			return errors.New("broken\nin two")
		}
		return nil
	}
	want := []string{"1 group and 0 prerequisites failed, first group ", "seed=2) on elsewhere: broken; in two",
		"fedsim plan work " + d.path + " --retry"}
	err := a.fails(want...)
	expect.That(t, errors.Is(err, ErrFailed) && !strings.Contains(err.Error(), "\n"), "the error is %v", err)
	done := a.groupsDone()
	expect.That(t, done == len(d.Plan.Groups())-1, "%d groups are done", done)
	b := newTester(t, d, "b")
	if b.fails(want...); len(b.notes) > 0 {
		t.Errorf("tried again: %v", b.notes)
	}
	b.Retry = true
	b.work()
	expect.That(t, b.noted("group ") == 1 && b.groupsDone() == len(d.Plan.Groups()), "after another try: %v", b.notes)
	b.idle(attemptsDir)
}

// Groups that need a prerequisite that failed are not tried; others are.
func TestFailedPrerequisite(t *testing.T) {
	d := planOf(t, small)
	i := slices.IndexFunc(d.Plan.Items, func(it plan.Item) bool { return it.Kind == experiment.KindTuning })
	d.Plan.Items[i].Of = []string{"no such method"}
	a := newTester(t, d, "a")
	want := "2 groups and 1 prerequisite failed, first tuning " + d.Plan.Items[i].ID
	if a.fails(want+" (no such method) on elsewhere: ", "--retry"); a.groupsDone() != len(d.Plan.Groups())-2 {
		t.Errorf("%d groups are done", a.groupsDone())
	}
	a.idle()
	b := newTester(t, open(t, d.path), "b")
	b.fails(want)
	b.Retry = true
	b.work()
}

// A group with a prerequisite that failed does not wait for another one that is under way.
func TestFailureEndsTheWait(t *testing.T) {
	d := planOf(t,
		head+"[[experiment]]\nname = \"x\"\n[experiment.tuning]\ntarget = { suboptimality = 1e-9 "+
			"}\n[experiment.tune.mocha]\n"+
			"\"options.epochs\" = [1, 2]\n", "run.seeds=[1, 2]")
	optimum, tuning := d.Plan.Items[0].ID, d.Plan.Items[1].ID
	d.Plan.Groups()[0].Needs = []string{optimum, tuning}
	a := newTester(t, d, "a")
	for _, folder := range folders {
		expect.NoError(t, os.MkdirAll(filepath.Join(d.path, folder), 0o777))
	}
	requireClaim(t, d, optimum, another("b"), true)
	expect.NoError(t, (&Claim{Worker: "c", Ended: true, Failure: "why", Host: "there"}).write(d.claimPath(tuning)))
	a.fails("groups and 1 prerequisite failed, first tuning " + tuning + " (x/mocha) on there: why")
}

// A group that was interrupted is continued from its checkpoint, and counts the time of all its workers.
func TestTimeOfAllWorkers(t *testing.T) {
	d := planOf(t, head+"[[experiment]]\nname = \"x\"\n", "run.rounds=100", "run.seeds=[1]",
		"problem.optimum.when=never")
	id := d.Plan.Groups()[0].ID
	synctest.Test(t, func(t *testing.T) {
		a, b := newTester(t, d, "a"), newTester(t, d, "b")
		a.round = func() { time.Sleep(time.Second) }
		b.round = a.round
		ctx, cancel := context.WithTimeout(t.Context(), 9500*time.Millisecond)
		defer cancel()
		if err := a.Work(ctx, a.Options); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("interrupted: %v", err)
		}
		if last, err := d.Claim(id); err != nil || last == nil || last.TookS != 10 || a.groupsDone() > 0 {
			t.Errorf("the claim of the first worker is %+v, %v", last, err)
		}
		b.work()
		// The second worker replays the rounds of the checkpoint, which sleep here, too.
		last, err := d.Claim(id)
		expect.That(t, err == nil && last != nil && last.TookS >= 105 && b.share >= 0.05,
			"the last claim is %+v, %v; %g was there", last, err, b.share)
		b.idle(attemptsDir)
	})
}

// A prerequisite that is corrupt is moved aside and made again.
func TestCorruptPrerequisite(t *testing.T) {
	d := planOf(t, small)
	a := newTester(t, d, "a")
	a.work()
	d.leave(t, 1)
	made, err := filepath.Glob(filepath.Join(d.path, needsDir, "*.state"))
	if err != nil || len(made) == 0 {
		t.Fatal(made, err)
	}
	for _, path := range made {
		text := expect.Value(os.ReadFile(path))(t)
		text[len(text)/2] ^= 1
		expect.NoError(t, os.WriteFile(path, text, 0o666))
	}
	b := newTester(t, d, "b")
	b.work()
	aside, err := filepath.Glob(filepath.Join(d.path, needsDir, "*.corrupt"))
	if err != nil || len(aside) == 0 || b.noted("it is corrupt; moved to") != len(aside) ||
		b.noted("optimum ")+b.noted("tuning ") < len(aside) {
		t.Errorf("moved: %v, %v; notes %v", aside, err, b.notes)
	}
	expect.That(t, b.groupsDone() == len(d.Plan.Groups()), "%d groups are done", b.groupsDone())
}

// A machine with other data stops, and records no failure: the others have the right data.
func TestOtherData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	rows := func(n int) {
		var b bytes.Buffer
		b.WriteString("client,label,a,b\n")
		for i := range n {
			fmt.Fprintf(&b, "%d,%d,%d,%d\n", i%3, i*i%2*2-1, i%7, i%5)
		}
		expect.NoError(t, os.WriteFile(path, b.Bytes(), 0o666))
	}
	rows(60)
	d := planOf(t, fmt.Sprintf(`
[data]
source = "csv"
path = %q
client_column = "client"
label_column = "label"
[run]
rounds = 10
vary = "system"
seeds = [1, 2, 3]
[faults]
drop_probability = 0.1
[methods.mocha]
[[experiment]]
name = "x"
`, path))
	a := newTester(t, d, "a")
	a.work()
	d.leave(t, 1)
	rows(63)
	b := newTester(t, d, "b")
	err := b.fails("the data files of this machine differ from those of other workers",
		"give every machine the same files")
	expect.That(t, !errors.Is(err, ErrFailed) && !strings.Contains(err.Error(), "\n"), "the error is %v", err)
	b.idle()
	expect.NoError(t, os.Remove(path))
	newTester(t, d, "c").fails("file does not exist")
	b.idle()
	rows(60)
	last := newTester(t, d, "d")
	last.work()
	expect.That(t, last.groupsDone() == 3, "%d groups are done", last.groupsDone())
}

func TestOpenWithoutPlan(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	expect.NoError(t, os.WriteFile(file, nil, 0o666))
	for _, path := range []string{folder, file, filepath.Join(folder, "absent")} {
		_, err := Open(path, "test")
		want := path + ": is not a plan directory: make one with fedsim plan make SCENARIO -o DIR"
		expect.That(t, err != nil && err.Error() == want, "error %v, want %s", err, want)
	}
}

// A worker stops its attempt when another has claimed the group, and has done it.
func TestGroupDoneElsewhere(t *testing.T) {
	d := planOf(t, small, "run.seeds=[1]", "run.rounds=100")
	newTester(t, d, "whole").work()
	id := d.Plan.Groups()[0].ID
	aside := filepath.Join(t.TempDir(), id)
	expect.NoError(t, os.Rename(d.DoneDir(id), aside))
	synctest.Test(t, func(t *testing.T) {
		a := newTester(t, d, "a")
		rounds := 0
		a.round = func() {
			if rounds++; rounds == 15 {
				err := errors.Join((&Claim{Worker: "b", Ended: true}).write(d.claimPath(id)),
					os.Rename(aside, d.DoneDir(id)))
				expect.That(t, err == nil, "%v", err)
			}
			time.Sleep(time.Second)
		}
		a.work()
		if rounds < 20 || rounds > 22 { // the heartbeat at 20 s
			t.Errorf("%d rounds", rounds)
		}
		a.idle(attemptsDir)
	})
}

// A worker stops a prerequisite that another has claimed. That is no failure, and it makes the prerequisite
// when the other has ended.
func TestPrerequisiteClaimedElsewhere(t *testing.T) {
	d := planOf(t, small)
	i := slices.IndexFunc(d.Plan.Items, func(it plan.Item) bool { return it.Kind == experiment.KindTuning })
	id := d.Plan.Items[i].ID
	synctest.Test(t, func(t *testing.T) {
		a := newTester(t, d, "a")
		taken := 0
		a.Options.Run.Checkpoints.Clock = func() time.Time { // asked after each round
			if c, err := d.Claim(id); err == nil && c != nil && c.Worker == "a" && !c.Ended && taken == 0 {
				taken++
				err := (&Claim{Worker: "b", Ended: true}).write(d.claimPath(id))
				expect.That(t, err == nil, "%v", err)
				time.Sleep(StaleAfter) // heartbeats
			}
			time.Sleep(time.Millisecond)
			return time.Now()
		}
		if a.work(); taken != 1 || a.noted("tuning "+id) != 1 || a.groupsDone() != len(d.Plan.Groups()) {
			t.Errorf("taken %d times, notes %v", taken, a.notes)
		}
		requireWorker(t, d, id, "a")
	})
}

// A worker whose attempt was taken over stops at its next heartbeat, or when it has finished the runs,
// and waits for the other worker.
func TestAttemptTakenOver(t *testing.T) {
	d := planOf(t, small, "run.seeds=[1]", "run.rounds=100")
	newTester(t, d, "whole").work()
	id := d.Plan.Groups()[0].ID
	whole := filepath.Join(t.TempDir(), id)
	for _, at := range []int{15, 100} {
		expect.NoError(t, os.Rename(d.DoneDir(id), whole))
		synctest.Test(t, func(t *testing.T) {
			slow := newTester(t, d, "slow")
			rounds := 0
			var b *lease
			slow.round = func() {
				if rounds++; rounds == at {
					grow(t, d, id, 2*StaleAfter)
					b = requireClaim(t, d, id, another("b"), true)
					err := rundir.TakeOver(filepath.Join(d.AttemptsDir(id), "slow"),
						filepath.Join(d.AttemptsDir(id), "b"))
					expect.That(t, err == nil, "%v", err)
				}
				if at < 100 {
					time.Sleep(time.Second)
				}
			}
			ended := make(chan error, 1)
			go func() { ended <- slow.Work(t.Context(), slow.Options) }()
			time.Sleep(StaleAfter / 2)
			synctest.Wait()
			expect.That(t, rounds >= at && rounds <= at+7 && slow.noted("") <= 0,
				"%d rounds, notes %v", rounds, slow.notes)
			if entries, err := os.ReadDir(d.AttemptsDir(id)); err != nil || len(entries) != 1 {
				t.Errorf("attempts %v, %v", entries, err)
			}
			requireWorker(t, d, id, "b")
			if err := errors.Join(os.Rename(whole, d.DoneDir(id)), b.release()); err != nil {
				t.Error(err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		expect.NoError(t, os.RemoveAll(d.AttemptsDir(id)))
	}
}

// A worker waits for a claim of another machine while its heartbeat is new, by the clock of the
// file server and not by its own, and takes it over when it is old.
func TestWaitForOthers(t *testing.T) {
	d := planOf(t, small, "run.seeds=[1]")
	synctest.Test(t, func(t *testing.T) {
		x := newTester(t, d, "b")
		expect.NoError(t, os.MkdirAll(filepath.Join(d.path, claimsDir), 0o777))
		id := d.Plan.Groups()[0].ID
		requireClaim(t, d, id, another("a"), true)
		ended := make(chan error, 1)
		go func() { ended <- x.Work(t.Context(), x.Options) }()
		time.Sleep(10 * StaleAfter)
		requireWorker(t, d, id, "a")
		n := x.groupsDone()
		expect.That(t, n == len(d.Plan.Groups())-1, "%d groups are done", n)
		grow(t, d, id, 2*StaleAfter)
		then := time.Now()
		expect.NoError(t, <-ended)
		if waited := time.Since(then); waited > 2*lastPoll || x.groupsDone() != len(d.Plan.Groups()) {
			t.Errorf("after %v %d groups are done", waited, x.groupsDone())
		}
		x.idle(attemptsDir)
	})
}
