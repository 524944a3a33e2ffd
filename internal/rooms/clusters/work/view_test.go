package work

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
	"fedsim/results/rundir"
)

const viewed = `
name = "x"
[data.synthetic]
clients = 3
features = 4
rows_min = 8
rows_max = 12
[problem]
optimum.when = %q
[run]
rounds = 8
seeds = [1, 2]
[methods.mocha]
[methods.fedavg]
[methods.mb-sdca]
`

// planned returns the directory of a plan, with its folders.
func planned(t *testing.T, optimum string) *Dir {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan")
	s, err := scenario.Parse("x.toml", fmt.Appendf(nil, viewed, optimum), nil)
	expect.NoError(t, err)
	p, err := plan.New(t.Context(), s, plan.Options{Version: "v", Command: []string{"fedsim", "run", "x.toml"}})
	if err == nil {
		err = p.Write(path, s)
	}
	expect.NoError(t, err)
	d, err := Open(path, "v")
	expect.NoError(t, err)
	for _, folder := range folders {
		expect.NoError(t, os.Mkdir(filepath.Join(path, folder), 0o777))
	}
	return d
}

// written writes a claim that is some time old.
func written(t *testing.T, path string, age time.Duration, c *Claim) {
	t.Helper()
	expect.NoError(t, c.write(path))
	at := time.Now().Add(-age)
	expect.NoError(t, os.Chtimes(path, at, at))
}

// errKilled ends a run that is not recorded to its end.
var errKilled = errors.New("killed")

// attempted runs the first rounds of a group in a run directory; rounds = 0 is all of them.
func attempted(t *testing.T, d *Dir, g *plan.Item, dir string, rounds int) {
	t.Helper()
	w, err := rundir.Create(dir, false,
		rundir.About{Version: "v", Scenario: d.resolved, Started: time.Now(), Runs: d.Plan.Runs, Resumable: true})
	expect.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = experiment.Do(ctx, d.Scenario, g.Kind, g.Of, experiment.Options{
		Workers: 1, Clock: time.Now,
		Recorder: &recordtest.Recorder{
			To: w,
			Rounds: func(int, results.Run) func(results.Round) {
				return func(r results.Round) {
					if r.Round == rounds && rounds > 0 {
						cancel()
					}
				}
			},
			End: func(_ int, r results.Run) error {
				if r.Status == results.Interrupted {
					return errKilled
				}
				return nil
			},
		},
	}, experiment.Shared{})
	expect.Must(t, err == nil || rounds != 0, "%v", err)
	expect.NoError(t, w.Suspend())
}

// state returns the state and fails the test on an error.
func stateOf(t *testing.T, v *View) *State {
	t.Helper()
	s := expect.Value(v.State())(t)
	return s
}

