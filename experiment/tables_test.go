package experiment

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
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/crossval"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/racetest"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/mtl"
)

// twoSets returns a table of two data sets, one of them with real targets, and a problem for
// both. It takes milliseconds: 5 related tasks with 6 features and a few rows each.
func twoSets() (crossval.TableSpec, mtl.Config) {
	cfg := data.Defaults()
	cfg.Bias, cfg.Standardize = true, true
	cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.Factors = 5, 6, 4
	cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 14, 26
	cfg.Synthetic.Noise = 0.05
	table := crossval.TableSpec{Name: "tiny", Config: crossval.Defaults(), Sets: []crossval.Set{{Label: "tiny", Data: cfg}, {Label: "real", Data: cfg}}}
	table.Shuffles, table.Folds, table.Lambdas, table.OmegaUpdates = 2, 3, []float64{1e-3, 1e-2, 0.1, 1}, 3
	table.Sets[1].Data.Synthetic.Noise, table.Sets[1].Data.Target = -1, data.TargetReal
	problem := mtl.Defaults()
	problem.Loss = mtl.LossSquared
	return table, problem
}

// makeTable makes a table.
func makeTable(ctx context.Context, table crossval.TableSpec, problem mtl.Config, o Options) (made *crossval.Result, err error) {
	err = Tables(ctx, []crossval.TableSpec{table}, problem, o, func(t *crossval.Result) error {
		made = t
		return nil
	})
	return made, err
}

