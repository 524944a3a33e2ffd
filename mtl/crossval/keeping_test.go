package crossval

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fedsim/data"
	"fedsim/internal/checkpoint"
	"fedsim/internal/checkpoint/checkpointtest"
	"fedsim/mtl"
)

// keptTable has two sets, one of them with real errors, and a problem for both.
func keptTable() (Table, mtl.Config) {
	table := tiny()
	table.Shuffles, table.OmegaUpdates = 2, 3
	other := table.Sets[0]
	other.Label, other.Data.Synthetic.Noise, other.Data.Target = "real", -1, data.TargetReal
	table.Sets = append(table.Sets, other)
	problem := mtl.Defaults()
	problem.Loss = mtl.LossSquared
	return table, problem
}

// at is a clock that tells of each time it is read: once for each lambda of each
// path, and at the beginning of each set.
func at(told func()) func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time {
		told()
		return now
	}
}

func sameResult(t interface{ Fatalf(string, ...any) }, want, got *Result) {
	if d := cmp.Diff(want, got, cmpopts.EquateNaNs()); d != "" {
		t.Fatalf("it comes to something else (-want +got):\n%s", d)
	}
}

// Wherever and however often a table is interrupted, and with however many workers it
// is gone on with, it comes to the same.
func TestInterruptedTablesComeToTheSame(t *testing.T) {
	table, problem := keptTable()
	want := run(t, table, problem, 2)
	rapid.Check(t, func(rt *rapid.T) {
		every := time.Duration(0)
		if rapid.Bool().Draw(rt, "seldom") {
			every = time.Hour // at the interrupts alone
		}
		kept := &checkpointtest.Store{}
		for session := 0; ; session++ {
			if session == 300 {
				rt.Fatal("it does not come to an end")
			}
			ctx, cancel := context.WithCancel(t.Context())
			left := rapid.IntRange(2, 120).Draw(rt, "steps")
			told := at(func() {
				if left--; left == 0 {
					cancel()
				}
			})
			got, err := table.Run(ctx, problem, Options{
				Workers:    rapid.SampledFrom([]int{1, 2, 8}).Draw(rt, "workers"),
				Checkpoint: checkpoint.Policy{Store: kept, Every: every, Clock: told},
			})
			cancel()
			if err == nil {
				sameResult(rt, want, got)
				return
			}
			if !errors.Is(err, context.Canceled) {
				rt.Fatal(err)
			}
		}
	})
}

// From whatever was kept last when a table is killed it goes on to the same, and does
// only what is left.
func TestKilledTablesGoOn(t *testing.T) {
	table, problem := keptTable()
	want := run(t, table, problem, 2)
	type keep struct {
		name    string
		content []byte
	}
	var keeps []keep
	steps := func(a *checkpointtest.Store) (n int) {
		a.Saved = func(name string, content []byte) {
			n++
			keeps = append(keeps, keep{name, content})
		}
		got, err := table.Run(t.Context(), problem, Options{Workers: 2, Checkpoint: checkpoint.Policy{Store: a, Clock: time.Now}})
		if err != nil {
			t.Fatal(err)
		}
		sameResult(t, want, got)
		return n
	}
	all := steps(&checkpointtest.Store{})
	// 2 sets of 2 shuffles, 3 models: 4 lambdas on each of 3 folds, 1 to 4 in the test.
	if all < 2*2*3*(4*3+1) || all > 2*2*3*(4*3+4) {
		t.Fatalf("it was kept %d times", all)
	}
	made := keeps[:all:all]
	random := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		killed := random.IntN(all)
		a := &checkpointtest.Store{}
		for _, k := range made[:killed+1] {
			a.Put(k.name, k.content)
		}
		if again := steps(a); again != all-killed-1 {
			t.Errorf("killed after %d of %d steps it takes %d more", killed+1, all, again)
		}
	}
}

