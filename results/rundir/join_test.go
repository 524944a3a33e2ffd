package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/atomicfile"
)

// withDevices is the writer of runs with rows by device, with nothing more to do
// but to finish them.
func withDevices(t *testing.T, dir string) *Writer {
	t.Helper()
	w, err := Create(dir, true, resumable())
	if err != nil {
		t.Fatal(err)
	}
	addDevices(t, w, syntheticRuns()[:6], 20, everyOther)
	if err := w.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	return w
}

// wholeWithDevices is their run directory.
func wholeWithDevices(t *testing.T) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "whole")
	finish(t, withDevices(t, dir), Complete)
	return tree(t, dir)
}

// failing is a file of a disk that fails after so many operations.
type failing struct {
	atomicfile.File
	left int
	then func()
}

var errDisk = errors.New("the disk failed")

func (f *failing) next() error {
	if f.then != nil {
		f.then()
	}
	if f.left--; f.left < 0 {
		return errDisk
	}
	return nil
}

func (f *failing) WriteAt(p []byte, at int64) (int, error) {
	if err := f.next(); err != nil {
		n, _ := f.File.WriteAt(p[:len(p)/2], at) // a part of it gets there
		return n, err
	}
	return f.File.WriteAt(p, at)
}

func (f *failing) Sync() error { return errors.Join(f.next(), f.File.Sync()) }

func (f *failing) Truncate(size int64) error {
	if err := f.next(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// on makes rows by device be joined on the disk, so many bytes at once.
func (f *failing) on(t *testing.T, atOnce int64) {
	update, most := updateFile, movedAtOnce
	t.Cleanup(func() { updateFile, movedAtOnce = update, most })
	movedAtOnce = atOnce
	updateFile = func(path string, change func(atomicfile.File) error) error {
		return update(path, func(out atomicfile.File) error {
			f.File = out
			return change(f)
		})
	}
}

// Wherever the disk fails while rows by device are joined, no run is lost: the resumed
// run has all of them and writes the same bytes.
func TestFailedJoinsAreCompleted(t *testing.T) {
	want := wholeWithDevices(t)
	disk := &failing{}
	disk.on(t, 30_000) // a part has about 80 000
	for operations := range 100 {
		dir := filepath.Join(t.TempDir(), "run")
		w := withDevices(t, dir)
		disk.left = operations
		err := w.Finish(Complete, End{At: testFinished})
		disk.left = 1000
		if err == nil {
			if operations < 10 {
				t.Errorf("%d operations were enough", operations)
			}
			return
		}
		if !errors.Is(err, errDisk) {
			t.Fatal(err)
		}
		if operations%2 == 0 {
			kill(t, w)
		} else if err := w.Discard(); err != nil {
			t.Fatal(err)
		}
		again, err := resume(dir)
		if err != nil {
			t.Fatalf("after %d operations: %v", operations, err)
		}
		if n := len(again.Runs()); n != 6 {
			t.Fatalf("after %d operations: %d runs are left of 6", operations, n)
		}
		finish(t, again, Complete)
		if d := cmp.Diff(want, tree(t, dir)); d != "" {
			t.Fatalf("after %d operations: %s", operations, d)
		}
	}
	t.Error("it always fails")
}

// Rows by device that were joined, and killed on the way to their place, are taken
// from where they are; deleted ones are computed again.
func TestInterruptedJoinsAreFound(t *testing.T) {
	want := wholeWithDevices(t)
	dir := filepath.Join(t.TempDir(), "run")
	w := withDevices(t, dir)
	if err := w.joinDevices(); err != nil {
		t.Fatal(err)
	}
	if err := w.writeStage(Complete, attached{parquet: []string{roundsParquet, devicesParquet}}, &End{At: testFinished}); err != nil {
		t.Fatal(err)
	}
	kill(t, w)
	joined := filepath.Join(w.stage(), devicesParquet)
	if err := os.Rename(joined, filepath.Join(dir, devicesParquet)); err != nil {
		t.Fatal(err)
	}
	w, err := resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(w.Runs()); n != 6 {
		t.Fatalf("%d runs are left of 6", n)
	}
	kill(t, w)
	if err := os.Remove(joined); err != nil {
		t.Fatal(err)
	}
	if w, err = resume(dir); err != nil {
		t.Fatal(err)
	}
	if n := len(w.Runs()); n != 3 {
		t.Errorf("%d runs without rows by device are left of 3", n)
	}
	for i, run := range syntheticRuns()[:6] {
		if everyOther(i) {
			addRows(t, w, i, run, 20)
			if err := add(w, i, run); err != nil {
				t.Fatal(err)
			}
		}
	}
	finish(t, w, Complete)
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Error(d)
	}
}

// A joined file that does not match its plan is refused.
func TestCorruptJoinsAreRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := withDevices(t, dir)
	if err := w.joinDevices(); err != nil {
		t.Fatal(err)
	}
	joined := filepath.Join(w.stage(), devicesParquet)
	content, err := os.ReadFile(joined)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/3] ^= 4
	if err := os.WriteFile(joined, content, 0o666); err != nil {
		t.Fatal(err)
	}
	kill(t, w)
	if w, err = resume(dir); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(Complete, End{At: testFinished}); !errors.Is(err, ErrCheckpoint) {
		t.Errorf("%v", err)
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
}
