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

	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/racetest"
	"fedsim/results"
)

// resumable describes runs that can be resumed.
func resumable() About {
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

// begun is a writer with three finished runs and a fourth under way.
func begun(t *testing.T, dir string) *Writer {
	t.Helper()
	w := create(t, dir, true, resumable())
	runs := syntheticRuns()
	addAll(t, w, runs[:3])
	if err := w.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	saveText(t, w, runs[3].ID, "halfway")
	return w
}

func saveText(t *testing.T, w *Writer, name, text string) {
	t.Helper()
	if err := w.Save(name, func(out io.Writer) error { _, err := io.WriteString(out, text); return err }); err != nil {
		t.Fatal(err)
	}
}

// resume resumes the run in dir.
func resume(dir string) (*Writer, error) {
	left, err := OpenCheckpoint(dir)
	if err != nil {
		return nil, err
	}
	about := resumable()
	about.Command, about.Started = left.Command, left.Started
	w, err := left.Resume(about, placesOf(syntheticRuns()))
	return w, errors.Join(err, left.Close())
}

// resumed is resume that must not fail.
func resumed(t testing.TB, dir string) *Writer {
	t.Helper()
	w, err := resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// checkpointIn is OpenCheckpoint that must not fail.
func checkpointIn(t testing.TB, dir string) *Checkpoint {
	t.Helper()
	left, err := OpenCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// kill ends a writer as a kill of its process does.
func kill(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.lock.file.Unlock(); err != nil {
		t.Fatal(err)
	}
	w.lock.file = nil
	w.log.writing.Lock()
	defer w.log.writing.Unlock()
	w.log.release()
}

// whole is the directory of an uninterrupted run.
func whole(t *testing.T) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "whole")
	w := create(t, dir, false, resumable())
	addAll(t, w, syntheticRuns())
	finish(t, w, Complete)
	return tree(t, dir)
}

// endRun resumes dir, with three finished runs or more, to the end.
func endRun(t *testing.T, dir string) {
	t.Helper()
	w := resumed(t, dir)
	runs := syntheticRuns()
	for i := len(w.Runs()); i < len(runs); i++ {
		if err := add(w, i, runs[i]); err != nil {
			t.Fatal(err)
		}
	}
	finish(t, w, Complete)
}

// A resumed writer has the finished runs and the states of the others. It writes the same
// directory as an uninterrupted one.
func TestResumeAfterAKill(t *testing.T) {
	want := whole(t)
	dir := filepath.Join(t.TempDir(), "run")
	kill(t, begun(t, dir))
	if _, err := Read(dir); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "--resume "+dir) {
		t.Errorf("read before resuming: %v", err)
	}
	w := resumed(t, dir)
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
	// The fourth run finishes before the next kill.
	if err := add(w, 3, runs[3]); err != nil { // the fourth: a checkpoint
		t.Fatal(err)
	}
	kill(t, w)
	if _, err := os.Stat(w.files.path(runs[3].ID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("state file of a finished run: %v", err)
	}
	endRun(t, dir)
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Error(d)
	}
	// A kill after the last move, before the stage is cleared.
	if err := os.MkdirAll(filepath.Join(w.files.dir, "half"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(dir); !errors.Is(err, ErrComplete) {
		t.Errorf("resuming a complete run: %v", err)
	}
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Error(d)
	}
}

// An interrupted run is written to its directory, and can be resumed.
func TestResumeAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	want := whole(t)
	dir := filepath.Join(t.TempDir(), "run")
	w := begun(t, dir)
	half := syntheticRuns()[3]
	half.Status, half.Rounds = results.Interrupted, half.Rounds[:5]
	addHalf := func() {
		if err := add(w, 3, half); err != nil {
			t.Fatal(err)
		}
	}
	addHalf()
	finish(t, w, Incomplete)
	if got, err := Read(dir); err != nil || got.Manifest.State != Incomplete || len(got.Runs) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	w = resumed(t, dir)
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

// A writer that is killed while it moves its files can be resumed, after any of them.
func TestResumeAfterAKillWhileMoving(t *testing.T) {
	t.Parallel()
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

// A state file of which any bit is flipped or the end is cut off is refused with its
// name and a remedy.
func TestCorruptStateFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w := begun(t, dir)
	kill(t, w)
	name := syntheticRuns()[3].ID
	path := w.files.path(name)
	text := filetest.Read(t, path)
	refused := func(what string, at int, text []byte) {
		t.Helper()
		filetest.Write(t, path, text)
		if _, err := w.Load(name); !errors.Is(err, ErrCheckpoint) || !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), deleteIt) {
			t.Fatalf("%s at %d of %d: %v", what, at, len(text), err)
		}
	}
	for at := range text {
		spoilt := bytes.Clone(text)
		spoilt[at] ^= 1 << (at % 8)
		refused("flipped", at, spoilt)
		refused("cut off", at, text[:at])
	}
	refused("longer", len(text), append(bytes.Clone(text), 0))
}