// Every condition of groups, with what is known about it.
func TestState(t *testing.T) {
	d := planned(t, "never")
	g := d.Plan.Groups()
	all := len(g)
	expect.Must(t, all >= 3 && len(d.Plan.Items) == all,
		"%d of %d items are groups: the test needs 3 and nothing else", all, len(d.Plan.Items))
	v := d.View(time.Now)
	s := stateOf(t, v)
	if want := (Counts{Total: all, Waiting: all}); s.Groups != want || s.Complete() || s.Stuck() || s.RunsDone != 0 ||
		!math.IsNaN(float64(s.LeftS)) {
		t.Errorf("at the start: %+v", s)
	}

	attempted(t, d, g[0], d.DoneDir(g[0].ID), 0)
	written(t, d.claimPath(g[0].ID), 0, &Claim{Worker: "a-1", Host: "a", TookS: 40, Ended: true})
	claim := Claim{Worker: "b-1", Host: "b", Process: Process{PID: 7}, Share: 0.5, TookS: 30}
	written(t, d.claimPath(g[1].ID), 5*time.Second, &claim)
	attempted(t, d, g[1], filepath.Join(d.AttemptsDir(g[1].ID), "b-1"), 3)
	written(t, d.claimPath(g[2].ID), time.Hour,
		&Claim{Worker: "c-1", Ended: true, Failure: "the disk is full", Host: "c"})

	s = stateOf(t, v)
	want := Counts{Total: all, Done: 1, Running: 1, Failed: 1, Waiting: all - 3}
	expect.That(t, s.Groups == want && s.Workers == 1 && s.RunsDone == len(g[0].Of) && !s.Complete() && !s.Stuck(),
		"%+v: must be %+v", s, want)
	running := s.Items[1]
	if age := float64(running.AgeS); age < 4 || age > 60 || math.Abs(float64(running.TookS)-30-age) > 1e-6 {
		t.Errorf("age %g s, took %g s", age, float64(running.TookS))
	}
	running.AgeS, running.TookS, running.EstimateS = 0, 0, 0
	if d := cmp.Diff(Item{ID: g[1].ID, Kind: "group", About: g[1].Of[0], Runs: len(g[1].Of), Condition: Running,
		Host: "b", PID: 7, Worker: "b-1", Progress: 0.5, WaitsFor: []string{}}, running); d != "" {
		t.Error(d)
	}
	if f := s.Items[2]; f.Condition != Failed || f.Reason != "the disk is full" || f.Host != "c" ||
		math.Abs(float64(f.AgeS)-3600) > 60 {
		t.Errorf("%+v", f)
	}

	// A claim without heartbeats is that of a dead worker, as one that has ended.
	stopped := func() {
		t.Helper()
		s = stateOf(t, v)
		if got := s.Items[1]; got.Condition != Stopped || got.AgeS < 60 || got.Host != "b" || got.Progress != 0.5 ||
			got.TookS != 30 {
			t.Errorf("%+v", got)
		}
		expect.That(t, s.Workers == 0 && math.IsNaN(float64(s.LeftS)) && !math.IsNaN(float64(s.WorkS)), "%+v", s)
	}
	written(t, d.claimPath(g[1].ID), 61*time.Second, &claim)
	stopped()
	ended := claim
	ended.Ended = true
	written(t, d.claimPath(g[1].ID), 61*time.Second, &ended)
	stopped()
	// A failed group that a worker tries again runs.
	written(t, d.claimPath(g[2].ID), 0, &claim)
	if got := stateOf(t, v).Items[2]; got.Condition != Running || got.Reason != "" {
		t.Errorf("%+v", got)
	}
}

// Groups wait for prerequisites that are not done; the work is stuck when those have failed.
func TestStateOfPrerequisites(t *testing.T) {
	d := planned(t, "auto")
	v := d.View(time.Now)
	s := stateOf(t, v)
	expect.Must(t, s.Needs.Total != 0 && s.Needs.Waiting == s.Needs.Total, "%+v", s.Needs)
	needs := d.Plan.Items[:s.Needs.Total]
	for i, n := range needs {
		for _, name := range n.States {
			expect.NoError(t, os.WriteFile(d.statePath(name), nil, 0o666))
		}
		got := stateOf(t, v)
		expect.That(t, got.Needs.Done == i+1, "%d prerequisites are done: %+v", i+1, got.Needs)
	}
	waits := func() (n int) {
		for _, item := range stateOf(t, v).Items {
			n += len(item.WaitsFor)
		}
		return n
	}
	if n := waits(); n != 0 {
		t.Errorf("%d wait for what is done", n)
	}
	n := needs[0]
	expect.NoError(t, os.Remove(d.statePath(n.States[0])))
	if n := waits(); n == 0 {
		t.Error("no group waits for its prerequisite")
	}
	expect.That(t, !stateOf(t, v).Stuck(), "stuck before anything has failed")
	written(t, d.claimPath(n.ID), 0, &Claim{Worker: "w", Ended: true, Failure: "x"})
	for _, g := range d.Plan.Groups() {
		if !slices.Contains(g.Needs, n.ID) {
			expect.That(t, !stateOf(t, v).Stuck(), "stuck before all has failed that does not need the prerequisite")
			written(t, d.claimPath(g.ID), 0, &Claim{Worker: "w", Ended: true, Failure: "x"})
		}
	}
	for i, g := range d.Plan.Items {
		if item := stateOf(t, v).Items[i]; slices.Contains(g.Needs, n.ID) &&
			(item.Condition != Failed || !strings.Contains(item.Reason, n.ID)) {
			t.Errorf("it needs what has failed: %+v", item)
		}
	}
	expect.That(t, stateOf(t, v).Stuck(), "not stuck, though all that is left has failed or needs what has")
}

