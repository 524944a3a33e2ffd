package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/state"
	"fedsim/results"
)

// keeps is a description of runs that can be gone on with.
func keeps() About {
	about := testAbout()
	about.Resumable = true
	return about
}

// placesOf gives every run its place.
func placesOf(runs []results.Run) func(id string) (int, bool) {
	return func(id string) (int, bool) {
		i := slices.IndexFunc(runs, func(r results.Run) bool { return r.ID == id })
		return i, i >= 0
	}
}

// begun is the writer of a run of which three runs are finished, the fourth is
// under way, and nothing of the end has happened.
func begun(t *testing.T, dir string) *Writer {
	t.Helper()
	w, err := Create(dir, true, keeps())
	if err != nil {
		t.Fatal(err)
	}
	runs := syntheticRuns()
	addAll(t, w, runs[:3])
	if err := w.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	keepText(t, w, runs[3].ID, "halfway")
	return w
}

func keepText(t *testing.T, w *Writer, name, text string) {
	t.Helper()
	if err := w.Save(name, func(out io.Writer) error { _, err := io.WriteString(out, text); return err }); err != nil {
		t.Fatal(err)
	}
}

// resume goes on with what is in dir.
func resume(dir string) (*Writer, error) {
	left, err := OpenCheckpoint(dir)
	if err != nil {
		return nil, err
	}
	about := keeps()
	about.Command, about.Started = left.Command, left.Started
	w, err := left.Resume(about, placesOf(syntheticRuns()))
	return w, errors.Join(err, left.Close())
}

// kill ends a writer as the end of its process does.
func kill(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.lock.file.Unlock(); err != nil {
		t.Fatal(err)
	}
	w.lock.file = nil
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	w.feed.letGo()
}

// whole is the directory of a run that was never interrupted.
func whole(t *testing.T) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "whole")
	w, err := Create(dir, false, keeps())
	if err != nil {
		t.Fatal(err)
	}
	addAll(t, w, syntheticRuns())
	finish(t, w, Complete)
	return tree(t, dir)
}

// endRun goes on in dir, from three runs or more, until all is done.
func endRun(t *testing.T, dir string) {
	t.Helper()
	w, err := resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	runs := syntheticRuns()
	for i := len(w.Runs()); i < len(runs); i++ {
		if err := w.Add(i, runs[i]); err != nil {
			t.Fatal(err)
		}
	}
	finish(t, w, Complete)
}

func TestRunsAreKeptBitForBit(t *testing.T) {
	for _, want := range syntheticRuns() {
		var b bytes.Buffer
		c := state.Writing(&b)
		if want.State(c); c.Err() != nil {
			t.Fatal(c.Err())
		}
		var got results.Run
		c = state.Reading(&b)
		if got.State(c); c.Err() != nil || b.Len() > 0 {
			t.Fatalf("%v, %d bytes left", c.Err(), b.Len())
		}
		if d := cmp.Diff(want, got, sameBits); d != "" {
			t.Fatal(d)
		}
	}
}

// A writer that goes on has the runs that were finished and what was kept of the
// others, and leaves in the end what one leaves that was not interrupted.
func TestWritersGoOn(t *testing.T) {
	want := whole(t)
	dir := filepath.Join(t.TempDir(), "run")
	kill(t, begun(t, dir))
	if _, err := Read(dir); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "--resume "+dir) {
		t.Errorf("read before it is gone on with: %v", err)
	}
	w, err := resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	runs := syntheticRuns()
	if d := cmp.Diff(runs[:3], w.Runs(), sameBits); d != "" {
		t.Error(d)
	}
	if b, err := w.Load(runs[3].ID); string(b) != "halfway" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := w.Load(runs[4].ID); b != nil || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	// The fourth is finished before the writer is killed again.
	if err := w.Add(3, runs[3]); err != nil { // the fourth: a checkpoint
		t.Fatal(err)
	}
	kill(t, w)
	if _, err := os.Stat(w.shelf.path(runs[3].ID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was kept of a run that is finished: %v", err)
	}
	endRun(t, dir)
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Error(d)
	}
	// It may be killed when all but the tidying is done.
	if err := os.MkdirAll(filepath.Join(w.shelf.dir, "half"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(dir); !errors.Is(err, ErrComplete) {
		t.Errorf("gone on with when it is complete: %v", err)
	}
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Error(d)
	}
}

