package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/state"
	"fedsim/results"
)

// fullRuns are runs with thetas, models, rows by device and values by client among them.
func fullRuns() []results.Run {
	return append(append(thetaRuns(), syntheticRuns()[3:]...), namedRun())
}

// addFull adds some of fullRuns with their files.
func addFull(t *testing.T, w *Writer, places ...int) {
	t.Helper()
	runs := fullRuns()
	for _, i := range places {
		if i%3 == 0 {
			addRows(t, w, i, runs[i], 4)
		}
		switch {
		case i == len(runs)-1:
			addNamed(t, w, i)
		case i%4 == 0:
			addModel(t, w, i, runs[i])
		default:
			if err := add(w, i, runs[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// group leaves an unfinished directory with some of fullRuns.
func group(t *testing.T, about About, places ...int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "group")
	w := create(t, dir, false, about)
	addFull(t, w, places...)
	if err := w.Suspend(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// every lists the places from first by steps.
func every(first, step int) (places []int) {
	for i := first; i < len(fullRuns()); i += step {
		places = append(places, i)
	}
	return places
}

// Runs taken from several directories make the bytes of one writer, and the directories
// stay as they were.
func TestTakenRunsEqualThoseOfOneWriter(t *testing.T) {
	t.Parallel()
	one := create(t, filepath.Join(t.TempDir(), "one"), false)
	addFull(t, one, every(0, 1)...)
	finish(t, one, Complete)
	want := tree(t, one.Dir())
	for _, name := range []string{devicesParquet, valuesParquet, metricsFile, "models/000004.npy"} {
		if want[name] == "" {
			t.Fatalf("there is no %s", name)
		}
	}
	groups := []string{group(t, resumable(), every(2, 3)...), group(t, resumable(), every(0, 3)...),
		group(t, resumable(), every(1, 3)...)}
	// Run 2 under way in one of them, and finished in two.
	half := fullRuns()[2]
	half.Status = results.Interrupted
	under := create(t, filepath.Join(t.TempDir(), "under"), false, resumable())
	if err := errors.Join(add(under, 2, half), under.Suspend()); err != nil {
		t.Fatal(err)
	}
	earlier := resumable()
	earlier.Version = "v0.0.9" // of the same numeric version
	groups = append([]string{under.Dir()}, append(groups, group(t, earlier, 2, 4, 6))...)
	var before []map[string]string
	for _, dir := range groups {
		before = append(before, tree(t, dir))
	}
	for range 2 { // the second one with force
		w := create(t, filepath.Join(filepath.Dir(one.Dir()), "taken"), true)
		if err := w.Take(t.Context(), placesOf(fullRuns()), groups...); err != nil {
			t.Fatal(err)
		}
		stage, err := w.Stage()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Read(stage); err != nil || len(got.Runs) != len(fullRuns()) {
			t.Fatalf("%+v, %v", got, err)
		}
		finish(t, w, Complete)
		if d := cmp.Diff(want, tree(t, w.Dir())); d != "" {
			t.Fatal(d)
		}
	}
	for i, dir := range groups {
		if d := cmp.Diff(before[i], tree(t, dir)); d != "" {
			t.Errorf("group %d: %s", i, d)
		}
	}
}

// Errors name the file, the cause and the remedy.
func TestTakeRefuses(t *testing.T) {
	t.Parallel()
	flipAt := func(path string, at int) string {
		text := filetest.Read(t, path)
		text[at] ^= 1
		filetest.Write(t, path, text)
		return path
	}
	flip := func(kind byte) func(dir string) string { // the content of a block
		return func(dir string) string {
			path, at := filepath.Join(dir, stageDir, logFile), 0
			for _, b := range blocksOf(filetest.Read(t, path)) {
				if at += len(b); b[0] == kind {
					return flipAt(path, at-1)
				}
			}
			t.Fatalf("there is no block of kind %c", kind)
			return path
		}
	}
	remove := func(name ...string) func(dir string) string {
		return func(dir string) string {
			path := filepath.Join(append([]string{dir, stageDir}, name...)...)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	otherNumbers := func(dir string) string {
		path := filepath.Join(dir, stageDir, logFile)
		filetest.Write(t, path,
			replacedInLog(filetest.Read(t, path), fmt.Sprintf(`"numerics":%d`, Numerics), `"numerics":9`))
		return path
	}
	log := func(dir string) string { return filepath.Join(dir, stageDir, logFile) }
	otherScenario, otherVersion, otherData := resumable(), resumable(), resumable()
	otherScenario.Scenario, otherVersion.Version, otherData.Data = []byte("seeds = [2]\n"), "v0.2.0", "csv d.csv"
	for _, c := range []struct {
		about About
		spoil func(dir string) (path string)
		want  string
	}{
		{resumable(), flip('d'), "is corrupt at byte "},
		{resumable(), flip('c'), "is corrupt at byte "},
		{resumable(), flip('e'), "is corrupt at byte "},
		{resumable(),
			func(dir string) string { return flipAt(filepath.Join(dir, stageDir, modelsDir, "000012.npy"), 200) },
			"is corrupt: its hash"},
		{resumable(), remove(modelsDir, "000012.npy"), "there is no such file"},
		{resumable(), remove(logFile), "there is no such file"},
		{otherScenario, log, "it is of another scenario"},
		{otherVersion, otherNumbers,
			fmt.Sprint(
				"it is of fedsim v0.2.0, and this is v0.1.0: it has numeric version 9 and this version of fedsim has ",
				Numerics)},
		{otherData, log, `its data are "csv d.csv", and here they are`},
	} {
		dir := group(t, c.about, 12, 40)
		path := c.spoil(dir)
		w := create(t, filepath.Join(t.TempDir(), "run"), false)
		err := w.Take(t.Context(), placesOf(fullRuns()), dir)
		if !errors.Is(err, ErrTake) || !strings.HasPrefix(err.Error(), path+": cannot be merged: ") ||
			!strings.Contains(err.Error(), c.want) ||
			!strings.HasSuffix(err.Error(), ": delete "+dir+" to compute its runs again") {
			t.Errorf("%s: %v", path, err)
		}
		if err := w.Discard(); err != nil || exists(w.Dir()) {
			t.Error(err)
		}
	}

	twice := create(t, filepath.Join(t.TempDir(), "run"), false)
	differs := fullRuns()[1]
	differs.EventHash++
	other := create(t, filepath.Join(t.TempDir(), "other"), false, resumable())
	if err := errors.Join(add(other, 1, differs), other.Suspend()); err != nil {
		t.Fatal(err)
	}
	if err := twice.Take(t.Context(), placesOf(fullRuns()), group(t, resumable(), 1), other.Dir()); !errors.Is(err,
		ErrTake) || !strings.Contains(err.Error(), "differ from those of another directory") {
		t.Error(err)
	}
}

// A directory that was taken over, also from a writer under way, is resumed as the original would be.
func TestUnfinishedRunsAreTakenOver(t *testing.T) {
	t.Parallel()
	one := create(t, filepath.Join(t.TempDir(), "one"), false)
	addFull(t, one, every(0, 1)...)
	finish(t, one, Complete)
	want := tree(t, one.Dir())

	w := create(t, filepath.Join(t.TempDir(), "alive"), false, resumable())
	addFull(t, w, 0, 3, 4, 40)
	if err := w.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	saveText(t, w, "half", "halfway")
	filetest.Write(t, w.Path("half", 1), "of a program")
	if err := add(w, 5, fullRuns()[5]); err != nil { // the last block, torn in the copy
		t.Fatal(err)
	}
	if err := w.log.flush(); err != nil {
		t.Fatal(err)
	}
	text := filetest.Read(t, w.log.path)
	torn := filepath.Join(t.TempDir(), "torn")
	if err := os.CopyFS(torn, os.DirFS(w.Dir())); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, filepath.Join(torn, stageDir, logFile), text[:len(text)-9])
	alive := filepath.Join(t.TempDir(), "alive")
	if err := TakeOver(w.Dir(), alive); err != nil {
		t.Fatal(err)
	}
	if err := TakeOver(w.Dir(), torn+"2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("again: %v", err)
	}
	for from, runs := range map[string]int{alive: 5, torn: 4} {
		to := filepath.Join(filepath.Dir(from), "next")
		if err := TakeOver(from, to); err != nil {
			t.Fatal(err)
		}
		left := checkpointIn(t, to)
		taken, err := left.Resume(resumable(), placesOf(fullRuns()))
		if err != nil {
			t.Fatal(err)
		}
		if len(taken.Runs()) != runs {
			t.Errorf("%d runs, want %d", len(taken.Runs()), runs)
		}
		if b, err := taken.Load("half"); string(b) != "halfway" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		if b, err := os.ReadFile(taken.Path("half", 1)); string(b) != "of a program" {
			t.Errorf("%q, %v", b, err)
		}
		had := map[string]bool{}
		for _, r := range taken.Runs() {
			had[r.ID] = true
		}
		for i, r := range fullRuns() {
			if !had[r.ID] {
				addFull(t, taken, i)
			}
		}
		finish(t, taken, Complete)
		if d := cmp.Diff(want, tree(t, to)); d != "" {
			t.Error(d)
		}
		if names, err := os.ReadDir(filepath.Dir(from)); err != nil || len(names) != 1 {
			t.Errorf("%v is left, %v", names, err)
		}
	}
}

// A writer that is alive, though its directory was taken over, writes on to files that nobody reads.
func TestTakeOverOfALivingWriter(t *testing.T) {
	t.Parallel()
	one := create(t, filepath.Join(t.TempDir(), "one"), false)
	addFull(t, one, every(0, 1)...)
	finish(t, one, Complete)

	root := t.TempDir()
	slow := create(t, filepath.Join(root, "slow"), false, resumable())
	addFull(t, slow, 0, 1)
	const place = 3 // a run with rows by device
	run := fullRuns()[place]
	rounds := deviceRows(&run, 4)
	begun := begin(t, slow, place, run)
	var saved bytes.Buffer
	code := state.Writing(&saved)
	if err := begun.Devices(rounds[0]); err != nil {
		t.Fatal(err)
	}
	if begun.State(code); code.Err() != nil {
		t.Fatal(code.Err())
	}
	flush(t, slow)

	next := filepath.Join(root, "next")
	if err := TakeOver(slow.Dir(), next); err != nil {
		t.Fatal(err)
	}
	w := resumed(t, next)
	continued := begin(t, w, place, run)
	code = state.Reading(&saved)
	if continued.State(code); code.Err() != nil {
		t.Fatal(code.Err())
	}
	for _, rows := range rounds[1:] {
		if err := continued.Devices(rows); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, w)
	if err := begun.Devices(rounds[2]); err != nil { // other rows than those that follow
		t.Fatal(err)
	}
	wrong := run
	wrong.EventHash++
	if err := begun.End(wrong); err != nil {
		t.Fatal(err)
	}
	flush(t, slow)
	_ = errors.Join(slow.Checkpoint(), slow.Suspend()) // the directory is gone
	if err := continued.End(run); err != nil {
		t.Fatal(err)
	}
	for i := range fullRuns() {
		if i > 1 && i != place {
			addFull(t, w, i)
		}
	}
	finish(t, w, Complete)
	if d := cmp.Diff(tree(t, one.Dir()), tree(t, next)); d != "" {
		t.Error(d)
	}
	if _, err := StatStage(slow.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the slow writer has a log: %v", err)
	}
}

// States in a folder of their own are those of their scenario.
func TestStatesOfAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine := NewStates(dir, []byte("a"))
	if mine.Has("x") {
		t.Error("there is a state")
	}
	if err := mine.Save("x",
		func(out io.Writer) error { _, err := out.Write([]byte("seven")); return err }); err != nil {
		t.Fatal(err)
	}
	if b, err := mine.Load("x"); string(b) != "seven" || err != nil || !mine.Has("x") ||
		!exists(filepath.Join(dir, StateFile("x"))) {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := NewStates(dir, []byte("b")).Load("x"); !errors.Is(err, ErrCheckpoint) ||
		!strings.Contains(err.Error(), "another scenario") {
		t.Error(err)
	}
}