// A progress log of which any bit is flipped or the end is cut off gives the finished
// runs before that place, bit for bit, or is refused.
func TestCorruptProgressLogsLoseTheirEnd(t *testing.T) {
	racetest.Skip(t, "damages logs, which one goroutine reads")
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w := begun(t, dir)
	kill(t, w)
	text := filetest.Read(t, w.log.path)
	runs := syntheticRuns()
	head := bytes.IndexByte(text, '\n')
	check := func(what string, at int, text []byte) {
		t.Helper()
		filetest.Write(t, w.log.path, text)
		c, err := readCheckpoint(dir, runAgain)
		if at <= head {
			if !errors.Is(err, ErrCheckpoint) || !strings.HasPrefix(err.Error(), w.log.path+": ") || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), runAgain) {
				t.Fatalf("%s at %d: %v", what, at, err)
			}
			return
		}
		if err != nil {
			t.Fatalf("%s at %d of %d: %v", what, at, len(text), err)
		}
		for place, run := range c.progress.runs {
			if isFinished(&run.Run) && cmp.Diff(runs[place], run.Run, sameBits) != "" {
				t.Fatalf("%s at %d: run %d differs", what, at, place)
			}
		}
		if all := bytes.Count(text[:min(at, len(text))], []byte(`"end":`)); c.finished() > all || c.finished() < all-1 {
			t.Fatalf("%s at %d: %d finished runs, %d ends before it", what, at, c.finished(), all)
		}
	}
	for at := 0; at < len(text); at += max(1, len(text)/200) {
		spoilt := bytes.Clone(text)
		spoilt[at] ^= 1 << (at % 8)
		check("flipped", at, spoilt)
		check("cut off", at, text[:at])
	}
	check("longer", len(text), append(bytes.Clone(text), "half a line"...))
	if c, err := readCheckpoint(dir, runAgain); err != nil || c.finished() != 3 {
		t.Errorf("%+v, %v", c, err)
	}
}

// replacedInLog replaces the first such text in a log, and ends its lines anew.
func replacedInLog(log []byte, from, to string) (text []byte) {
	var last chain
	for line := range bytes.Lines(bytes.Replace(log, []byte(from), []byte(to), 1)) {
		start := len(text)
		text = last.endLine(append(text, line[:len(line)-afterTail-crcTail-1]...), start)
	}
	return text
}

// A log of which a line is doubled, deleted, swapped with the next or replaced by one of another log is refused by
// all that read it, with the number of the first line that does not follow the one before.
func TestMovedLinesOfALogAreRefused(t *testing.T) {
	racetest.Skip(t, "damages logs, which one goroutine reads")
	t.Parallel()
	dir, other := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "other")
	w := begun(t, dir)
	kill(t, w)
	lines := bytes.SplitAfter(filetest.Read(t, w.log.path), []byte("\n"))
	lines = lines[:len(lines)-1] // behind the last line break
	foreign := bytes.SplitAfter(replacedInLog(filetest.Read(t, w.log.path), "v0.1.0", "v0.1.1"), []byte("\n"))
	refused := func(what string, number int, moved ...[]byte) {
		t.Helper()
		filetest.Write(t, w.log.path, bytes.Join(moved, nil))
		want := fmt.Sprintf("%s: line %d: %v", w.log.path, number, errChain)
		_, err := ReadLive(dir)
		if err == nil || err.Error() != want+": "+cutLines {
			t.Errorf("%s: ReadLive: %v, want %s", what, err, want)
		}
		if _, err := Read(w.stage()); err == nil || err.Error() != want+": "+cutLines {
			t.Errorf("%s: Read: %v", what, err)
		}
		want = fmt.Sprintf("%s: %v: line %d: %v: %s", w.log.path, ErrCheckpoint, number, errChain, cutLines)
		if _, err := OpenCheckpoint(dir); err == nil || err.Error() != want {
			t.Errorf("%s: OpenCheckpoint: %v, want %s", what, err, want)
		}
		about := resumable()
		about.Resumable = false
		taker := create(t, other, true, about)
		if err := taker.Take(t.Context(), placesOf(syntheticRuns()), dir); !errors.Is(err, ErrTake) || !strings.Contains(err.Error(), fmt.Sprintf("line %d: ", number)) {
			t.Errorf("%s: Take: %v", what, err)
		}
		if err := taker.Discard(); err != nil {
			t.Error(err)
		}
	}
	for _, i := range []int{1, 2, len(lines) / 2, len(lines) - 2} { // line 0 is the head, and behind the last line nothing follows
		refused("doubled", i+2, slices.Insert(slices.Clone(lines), i+1, lines[i])...)
		refused("deleted", i+1, slices.Delete(slices.Clone(lines), i, i+1)...)
		swapped := slices.Clone(lines)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		refused("swapped", i+1, swapped...)
		replaced := slices.Clone(lines)
		replaced[i] = foreign[i]
		refused("of another log", i+1, replaced...)
	}
	refused("doubled, the last", len(lines)+1, append(slices.Clone(lines), lines[len(lines)-1])...)
}

