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
func kill(t filetest.T, w *Writer) {
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
	if left := checkpointIn(t, dir); len(left.progress.states.named) > 0 {
		t.Errorf("states of a finished run: %v", left.progress.states.named)
	} else if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	endRun(t, dir)
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Error(d)
	}
	// A kill after the last move, before the stage is cleared.
	if err := os.MkdirAll(filepath.Join(w.stage(), checkpointDir, "half"), 0o777); err != nil {
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
	files := []string{scenarioFile, runsFile, roundsFile, manifestFile}
	for moved := range len(files) + 1 {
		dir := filepath.Join(t.TempDir(), "run")
		w := begun(t, dir)
		if err := w.writeStage(Complete, &attached{}, &End{At: testFinished}); err != nil {
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
	files := NewStates(t.TempDir(), []byte("a"))
	const name = "trials of x"
	if err := files.Save(name,
		func(out io.Writer) error { _, err := io.WriteString(out, "halfway"); return err }); err != nil {
		t.Fatal(err)
	}
	path := files.path(name)
	text := filetest.Read(t, path)
	refused := func(what string, at int, text []byte) {
		t.Helper()
		filetest.Write(t, path, text)
		if _, err := files.Load(name); !errors.Is(err, ErrCheckpoint) || !strings.HasPrefix(err.Error(), path+": ") ||
			strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), deleteIt) {
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
	filetest.Write(t, files.path("someone else"), text)
	if _, err := files.Load("someone else"); !errors.Is(err, ErrCheckpoint) ||
		!strings.Contains(err.Error(), "it is of \""+name) {
		t.Error(err)
	}
	files.head.Numerics++
	filetest.Write(t, path, text)
	if _, err := files.Load(name); !errors.Is(err, ErrCheckpoint) ||
		!strings.HasPrefix(err.Error(), path+": cannot be resumed: it has numeric version ") {
		t.Error(err)
	}
}

// A log that is cut off gives the finished runs before that place, bit for bit, and says how much is lost. One of which
// a bit is flipped is refused by all that read it, with the place and a remedy, unless its last block is lost.
func TestCorruptLogs(t *testing.T) {
	racetest.Skip(t, "damages logs, which one goroutine reads")
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w := begun(t, dir)
	kill(t, w)
	text := filetest.Read(t, w.log.path)
	runs, blocks := syntheticRuns(), blocksOf(text)
	ends := func(text []byte) (n int) {
		for at, i := 0, 0; i < len(blocks) && at+len(blocks[i]) <= len(text); i++ {
			if at += len(blocks[i]); blocks[i][0] == endBlock {
				n++
			}
		}
		return n
	}
	start, i := 0, 0 // of a block, and its number
	check := func(what string, at, lost int, text []byte) {
		t.Helper()
		filetest.Write(t, w.log.path, text)
		c, err := readCheckpoint(dir, runAgain, true)
		switch {
		case at < len(blocks[0]):
			if want := w.log.path + ": cannot be resumed: is corrupt at byte 0: " +
				runAgain; !errors.Is(err, ErrCheckpoint) || err.Error() != want {
				t.Fatalf("%s at %d: %v, want %s", what, at, err, want)
			}
			return
		case lost < 0:
			if want := fmt.Sprintf("%s: cannot be resumed: is corrupt at byte %d: ", w.log.path, start); !errors.Is(err,
				ErrCheckpoint) || !strings.HasPrefix(err.Error(), want) {
				t.Fatalf("%s at %d: %v, want %s", what, at, err, want)
			}
			return
		case err != nil || c.Cut != int64(lost):
			t.Fatalf("%s at %d of %d: %+v, want %d bytes cut off: %v", what, at, len(text), c, lost, err)
		}
		for place, run := range c.progress.runs {
			if isFinished(&run.Run) && cmp.Diff(runs[place], run.Run, sameBits) != "" {
				t.Fatalf("%s at %d: run %d differs", what, at, place)
			}
		}
		if c.finished() != ends(text[:len(text)-lost]) {
			t.Fatalf("%s at %d: %d finished runs, want %d", what, at, c.finished(), ends(text[:len(text)-lost]))
		}
	}
	for at := 0; at < len(text); at += max(1, len(text)/200) {
		for start+len(blocks[i]) <= at {
			start, i = start+len(blocks[i]), i+1
		}
		spoilt := bytes.Clone(text)
		spoilt[at] ^= 1 << (at % 8)
		if i == len(blocks)-1 && at >= start+headerSize {
			check("flipped", at, len(blocks[i]), spoilt)
		} else {
			check("flipped", at, -1, spoilt)
		}
		check("cut off", at, at-start, text[:at])
	}
	check("longer", len(text), 11, append(bytes.Clone(text), "half a block"[1:]...))
}

// A log of which a block is doubled, deleted, swapped with the next or replaced by one of another log is refused by
// all that read it, with the place of the first block that does not follow the one before.
func TestMovedBlocksOfALogAreRefused(t *testing.T) {
	racetest.Skip(t, "damages logs, which one goroutine reads")
	t.Parallel()
	dir, other := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "other")
	w := begun(t, dir)
	kill(t, w)
	blocks := blocksOf(filetest.Read(t, w.log.path))
	foreign := blocksOf(replacedInLog(filetest.Read(t, w.log.path), "v0.1.0", "v0.1.1"))
	refused := func(what string, number int, moved ...[]byte) {
		t.Helper()
		filetest.Write(t, w.log.path, bytes.Join(moved, nil))
		at := len(bytes.Join(moved[:number], nil))
		want := fmt.Sprintf("is corrupt at byte %d", at)
		remedy := fmt.Sprintf(": to compute what follows again, cut the file off there: truncate -s %d %s", at,
			w.log.path)
		_, live := ReadLive(dir)
		_, read := Read(w.stage())
		_, opened := OpenCheckpoint(dir)
		for reader, err := range map[string]error{"ReadLive": live, "Read": read} {
			if err == nil || err.Error() != w.log.path+": "+want+remedy {
				t.Errorf("%s: %s: %v, want %s", what, reader, err, want)
			}
		}
		if err := opened; err == nil ||
			err.Error() != fmt.Sprintf("%s: %v: %s%s", w.log.path, ErrCheckpoint, want, remedy) {
			t.Errorf("%s: OpenCheckpoint: %v, want %s", what, err, want)
		}
		about := resumable()
		about.Resumable = false
		taker := create(t, other, true, about)
		if err := taker.Take(t.Context(), placesOf(syntheticRuns()), dir); !errors.Is(err, ErrTake) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: Take: %v", what, err)
		}
		if err := taker.Discard(); err != nil {
			t.Error(err)
		}
	}
	// block 0 is the head, and behind the last one nothing follows
	for _, i := range []int{1, 2, len(blocks) / 2, len(blocks) - 2} {
		refused("doubled", i+1, slices.Insert(slices.Clone(blocks), i+1, blocks[i])...)
		refused("deleted", i, slices.Delete(slices.Clone(blocks), i, i+1)...)
		swapped := slices.Clone(blocks)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		refused("swapped", i, swapped...)
		replaced := slices.Clone(blocks)
		replaced[i] = foreign[i]
		refused("of another log", i, replaced...)
	}
	refused("doubled, the last", len(blocks), append(slices.Clone(blocks), blocks[len(blocks)-1])...)
}

