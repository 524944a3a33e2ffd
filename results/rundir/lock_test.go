package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fedsim/internal/tools/filetest"
)

// Of many who want to write a directory, which comes and goes with them, one at a
// time may; the others get an error.
func TestOneWriterAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "x")
	var writing, wrote, refused atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				w, err := Create(dir, true, resumable())
				if errors.Is(err, ErrBusy) {
					refused.Add(1)
					continue
				}
				// A writer removes the directories that it made.
				if errors.Is(err, os.ErrNotExist) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := writing.Add(1); n != 1 {
					t.Errorf("%d write at a time", n)
				}
				wrote.Add(1)
				writing.Add(-1)
				if err := w.Discard(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if wrote.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d wrote, %d were refused: no two at the same time", wrote.Load(), refused.Load())
	}
	if exists(filepath.Join(dir, stageDir)) {
		t.Errorf("left: %v", tree(t, dir))
	}
}

// A lock whose process is gone locks nothing, and one whose file is gone, or another
// file by now, is not taken for one that is held.
func TestLocksThatLockNothing(t *testing.T) {
	dir := t.TempDir()
	l, err := lockStage(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockStage(dir); !errors.Is(err, ErrBusy) ||
		!strings.Contains(err.Error(), "another fedsim, process ") {
		t.Errorf("%v", err)
	}
	path := l.file.Path()
	if err := l.file.Unlock(); err != nil { // its process is gone, its file is not
		t.Fatal(err)
	}
	if l, err = lockStage(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+"-away"); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, path, "")
	if stillAt(l.file, path) {
		t.Error("another file is taken for the one that is locked")
	}
	for range 2 {
		if err := l.release(); err != nil {
			t.Error(err)
		}
	}
}

// A checkpoint is never overwritten without force, unless it has no work in it.
func TestCheckpointsAreNotOverwritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir, false, resumable())
	kill(t, w) // with an index of no runs
	w = create(t, dir, false, resumable())
	addAll(t, w, syntheticRuns()[:2])
	saveText(t, w, syntheticRuns()[3].ID, "halfway")
	kill(t, w)
	before := tree(t, dir)
	later := resumable()
	later.Version = "v9" // of the same numeric version
	for _, about := range []About{resumable(), testAbout(), later} {
		_, err := Create(dir, false, about)
		if !errors.Is(err, ErrUnfinished) ||
			!strings.Contains(err.Error(), "2 finished and more under way, last written 2") ||
			!strings.Contains(err.Error(), "--resume "+dir+", use --force") {
			t.Errorf("%v", err)
		}
	}
	delete(before, filepath.Join(stageDir, lockFile))
	if after := tree(t, dir); len(after) != len(before) {
		t.Errorf("was %v, is %v", before, after)
	}
	w = create(t, dir, true, resumable())
	if err := w.Discard(); err != nil {
		t.Error(err)
	}
}

// The error of a complete run with an unfinished replacement names both.
func TestErrorsNameAnUnfinishedReplacement(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	about := About{Version: "test", Scenario: []byte("name = \"x\"\n"), Seeds: []uint64{1}, Resumable: true}
	w := create(t, dir, false, about)
	if err := w.Finish(Complete, End{At: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	other := create(t, dir, true, about)
	defer func() { _ = other.Discard() }()
	_, err := Create(dir, false, about)
	if !errors.Is(err, ErrExists) ||
		!strings.Contains(err.Error(),
			"an unfinished one that was to replace it: resume that with fedsim run --resume "+dir) {
		t.Errorf("error %v", err)
	}
}