// The time left is the rest of the estimates, scaled by measured times; a long group limits
// what many workers can do.
func TestTimeLeft(t *testing.T) {
	item := func(c Condition, estimate, share, took float64) Item {
		return Item{Kind: groupKind, Runs: 1, Condition: c, EstimateS: estimate, Progress: share, TookS: took}
	}
	unknown := math.NaN()
	for _, x := range []struct {
		what            string
		items           []Item
		estimated, took float64 // of a done item; 0: none
		workers         int
		work, wall      float64
	}{
		{"nothing is measured", []Item{item(Waiting, 10, unknown, unknown)}, 0, 0, 1, unknown, unknown},
		{"all is done", []Item{item(Done, 10, unknown, unknown)}, 0, 0, 0, 0, 0},
		{"twice as slow, two workers", []Item{item(Waiting, 10, unknown, unknown), item(Waiting, 10, unknown, unknown)},
			5, 10, 2, 40, 20},
		{"a long group", []Item{item(Waiting, 10, unknown, unknown), item(Waiting, 90, unknown, unknown)}, 5, 5, 4, 100,
			90},
		{"nobody works", []Item{item(Stopped, 10, unknown, unknown)}, 5, 5, 0, 10, unknown},
		{"half done", []Item{item(Running, 10, 0.5, 15)}, 0, 0, 1, 15, 15},
		{"just begun", []Item{item(Running, 10, 0.01, 3)}, 0, 0, 1, unknown, unknown},
		{"failed groups are left out", []Item{item(Failed, 10, unknown, unknown), item(Waiting, 10, unknown, unknown)},
			1, 1, 1, 10, 10},
		{"all that is left has failed", []Item{item(Failed, 10, unknown, unknown)}, 1, 1, 0, unknown, unknown},
		{"no estimates", []Item{item(Waiting, unknown, unknown, unknown)}, 2, 8, 1, 4, 4},
	} {
		took := map[string]float64{}
		if x.took > 0 {
			x.items, took["done"] = append(x.items, item(Done, x.estimated, unknown, unknown)), x.took
			x.items[len(x.items)-1].ID = "done"
		}
		work, wall := left(x.items, took, x.workers)
		same := func(got, want float64) bool {
			return math.Abs(float64(got)-want) < 1e-9 || math.IsNaN(float64(got)) && math.IsNaN(want)
		}
		expect.That(t, same(work, x.work) && same(wall, x.wall),
			"%s: %g s of work, %g s: must be %g and %g", x.what, float64(work), float64(wall), x.work, x.wall)
	}
}