// What a killed writer leaves behind the last whole block, and of a state that it was saving, is gone when the run is
// resumed, however long it is.
func TestResumeAfterAKillWithinABlock(t *testing.T) {
	t.Parallel()
	want := whole(t)
	dir := filepath.Join(t.TempDir(), "run")
	w := begun(t, dir)
	w.log.add(partBlock, 0, w.log.states.begin(), make([]byte, mostBlock))
	w.log.add(devicesTable.kind(), 3, 0, make([]byte, mostBlock))
	flush(t, w)
	kill(t, w)
	log := filetest.Read(t, w.log.path)
	filetest.Write(t, w.log.path, log[:len(log)-1])
	for cut := int64(mostBlock + headerSize - 1); cut >= 0; cut -= mostBlock + headerSize - 1 {
		left := checkpointIn(t, dir)
		if left.Cut != cut || left.progress.states.garbage != mostBlock+headerSize {
			t.Errorf("%d bytes are cut off, want %d; %d bytes of a state", left.Cut, cut, left.progress.states.garbage)
		}
		again, err := left.Resume(resumable(), placesOf(syntheticRuns()))
		if err != nil {
			t.Fatal(err)
		}
		if l := follows(t, dir); len(l.Runs) != 3 {
			t.Errorf("%d runs", len(l.Runs))
		}
		kill(t, again)
	}
	endRun(t, dir)
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Error(d)
	}
}