// An interrupted run is put into its directory as far as it came, and goes on.
func TestInterruptedWritersGoOn(t *testing.T) {
	want := whole(t)
	dir := filepath.Join(t.TempDir(), "run")
	w := begun(t, dir)
	half := syntheticRuns()[3]
	half.Status, half.Rounds = results.Interrupted, half.Rounds[:5]
	addHalf := func() {
		if err := w.Add(3, half); err != nil {
			t.Fatal(err)
		}
	}
	addHalf()
	finish(t, w, Incomplete)
	if got, err := Read(dir); err != nil || got.Manifest.State != Incomplete || len(got.Runs) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	w, err := resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := w.Load(half.ID); string(b) != "halfway" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	addHalf() // again, as it may be
	finish(t, w, Incomplete)
	endRun(t, dir)
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Error(d)
	}
}

// A writer that is killed while it moves its files goes on, whichever have been
// moved.
func TestWritersKilledWhileMovingGoOn(t *testing.T) {
	want := whole(t)
	files := []string{scenarioFile, roundsFile, runsFile, roundsParquet, manifestFile}
	for moved := range len(files) + 1 {
		dir := filepath.Join(t.TempDir(), "run")
		w := begun(t, dir)
		if err := w.writeStage(Complete, attached{parquet: []string{roundsParquet}}, &End{At: testFinished}); err != nil {
			t.Fatal(err)
		}
		for _, name := range files[:moved] {
			if err := os.Rename(filepath.Join(w.stage(), name), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		kill(t, w)
		endRun(t, dir)
		if d := cmp.Diff(want, tree(t, dir)); d != "" {
			t.Errorf("%d files moved: %s", moved, d)
		}
	}
}

// Whatever bit of a file is not what it was, and wherever it is cut off, the file
// is refused with its name, and with what to do.
func TestDamagedFilesAreRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := begun(t, dir)
	kill(t, w)
	name := syntheticRuns()[3].ID
	for path, ask := range map[string]func() error{
		w.shelf.index(): func() error {
			left, err := OpenCheckpoint(dir)
			if err == nil {
				err = left.Close()
			}
			return err
		},
		w.shelf.path(name): func() error { _, err := w.Load(name); return err },
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		refused := func(what string, at int, text []byte) {
			t.Helper()
			if err := os.WriteFile(path, text, 0o666); err != nil {
				t.Fatal(err)
			}
			err := ask()
			if !errors.Is(err, ErrCheckpoint) || !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "\n") ||
				!strings.Contains(err.Error(), startsOver) && !strings.Contains(err.Error(), startOver) {
				t.Fatalf("%s at %d of %d: %v", what, at, len(text), err)
			}
		}
		step := max(1, len(text)/1000) // of the index
		for at := 0; at < len(text); at += step {
			spoilt := bytes.Clone(text)
			spoilt[at] ^= 1 << (at % 8)
			refused("flipped", at, spoilt)
			refused("cut off", at, text[:at])
		}
		refused("longer", len(text), append(bytes.Clone(text), 0))
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := ask(); err != nil {
			t.Error(err)
		}
	}
}