// Files that are half there, or vanish, do no harm: the state is one that was.
func TestStateOfFilesUnderWay(t *testing.T) {
	d := planned(t, "never")
	g := d.Plan.Groups()
	for path, text := range map[string]string{
		d.claimPath(g[0].ID): "",
		d.claimPath(g[1].ID): `{"failure": "x`,
		filepath.Join(d.path, claimsDir, ".temporary.json"):                "",
		filepath.Join(d.path, claimsDir, "unknown.json"):                   "{}",
		filepath.Join(d.AttemptsDir(g[2].ID), "w", ".unfinished", "alive"): "",
	} {
		expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	v := d.View(time.Now)
	s := stateOf(t, v)
	for i, want := range []Condition{Running, Running, Waiting} {
		expect.That(t, s.Items[i].Condition == want, "group %d: %+v: must be %s", i, s.Items[i], want)
	}
	_, _, err := v.Live()
	expect.That(t, err == nil, "%v", err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 200 {
			claim := Claim{Worker: "w"}
			_ = claim.write(d.claimPath(g[0].ID))
			_ = os.MkdirAll(d.DoneDir(g[0].ID), 0o777)
			_ = remove(d.claimPath(g[0].ID))
			_ = os.RemoveAll(d.DoneDir(g[0].ID))
		}
	}()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		stateOf(t, v)
	}
}

// Without permission to write, the age is by the local clock.
func TestStateOfReadOnlyDirectory(t *testing.T) {
	d := planned(t, "never")
	g := d.Plan.Groups()
	written(t, d.claimPath(g[0].ID), 20*time.Second, &Claim{Worker: "a"})
	hourAhead := func() time.Time { return time.Now().Add(time.Hour) }
	look := func(path string, want Condition) {
		t.Helper()
		v := d.View(hourAhead)
		if path != "" {
			v.clock = path
		}
		s := stateOf(t, v)
		expect.That(t, s.Items[0].Condition == want, "%+v: must be %s", s.Items[0], want)
		entries, err := os.ReadDir(filepath.Join(d.path, claimsDir))
		expect.That(t, err == nil && len(entries) == 1, "%d files in claims: must be 1 (%v)", len(entries), err)
	}
	look("", Running)
	look(filepath.Join("no", "folder"), Stopped) // cannot be written, even by root
}

// Live has the runs of all groups at their places, and reads a finished group once.
func TestLive(t *testing.T) {
	d := planned(t, "never")
	g := d.Plan.Groups()
	last := len(g) - 1
	v := d.View(time.Now)
	if l, _, err := v.Live(); err != nil || len(l.Runs) != 0 || l.Manifest.State != rundir.Incomplete ||
		l.Manifest.Clock != nil {
		t.Fatalf("%+v, %v", l, err)
	}
	attempted(t, d, g[last], d.DoneDir(g[last].ID), 0)
	attempted(t, d, g[0], filepath.Join(d.AttemptsDir(g[0].ID), "old"), 2)
	attempted(t, d, g[0], filepath.Join(d.AttemptsDir(g[0].ID), "new"), 4)
	written(t, d.claimPath(g[0].ID), 0, &Claim{Worker: "new"})
	before, err := v.Stat()
	expect.NoError(t, err)
	l, s, err := v.Live()
	expect.NoError(t, err)
	if l.Status != rundir.Writing || l.Manifest.State != rundir.Running || l.Total != d.Plan.Runs ||
		s.RunsDone != len(g[last].Of) || before.Status != rundir.Writing {
		t.Errorf("%s, %s, %d runs, %+v", l.Status, l.Manifest.State, l.Total, s)
	}
	places := experiment.Places(d.Scenario.Experiments)
	at := -1
	for _, r := range l.Runs {
		place, ok := places(r.ID)
		expect.That(t, ok && place > at, "run %s is not at its place", r.ID)
		at = place
		done := slices.Contains(g[last].Of, r.ID)
		expect.That(t, !done || r.Status == results.Done && len(r.Rounds) == 9,
			"run %s: %s, %d rounds", r.ID, r.Status, len(r.Rounds))
		expect.That(t, done || r.Status == results.UnderWay && len(r.Rounds) >= 5,
			"run %s: %s, %d rounds", r.ID, r.Status, len(r.Rounds))
	}
	expect.NoError(t, os.RemoveAll(filepath.Join(d.DoneDir(g[last].ID), ".unfinished")))
	if again, _, err := v.Live(); err != nil || len(again.Runs) != len(l.Runs) {
		t.Errorf("the finished group was read again: %v", err)
	}
}