// A log whose states were replaced often is made again without them, and has all else; states that are being written
// meanwhile are complete.
func TestReplacedStatesAreRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir, false, resumable())
	w.log.garbage = 1000
	runs := syntheticRuns()
	half := begin(t, w, 2, runs[2])
	for i := range runs[2].Rounds[:20] {
		if err := half.Round(&runs[2].Rounds[i]); err != nil {
			t.Fatal(err)
		}
	}
	addDevices(t, w, runs[:2], 3, func(int) bool { return true })
	saveText(t, w, "another", "stays")
	want := ""
	err := w.Save("slow", func(out io.Writer) error {
		for i := range 300 {
			want = strings.Repeat(fmt.Sprint(i), 1000)
			saveText(t, w, runs[2].ID, want)
			if i == 100 {
				if _, err := io.WriteString(out, strings.Repeat("x", mostBlock)); err != nil {
					return err
				}
			}
		}
		_, err := io.WriteString(out, "y")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(w.log.path); err != nil || info.Size() != w.log.size || info.Size() > 3*(mostBlock+50_000) {
		t.Errorf("%d bytes after 300 saves of 3,000, want %d: %v", info.Size(), w.log.size, err)
	}
	kill(t, w)
	w = resumed(t, dir)
	for name, want := range map[string]string{runs[2].ID: want, "another": "stays",
		"slow": strings.Repeat("x", mostBlock) + "y"} {
		if b, err := w.Load(name); string(b) != want || err != nil {
			t.Errorf("%s: %d bytes, want %d: %v", name, len(b), len(want), err)
		}
	}
	if d := cmp.Diff(runs[:2], w.Runs(), sameBits); d != "" {
		t.Error(d)
	}
	if err := add(w, 2, runs[2]); err != nil {
		t.Fatal(err)
	}
	finish(t, w, Complete)
	uninterrupted := create(t, filepath.Join(t.TempDir(), "whole"), false, resumable())
	addDevices(t, uninterrupted, runs[:2], 3, func(int) bool { return true })
	if err := add(uninterrupted, 2, runs[2]); err != nil {
		t.Fatal(err)
	}
	finish(t, uninterrupted, Complete)
	if d := cmp.Diff(tree(t, uninterrupted.Dir()), tree(t, dir)); d != "" {
		t.Error(d)
	}
}

// A checkpoint of another version or scenario is refused with the reason.
func TestOtherCheckpointsAreRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := begun(t, dir)
	kill(t, w)
	check := func(err error, want string) {
		t.Helper()
		if !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	log := filetest.Read(t, w.log.path)
	for from, to := range map[string][2]string{
		fmt.Sprintf(`"numerics":%d`, Numerics): {`"numerics":9`,
			fmt.Sprint("numeric version 9 and this version of fedsim has ", Numerics)},
		`"format":1`: {`"format":2`,
			"format = 2: must be 1, the one that this version of fedsim reads: fedsim v0.1.0 wrote it"},
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

// Corrupt rows by device are refused.
func TestRowsHaveChecksums(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir, false, resumable())
	addDevices(t, w, syntheticRuns()[:2], 3, func(i int) bool { return i == 0 })
	if err := w.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	kill(t, w)
	log := filetest.Read(t, w.log.path)
	at := 0
	for _, b := range blocksOf(log) {
		if at += len(b); b[0] != devicesTable.kind() {
			continue
		}
		for k := at - len(b) + headerSize; k < at; k += 97 {
			spoilt := bytes.Clone(log)
			spoilt[k] ^= 1 << (k % 8)
			filetest.Write(t, w.log.path, spoilt)
			want :=
				fmt.Sprintf(
					": is corrupt at byte %d: to compute what follows again, cut the file off there: truncate -s ",
					at-len(b))
			if _, err := resume(dir); !errors.Is(err, ErrCheckpoint) ||
				!strings.HasPrefix(err.Error(), w.log.path+": ") || !strings.Contains(err.Error(), want) {
				t.Fatalf("flipped at %d: %v", k, err)
			}
			if err := Devices(w.stage(), func(string, *results.DeviceRow) error { return nil }); err == nil ||
				!strings.HasPrefix(err.Error(), w.log.path+": ") {
				t.Fatalf("flipped at %d: %v", k, err)
			}
		}
	}
}