// What another version kept, on another platform, of another scenario or under
// another name, is refused with the reason.
func TestWhatIsOfAnotherIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := begun(t, dir)
	kill(t, w)
	name := syntheticRuns()[3].ID
	check := func(err error, want string) {
		t.Helper()
		if !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	another := shelfIn(dir)
	another.numerics++
	_, _, err := another.open(another.index(), startOver)
	check(err, fmt.Sprintf("numeric version %d and this one has %d", Numerics, Numerics+1))

	left, err := OpenCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	other := keeps()
	other.Scenario = append(bytes.Clone(other.Scenario), "x = 1\n"...)
	_, err = left.Resume(other, placesOf(syntheticRuns()))
	check(err, "another meaning")
	_, err = left.Resume(keeps(), placesOf(syntheticRuns()[1:]))
	check(err, "is none of its scenario")

	text, err := os.ReadFile(w.shelf.path(name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.shelf.path("someone else"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = w.Load("someone else")
	check(err, "it is of \""+name)

	foreign, err := Create(filepath.Join(t.TempDir(), "other"), false, other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(foreign.shelf.path(name), text, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = foreign.Load(name)
	check(err, "of another scenario")

	w.shelf.numerics++
	_, err = w.Load(name)
	check(err, "the results of both do not mix")
}

// When something cannot be kept, what was kept before stays, whatever the caller
// does then; without anything worth it nothing stays.
func TestFailedWritesLeaveWhatWasKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := begun(t, dir)
	name := syntheticRuns()[3].ID
	full := errors.New("disk full")
	err := w.Save(name, func(out io.Writer) error { return full })
	if !errors.Is(err, full) || !w.Resumable() {
		t.Errorf("%v", err)
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	again, err := resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := again.Load(name); string(b) != "halfway" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if err := again.Discard(); err != nil { // a run that fails when it is gone on with
		t.Fatal(err)
	}
	endRun(t, dir)

	dir = filepath.Join(t.TempDir(), "run")
	w, err = Create(dir, false, keeps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Save(name, func(out io.Writer) error { return full }); !errors.Is(err, full) || w.Resumable() {
		t.Errorf("%v", err)
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something stayed: %v", err)
	}
}

// Where nothing was kept there is nothing to go on with.
func TestNothingLeft(t *testing.T) {
	if _, err := resume(t.TempDir()); !errors.Is(err, ErrForeign) {
		t.Errorf("%v", err)
	}
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	addAll(t, w, syntheticRuns()[:2])
	finish(t, w, Incomplete)
	if _, err := resume(w.Dir()); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), startIt) {
		t.Errorf("%v", err)
	}
}

// A run that was killed as soon as it began is resumed from its beginning.
func TestARunWithoutACheckpointIsStarted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, false, keeps())
	if err != nil {
		t.Fatal(err)
	}
	kill(t, w)
	left, err := OpenCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !left.Empty() {
		t.Error("something is left")
	}
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	endRun(t, dir)
	kill(t, begun(t, dir))
	if left, err = OpenCheckpoint(dir); err != nil || left.Empty() {
		t.Errorf("nothing is left of three runs: %v", err)
	}
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzReopen reads indexes whose checksum is right and whose content is not.
func FuzzReopen(f *testing.F) {
	dir := f.TempDir()
	w, err := Create(dir, false, keeps())
	if err != nil {
		f.Fatal(err)
	}
	for i, r := range syntheticRuns()[:2] {
		r.Rounds = r.Rounds[:2]
		if err := w.Add(i, r); err != nil {
			f.Fatal(err)
		}
	}
	_, content, err := w.shelf.open(w.shelf.index(), startIt)
	if err != nil {
		f.Fatal(err)
	}
	if err := w.Suspend(); err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add(content[:len(content)/2])
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, content []byte) {
		err := w.shelf.write(w.shelf.index(), indexName, func(out io.Writer) error { _, err := out.Write(content); return err })
		if err != nil {
			t.Fatal(err)
		}
		again, err := resume(dir)
		if err == nil {
			err = again.Discard()
		}
		if err != nil && !errors.Is(err, ErrCheckpoint) {
			t.Errorf("%v", err)
		}
	})
}

// Rows by device that are not what was written are refused; those that were deleted
// make their run one that is to be made again.
func TestRowsByDeviceThatWereKeptAreSealed(t *testing.T) {
	runs := syntheticRuns()[:2]
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, false, keeps())
	if err != nil {
		t.Fatal(err)
	}
	addDevices(t, w, runs, 3, func(i int) bool { return i == 0 })
	if err := w.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	part := w.part(0)
	kill(t, w)
	content, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(content); at += 97 {
		spoilt := bytes.Clone(content)
		spoilt[at] ^= 1 << (at % 8)
		if err := os.WriteFile(part, spoilt, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := resume(dir); !errors.Is(err, ErrCheckpoint) || !strings.HasPrefix(err.Error(), part+": ") || !strings.Contains(err.Error(), startsOver) {
			t.Fatalf("flipped at %d: %v", at, err)
		}
	}
	for left, restore := range []func() error{
		func() error { return os.Remove(part) },
		func() error { return os.WriteFile(part, content, 0o666) },
	} {
		if err := restore(); err != nil {
			t.Fatal(err)
		}
		w, err := resume(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Runs(); len(got) != 1+left || got[left].ID != runs[1].ID {
			t.Errorf("%d runs are left, want %d", len(got), 1+left)
		}
		kill(t, w)
	}
}