// What was kept and does not fit is refused, with the reason: nothing starts over
// unasked, and nothing panics.
func TestUselessTablesAreRefused(t *testing.T) {
	table, problem := keptTable()
	table.Sets = table.Sets[:1]
	half := halfKept(t, table, problem)
	resume := func(table Table, name string, content []byte) error {
		a := &checkpointtest.Store{}
		a.Put(name, content)
		_, err := table.Run(t.Context(), problem, Options{Workers: 2, Checkpoint: checkpoint.Policy{Store: a, Every: time.Hour, Clock: time.Now}})
		return err
	}
	const name = `table tiny, data set "tiny"`
	content := half[name]
	refused := func(what string, err error, why string) {
		t.Helper()
		if !errors.Is(err, checkpointtest.ErrRejected) || !strings.Contains(err.Error(), name+": ") || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for cut := 0; cut < len(content); cut += 1 + len(content)/200 {
		refused("cut off", resume(table, name, content[:cut]), "")
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 { // a checksum finds these; without it they must do no worse than this
		spoiled := append([]byte(nil), content...)
		spoiled[random.IntN(len(spoiled))] ^= 1 << random.IntN(8)
		if err := resume(table, name, spoiled); err != nil && !errors.Is(err, checkpointtest.ErrRejected) {
			t.Errorf("a bit was flipped: %v", err)
		}
	}

	other := table
	other.Sets = append([]Set(nil), table.Sets...)
	other.Sets[0].Data.Synthetic.Noise = 0.1
	refused("other rows", resume(other, name, content), `of other rows of "generated" than there are now`)
	other.Sets[0].Data.Preset = "human-activity"
	refused("another source", resume(other, name, content), `of the rows of "generated", and now there are those of "generated, with the sizes of human-activity"`)
	fewer := table
	fewer.Lambdas = fewer.Lambdas[:2]
	refused("fewer lambdas", resume(fewer, name, content), "a model under 4 of 2 lambdas")
	other = table
	other.Shuffles, other.Folds = 1, 7 // as many parts
	refused("other folds", resume(other, name, content), errOther.Error())
}

// halfKept returns what is kept of a table in its middle.
func halfKept(t *testing.T, table Table, problem mtl.Config) map[string][]byte {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := &checkpointtest.Store{}
	n := 0
	a.Saved = func(string, []byte) {
		if n++; n == 30 { // of 78 to 96
			cancel()
		}
	}
	_, err := table.Run(ctx, problem, Options{Workers: 1, Checkpoint: checkpoint.Policy{Store: a, Clock: time.Now}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the context", err)
	}
	return a.All()
}

// When a table cannot be kept it ends at once, and says why, also when it could not be
// kept at an interrupt.
func TestTablesThatCannotBeKeptEnd(t *testing.T) {
	table, problem := keptTable()
	steps := 0
	_, err := table.Run(t.Context(), problem, Options{Workers: 1, Checkpoint: checkpoint.Policy{
		Store: &checkpointtest.Store{Fails: "real"}, Clock: at(func() { steps++ }),
	}})
	if !errors.Is(err, checkpointtest.ErrFull) || !strings.Contains(err.Error(), `data set "real"`) {
		t.Errorf("error %v", err)
	}
	first := steps
	steps = 0
	if _, err = table.Run(t.Context(), problem, Options{Workers: 1, Checkpoint: checkpoint.Policy{Store: &checkpointtest.Store{}, Clock: at(func() { steps++ })}}); err != nil {
		t.Fatal(err)
	}
	if first > steps/2+10 {
		t.Errorf("it went on for %d of %d readings of the clock", first, steps)
	}

	ctx, cancel := context.WithCancel(t.Context())
	_, err = table.Run(ctx, problem, Options{Workers: 1, Progress: func(Progress) { cancel() }, Checkpoint: checkpoint.Policy{
		Store: &checkpointtest.Store{Fails: "tiny"}, Every: time.Hour, Clock: time.Now,
	}})
	if !errors.Is(err, checkpointtest.ErrFull) {
		t.Errorf("error %v, want that of the attic", err)
	}
}

// What is there from before is no progress: the time left is told from the rest.
func TestProgressGoesOnFromWhatWasKept(t *testing.T) {
	table, problem := keptTable()
	table.Sets = table.Sets[:1]
	a := &checkpointtest.Store{}
	for name, content := range halfKept(t, table, problem) {
		a.Put(name, content)
	}
	first, last := Progress{}, Progress{}
	_, err := table.Run(t.Context(), problem, Options{Workers: 1, Checkpoint: checkpoint.Policy{Store: a, Clock: time.Now}, Progress: func(p Progress) {
		if first.Done == 0 {
			first = p
		}
		last = p
	}})
	if err != nil {
		t.Fatal(err)
	}
	// 30 steps are 7 models under 4 lambdas, and half of the next.
	if first.Done != 8 || last.Done != 24 || last.Total != 24 {
		t.Errorf("from %d to %d of %d models, want 8 to 24 of 24", first.Done, last.Done, last.Total)
	}
}

// Whatever is kept of a table, going on with it ends, well or with a reason.
func FuzzKept(f *testing.F) {
	table, problem := keptTable()
	table.Sets, table.Shuffles, table.Sweeps, table.OmegaUpdates = table.Sets[:1], 1, 5, 1
	const name = `table tiny, data set "tiny"`
	var whole []byte
	a := &checkpointtest.Store{Saved: func(_ string, content []byte) {
		if whole = content; len(whole)%5 == 0 {
			f.Add(whole)
		}
	}}
	if _, err := table.Run(f.Context(), problem, Options{Workers: 1, Checkpoint: checkpoint.Policy{Store: a, Clock: time.Now}}); err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:100])
	f.Fuzz(func(t *testing.T, content []byte) {
		a := &checkpointtest.Store{}
		a.Put(name, content)
		_, err := table.Run(t.Context(), problem, Options{Workers: 1, Checkpoint: checkpoint.Policy{Store: a, Every: time.Hour, Clock: time.Now}})
		if err != nil && !errors.Is(err, checkpointtest.ErrRejected) {
			t.Error(err)
		}
	})
}