func mustMakeTable(t *testing.T, table crossval.TableSpec, problem mtl.Config) *crossval.Result {
	t.Helper()
	made, err := makeTable(t.Context(), table, problem, Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// clock returns a clock that calls read each time it is read: once for each fit, and at
// the start of each data set.
func clock(read func()) func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time {
		read()
		return now
	}
}

func sameResult(t interface{ Fatalf(string, ...any) }, want, got *crossval.Result) {
	if d := cmp.Diff(want, got, cmpopts.EquateNaNs()); d != "" {
		t.Fatalf("the table differs (-want +got):\n%s", d)
	}
}

// A table that is interrupted at any time, any number of times, and resumed with any number
// of workers has the same result.
func TestInterruptedTablesAreTheSame(t *testing.T) {
	table, problem := twoSets()
	table.Lambdas = table.Lambdas[1:3]
	want := mustMakeTable(t, table, problem)
	rapid.Check(t, func(rt *rapid.T) {
		every := time.Duration(0)
		if rapid.Bool().Draw(rt, "seldom") {
			every = time.Hour // checkpoints at interrupts only
		}
		store := &checkpointtest.Store{}
		for session := 0; ; session++ {
			if session == 300 {
				rt.Fatal("the table does not complete")
			}
			ctx, cancel := context.WithCancel(t.Context())
			left := rapid.IntRange(2, 60).Draw(rt, "steps")
			reading := clock(func() {
				if left--; left == 0 {
					cancel()
				}
			})
			got, err := makeTable(ctx, table, problem, Options{
				Workers:     rapid.SampledFrom([]int{1, 2, 8}).Draw(rt, "workers"),
				Checkpoints: CheckpointPolicy{Store: store, Every: every, Clock: reading},
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

// A table that is killed at any time resumes from its last checkpoint. It has the same
// result and does no work twice.
func TestKilledTablesResume(t *testing.T) {
	table, problem := twoSets()
	want := mustMakeTable(t, table, problem)
	type saved struct {
		name    string
		content []byte
	}
	var all []saved
	steps := func(a *checkpointtest.Store) (n int) {
		a.Saved = func(name string, content []byte) {
			n++
			all = append(all, saved{name, content})
		}
		got, err := makeTable(t.Context(), table, problem, Options{Workers: 1, Checkpoints: CheckpointPolicy{Store: a, Clock: time.Now}})
		if err != nil {
			t.Fatal(err)
		}
		sameResult(t, want, got)
		return n
	}
	total := steps(&checkpointtest.Store{})
	if total != 2*2*3*(3+1) { // 2 sets of 2 shuffles, 3 models: on each of 3 folds, and in the test
		t.Fatalf("%d checkpoints", total)
	}
	made := all[:total:total]
	random := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		killed := random.IntN(total)
		a := &checkpointtest.Store{}
		for _, k := range made[:killed+1] {
			a.Put(k.name, k.content)
		}
		if again := steps(a); again != total-killed-1 {
			t.Errorf("killed after %d of %d steps, the table takes %d more", killed+1, total, again)
		}
	}
}

// A checkpoint that is corrupt or belongs to another table is rejected with the reason. The
// table does not start from the beginning, and nothing panics.
func TestInvalidCheckpointsAreRejected(t *testing.T) {
	racetest.Skip(t, "damages checkpoints, which one goroutine reads; other tests resume tables in parallel")
	table, problem := twoSets()
	table.Sets = table.Sets[:1]
	half := halfway(t, table, problem)
	resume := func(table crossval.TableSpec, name string, content []byte) error {
		a := &checkpointtest.Store{}
		a.Put(name, content)
		_, err := makeTable(t.Context(), table, problem, Options{Workers: 2, Checkpoints: CheckpointPolicy{Store: a, Every: time.Hour, Clock: time.Now}})
		return err
	}
	const name = `table tiny, data set "tiny"`
	content := half[name]
	rejected := func(what string, err error, why string) {
		t.Helper()
		if !errors.Is(err, checkpointtest.ErrRejected) || !strings.Contains(err.Error(), name+": ") || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for cut := 0; cut < len(content); cut += 1 + len(content)/200 {
		rejected("cut off", resume(table, name, content[:cut]), "")
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 { // the checksum of a file detects these; without it the table may resume
		flipped := append([]byte(nil), content...)
		flipped[random.IntN(len(flipped))] ^= 1 << random.IntN(8)
		if err := resume(table, name, flipped); err != nil && !errors.Is(err, checkpointtest.ErrRejected) {
			t.Errorf("after flipping a bit: %v", err)
		}
	}

	other := table
	other.Sets = append([]crossval.Set(nil), table.Sets...)
	other.Sets[0].Data.Synthetic.Noise = 0.1
	rejected("other rows", resume(other, name, content), errOtherRows.Error())
	other.Sets[0].Data.Preset = "human-activity"
	rejected("another source", resume(other, name, content), `its rows are from "generated", those of the table from "generated, with the sizes of human-activity"`)
	fewer := table
	fewer.Lambdas = fewer.Lambdas[:2]
	rejected("fewer lambdas", resume(fewer, name, content), "it belongs to another table")
	other = table
	other.Shuffles, other.Folds = 1, 7 // as many parts
	rejected("other folds", resume(other, name, content), "another table")
}

// halfway returns the checkpoints of a table that is interrupted halfway.
func halfway(t *testing.T, table crossval.TableSpec, problem mtl.Config) map[string][]byte {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := &checkpointtest.Store{}
	n := 0
	a.Saved = func(string, []byte) {
		if n++; n == 10 { // of 24
			cancel()
		}
	}
	_, err := makeTable(ctx, table, problem, Options{Workers: 1, Checkpoints: CheckpointPolicy{Store: a, Clock: time.Now}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the context", err)
	}
	return a.All()
}

// A checkpoint that cannot be saved ends the table at once with that error, also after an
// interrupt.
func TestFailedCheckpointEndsTheTable(t *testing.T) {
	table, problem := twoSets()
	steps := 0
	_, err := makeTable(t.Context(), table, problem, Options{Workers: 1, Checkpoints: CheckpointPolicy{
		Store: &checkpointtest.Store{Fails: "real"}, Clock: clock(func() { steps++ }),
	}})
	if !errors.Is(err, checkpointtest.ErrFull) || !strings.Contains(err.Error(), `data set "real"`) {
		t.Errorf("error %v", err)
	}
	first := steps
	steps = 0
	if _, err = makeTable(t.Context(), table, problem, Options{Workers: 1, Checkpoints: CheckpointPolicy{Store: &checkpointtest.Store{}, Clock: clock(func() { steps++ })}}); err != nil {
		t.Fatal(err)
	}
	if first > steps/2+10 {
		t.Errorf("the table ended after %d of %d readings of the clock", first, steps)
	}

	ctx, cancel := context.WithCancel(t.Context())
	_, err = makeTable(ctx, table, problem, Options{Workers: 1, Progress: func(Progress) { cancel() }, Checkpoints: CheckpointPolicy{
		Store: &checkpointtest.Store{Fails: "tiny"}, Every: time.Hour, Clock: time.Now,
	}})
	if !errors.Is(err, checkpointtest.ErrFull) {
		t.Errorf("error %v, want that of the store", err)
	}
}

// Progress after a resume starts at the checkpoint and does not report it.
func TestProgressStartsAtTheCheckpoint(t *testing.T) {
	table, problem := twoSets()
	table.Sets = table.Sets[:1]
	a := &checkpointtest.Store{}
	for name, content := range halfway(t, table, problem) {
		a.Put(name, content)
	}
	first, last := Progress{}, Progress{}
	_, err := makeTable(t.Context(), table, problem, Options{Workers: 1, Checkpoints: CheckpointPolicy{Store: a, Clock: time.Now}, Progress: func(p Progress) {
		if first.Done == 0 {
			first = p
		}
		last = p
	}})
	if err != nil {
		t.Fatal(err)
	}
	if first.Done != 11 || last.Done != 24 || last.Total != 24 {
		t.Errorf("from %d to %d of %d fits, want 11 to 24 of 24", first.Done, last.Done, last.Total)
	}
}

// Any checkpoint either resumes or is rejected with a reason.
func FuzzCheckpoint(f *testing.F) {
	table, problem := twoSets()
	table.Sets, table.Shuffles, table.Sweeps, table.OmegaUpdates = table.Sets[:1], 1, 5, 1
	const name = `table tiny, data set "tiny"`
	var whole []byte
	a := &checkpointtest.Store{Saved: func(_ string, content []byte) {
		if whole = content; len(whole)%5 == 0 {
			f.Add(whole)
		}
	}}
	if _, err := makeTable(f.Context(), table, problem, Options{Workers: 1, Checkpoints: CheckpointPolicy{Store: a, Clock: time.Now}}); err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:100])
	f.Fuzz(func(t *testing.T, content []byte) {
		a := &checkpointtest.Store{}
		a.Put(name, content)
		_, err := makeTable(t.Context(), table, problem, Options{Workers: 1, Checkpoints: CheckpointPolicy{Store: a, Every: time.Hour, Clock: time.Now}})
		if err != nil && !errors.Is(err, checkpointtest.ErrRejected) {
			t.Error(err)
		}
	})
}

// Data sets that were computed one by one and shared make the same table, without further work.
func TestSharedDataSetsMakeTheTable(t *testing.T) {
	table, problem := twoSets()
	want := mustMakeTable(t, table, problem)
	store := &checkpointtest.Store{}
	of := &scenario.Scenario{Tables: []crossval.TableSpec{table}}
	of.Settings.Problem = problem
	for i, set := range table.Sets {
		parts := &checkpointtest.Store{}
		o := Options{Workers: 2, Clock: time.Now, Shared: store, Checkpoints: CheckpointPolicy{Store: parts, Clock: time.Now}}
		if err := Do(t.Context(), of, KindTable, []string{table.Name, set.Label}, o); err != nil {
			t.Fatal(err)
		}
		if name := SetName(table.Name, set.Label); len(store.All()) != i+1 || store.All()[name] == nil || parts.All()[name] == nil {
			t.Errorf("%d complete sets, none is %s", len(store.All()), name)
		}
	}
	if err := Do(t.Context(), of, KindTable, []string{table.Name, "none"}, Options{}); err == nil || !strings.Contains(err.Error(), "must be of a table") {
		t.Errorf("a set that the table does not have: %v", err)
	}
	store.Saved = func(name string, _ []byte) { t.Errorf("%s is stored again", name) }
	got, err := makeTable(t.Context(), table, problem, Options{Workers: 2, Clock: time.Now, Shared: store, Progress: func(p Progress) { t.Errorf("computed again: %+v", p) }})
	if err != nil {
		t.Fatal(err)
	}
	sameResult(t, want, got)
	store.Saved = nil
	for name, content := range store.All() {
		store.Put(name, content[:len(content)/2])
	}
	if _, err := makeTable(t.Context(), table, problem, Options{Workers: 2, Clock: time.Now, Shared: store}); !errors.Is(err, checkpointtest.ErrRejected) {
		t.Errorf("of a complete state that is cut off: %v", err)
	}
}

// Progress counts a fit for each data set, model, shuffle, and fold or test.
func TestProgressOfTablesCountsFits(t *testing.T) {
	table, problem := twoSets()
	last := Progress{}
	_, err := makeTable(t.Context(), table, problem, Options{Workers: 2, Progress: func(p Progress) {
		if p.Done != last.Done+1 || p.Phase != PhaseTables {
			t.Errorf("progress goes from %d to %d, %s", last.Done, p.Done, p.Phase)
		}
		last = p
	}})
	if err != nil {
		t.Fatal(err)
	}
	if last.Done != 48 || last.Total != 48 || last.Share != 1 {
		t.Errorf("ended at %d of %d, share %g, want 48 of 48", last.Done, last.Total, last.Share)
	}
}

func TestTablesEndWithTheirContext(t *testing.T) {
	table, problem := twoSets()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := makeTable(ctx, table, problem, Options{Workers: 2, Progress: func(Progress) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// The error of a table names the data set.
func TestTablesNameWhatFailed(t *testing.T) {
	table, problem := twoSets()
	table.Sets[0].Data.Synthetic.Clients, table.Sets[0].Data.Synthetic.Clusters = 1, 1
	table.Sets[0].Data.Synthetic.RowsMin, table.Sets[0].Data.Synthetic.RowsMax = 3, 3
	problem.Loss = mtl.LossHinge
	_, err := makeTable(t.Context(), table, problem, Options{Workers: 1})
	const want = `table tiny, data set "tiny": shuffle 0, fold 2, model "global": data set`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want it to start with %s", err, want)
	}
}