// A checkpoint of another version or scenario, or a state of another name, is refused
// with the reason.
func TestOtherCheckpointsAreRefused(t *testing.T) {
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
	log := filetest.Read(t, w.log.path)
	for from, to := range map[string][2]string{
		fmt.Sprintf(`"numerics":%d`, Numerics): {`"numerics":9`, fmt.Sprint("numeric version 9 and this version of fedsim has ", Numerics)},
		`"format":1`:                           {`"format":2`, "format = 2: must be 1, the one that this version of fedsim reads: fedsim v0.1.0 wrote it"},
	} {
		filetest.Write(t, w.log.path, replacedInLog(log, from, to[0]))
		_, err := OpenCheckpoint(dir)
		check(err, to[1])
	}
	filetest.Write(t, w.log.path, log)
	left := checkpointIn(t, dir)
	other := resumable()
	other.Scenario = append(bytes.Clone(other.Scenario), "x = 1\n"...)
	_, err := left.Resume(other, placesOf(syntheticRuns()))
	check(err, "interprets the scenario differently")
	_, err = left.Resume(resumable(), placesOf(syntheticRuns()[1:]))
	check(err, "is not in its scenario")

	text := filetest.Read(t, w.files.path(name))
	filetest.Write(t, w.files.path("someone else"), text)
	_, err = w.Load("someone else")
	check(err, "it is of \""+name)

	foreign := create(t, filepath.Join(t.TempDir(), "other"), false, other)
	filetest.Write(t, foreign.files.path(name), text)
	_, err = foreign.Load(name)
	check(err, "of another scenario")

	w.files.numerics++
	_, err = w.Load(name)
	check(err, "their results differ")
}

// A failed save leaves the checkpoint, if there is work in it, and otherwise nothing.
func TestFailedSavesLeaveTheCheckpoint(t *testing.T) {
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
	again := resumed(t, dir)
	if b, err := again.Load(name); string(b) != "halfway" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if err := again.Discard(); err != nil { // a resumed run that fails
		t.Fatal(err)
	}
	endRun(t, dir)

	dir = filepath.Join(t.TempDir(), "run")
	w, err = Create(dir, false, resumable())
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
		t.Errorf("the directory stayed: %v", err)
	}
}

// A directory without a checkpoint cannot be resumed.
func TestResumeWithoutACheckpoint(t *testing.T) {
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

// A run that was killed at its start is resumed from its start.
func TestEmptyCheckpointsStartOver(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir, false, resumable())
	kill(t, w)
	left := checkpointIn(t, dir)
	if !left.Empty() {
		t.Error("the checkpoint has work in it")
	}
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	endRun(t, dir)
	kill(t, begun(t, dir))
	if left = checkpointIn(t, dir); left.Empty() {
		t.Error("a checkpoint of three runs is empty")
	}
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
}

// Corrupt rows by device are refused; runs whose rows were deleted are computed again.
func TestStoresHaveChecksums(t *testing.T) {
	t.Parallel()
	runs := syntheticRuns()[:2]
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir, false, resumable())
	addDevices(t, w, runs, 3, func(i int) bool { return i == 0 })
	if err := w.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	stored := storePath(w.stage(), 0)
	kill(t, w)
	content := filetest.Read(t, stored)
	for at := 0; at < len(content); at += 97 {
		spoilt := bytes.Clone(content)
		spoilt[at] ^= 1 << (at % 8)
		filetest.Write(t, stored, spoilt)
		if _, err := resume(dir); !errors.Is(err, ErrCheckpoint) || !strings.HasPrefix(err.Error(), stored+": ") || !strings.Contains(err.Error(), deleteIt) {
			t.Fatalf("flipped at %d: %v", at, err)
		}
	}
	for deleted, change := range []func() error{
		func() error { return os.WriteFile(stored, content, 0o666) },
		func() error { return os.Remove(stored) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		w := resumed(t, dir)
		if got := w.Runs(); len(got) != 2-deleted || got[1-deleted].ID != runs[1].ID {
			t.Errorf("%d runs are finished, want %d", len(got), 2-deleted)
		}
		kill(t, w)
	}
}
