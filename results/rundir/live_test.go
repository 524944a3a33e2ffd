package rundir

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/formats"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/rng"
	"fedsim/results"
)

// startRun starts a run with the fields that are known then.
func startRun(w *Writer, index int, r results.Run) func(results.Round) {
	rows, err := w.Begin(index,
		results.Run{ID: r.ID, Experiment: r.Experiment, Method: r.Method, Algorithm: r.Algorithm,
			Point: r.Point, Tuning: results.Tuning{Tuned: r.Tuned}, Seed: r.Seed, Real: r.Real})
	if err != nil {
		panic(err) // it opens no file
	}
	var now results.Round
	return func(x results.Round) {
		now = x
		_ = rows.Round(&now) // likewise
	}
}

func follows(t *testing.T, dir string) *Live {
	t.Helper()
	l, err := ReadLive(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func flush(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.log.flush(); err != nil {
		t.Fatal(err)
	}
}

func glance(t *testing.T, dir string) Info {
	t.Helper()
	g, err := Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A directory is read from before it exists until it is complete. Each read has the
// current content and a new version.
func TestReadLive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	runs := syntheticRuns()[:3]
	var marks []string
	look := func(phase Status, statuses ...results.Status) *Live {
		t.Helper()
		g := glance(t, dir)
		if g != glance(t, dir) {
			t.Error("two calls differ")
		}
		for _, old := range marks {
			if old == g.Version {
				t.Errorf("version %q appeared before", old)
			}
		}
		marks = append(marks, g.Version)
		if g.Status != phase {
			t.Fatalf("status %s, must be %s", g.Status, phase)
		}
		if phase == Absent {
			if _, err := ReadLive(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("ReadLive: %v", err)
			}
			return nil
		}
		l := follows(t, dir)
		var got []results.Status
		for _, r := range l.Runs {
			got = append(got, r.Status)
		}
		if d := cmp.Diff(statuses, got); d != "" || l.Status != phase {
			t.Errorf("status %s: %s", l.Status, d)
		}
		return l
	}
	look(Absent)

	about := testAbout()
	about.Runs = 5
	w := create(t, dir, false, about)
	l := look(Writing)
	if l.Total != 5 || string(l.Scenario) != string(about.Scenario) || l.Manifest.State != Running ||
		!cmp.Equal(l.Manifest.Targets, about.Targets) || !l.Manifest.Clock.Started.Equal(about.Started) {
		t.Errorf("head: %+v", l)
	}

	second := startRun(w, 1, runs[1])
	for _, r := range runs[1].Rounds[:20] {
		second(r)
	}
	flush(t, w)
	l = look(Writing, results.UnderWay)
	want := runs[1].Rounds[:20]
	if d := cmp.Diff(want, l.Runs[0].Rounds, sameBits); d != "" || l.Runs[0].ID != runs[1].ID ||
		!cmp.Equal(l.Runs[0].Point, runs[1].Point) {
		t.Errorf("run under way: %s", d)
	}

	startRun(w, 0, runs[0])
	if err := add(w, 2, runs[2]); err != nil { // without progress
		t.Fatal(err)
	}
	for _, r := range runs[1].Rounds[20:30] {
		second(r)
	}
	if err := add(w, 1, runs[1]); err != nil { // with progress of all but the last rounds
		t.Fatal(err)
	}
	flush(t, w)
	l = look(Writing, results.UnderWay, results.Done, results.Done)
	if d := cmp.Diff(runs[1:], l.Runs[1:], sameBits); d != "" {
		t.Errorf("runs that are finished: %s", d)
	}
	if d := cmp.Diff(results.Hash(runs[2].EventHash), l.Manifest.Runs[2].EventHash); d != "" {
		t.Errorf("the manifest: %s", d)
	}

	if err := add(w, 0, runs[0]); err != nil {
		t.Fatal(err)
	}
	finish(t, w, Complete)
	l = look(Finished, results.Done, results.Done, results.Done)
	if read, err := Read(dir); err != nil || cmp.Diff(*read, l.Results, sameBits) != "" || l.Total != 3 {
		t.Errorf("ReadLive and Read differ: %v", err)
	}

	// A new run in the directory: the old one stays until the new one is finished.
	w = create(t, dir, true)
	look(Writing)
	kill(t, w)
	look(Finished, results.Done, results.Done, results.Done)
	w = create(t, dir, true)
	startRun(w, 0, runs[0]) // so that more than the time differs
	flush(t, w)
	look(Writing, results.UnderWay)
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if g := glance(t, dir); g.Status != Finished {
		t.Errorf("status %s after Discard", g.Status)
	}
}

// After a kill at any moment all complete blocks can be read.
func TestReadLiveAfterAKill(t *testing.T) {
	racetest.Skip(t, "reads cut-off logs, which one goroutine does")
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir, false)
	runs := syntheticRuns()[:2]
	tell := startRun(w, 0, runs[0])
	for _, r := range runs[0].Rounds {
		tell(r)
	}
	if err := add(w, 1, runs[1]); err != nil {
		t.Fatal(err)
	}
	flush(t, w)
	kill(t, w)
	path := filepath.Join(dir, stageDir, logFile)
	text := filetest.Read(t, path)
	var csv bytes.Buffer
	rounds := roundsTable(runs[1:2])
	if err := rounds.exportRuns(&csv, &Results{Runs: runs[1:2]}, "csv"); err != nil || len(text) > 3*csv.Len() {
		t.Errorf("the progress of two runs has %d bytes, more than three times those of one in %s: %v", len(text),
			roundsFile, err)
	}
	if g := glance(t, dir); g.Status != Stopped {
		t.Fatalf("phase %s", g.Status)
	}
	if l := follows(t, dir); len(l.Runs) != 2 || l.Runs[0].Status != results.Interrupted ||
		l.Runs[1].Status != results.Done || l.Manifest.State != Incomplete {
		t.Errorf("%+v", l.Manifest.Runs)
	}
	told := -1
	for end := len(text); end > 0; end -= 61 {
		filetest.Write(t, path, text[:end])
		l, err := ReadLive(dir)
		if err != nil {
			if told != 0 {
				t.Fatalf("of %d bytes: %v after %d rounds", end, err, told)
			}
			continue
		}
		n := 0
		for i, r := range l.Runs {
			n += len(r.Rounds)
			if d := cmp.Diff(runs[i].Rounds[:len(r.Rounds)], r.Rounds, sameBits, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("of %d bytes: %s", end, d)
			}
		}
		if told >= 0 && (n > told || n < told-1) {
			t.Fatalf("%d rounds in %d bytes, %d in 61 more", n, end, told)
		}
		told = n
	}
	if told != 0 {
		t.Errorf("%d rounds in nothing", told)
	}
	// Reading ends before a corrupt last block.
	text[len(text)-1] ^= 1
	filetest.Write(t, path, text)
	if l := follows(t, dir); l.Runs[1].Status != results.Interrupted || len(l.Runs[1].Rounds) != len(runs[1].Rounds) {
		t.Errorf("corrupt last block: %+v", l.Manifest.Runs[1])
	}
}

// The log is gone when a run is complete, and stays when it can be resumed.
func TestProgressLogStaysWhileItIsNeeded(t *testing.T) {
	about := testAbout()
	about.Resumable = true
	for name, end := range map[string]func(*Writer) error{
		"complete":   func(w *Writer) error { return w.Finish(Complete, End{At: testFinished}) },
		"incomplete": func(w *Writer) error { return w.Finish(Incomplete, End{At: testFinished}) },
		"suspended":  (*Writer).Suspend,
		"discarded":  (*Writer).Discard,
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			w := create(t, dir, false, about)
			run := syntheticRuns()[0]
			if err := errors.Join(add(w, 0, run), w.Checkpoint()); err != nil {
				t.Fatal(err)
			}
			kill(t, w)
			c := checkpointIn(t, dir)
			var err error
			if w, err = c.Resume(about, placesOf([]results.Run{run})); err != nil {
				t.Fatal(err)
			}
			if l := follows(t, dir); l.Status != Writing || len(l.Runs) != 1 || l.Runs[0].Status != results.Done ||
				len(l.Runs[0].Rounds) != len(run.Rounds) {
				t.Errorf("resumed: status %s, %+v", l.Status, l.Manifest.Runs)
			}
			startRun(w, 1, syntheticRuns()[1])(run.Rounds[0])
			if err := errors.Join(end(w), w.ProgressErr()); err != nil {
				t.Fatal(err)
			}
			if there := exists(filepath.Join(dir, stageDir, logFile)); there == (name == "complete") {
				t.Errorf("the log is there: %t", there)
			}
			if g, want := glance(t, dir),
				map[string]Status{"complete": Finished, "incomplete": Finished, "suspended": Stopped,
					"discarded": Stopped}[name]; g.Status != want {
				t.Errorf("status %s, want %s", g.Status, want)
			}
		})
	}
}

// The status is Writing while files are moved to their place, and Stopped when that
// fails.
func TestReadLiveWhileFilesAreMoved(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	addAll(t, w, syntheticRuns()[:2])
	var files attached
	if err := w.writeStage(Complete, &files, &End{At: testFinished}); err != nil {
		t.Fatal(err)
	}
	flush(t, w)
	inTheWay := filepath.Join(w.Dir(), runsFile, "file")
	if err := errors.Join(os.Mkdir(filepath.Dir(inTheWay), 0o777), os.WriteFile(inTheWay, nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	if err := w.move(nil, files); err == nil {
		t.Fatal("no error")
	}
	if g := glance(t, w.Dir()); g.Status != Writing {
		t.Errorf("status %s during the move", g.Status)
	}
	if err := w.install(Complete, files); err == nil {
		t.Fatal("no error")
	}
	if l := follows(t, w.Dir()); l.Status != Stopped || l.Manifest.State != Incomplete || len(l.Runs) != 2 {
		t.Errorf("status %s, %s, %d runs after the failure", l.Status, l.Manifest.State, len(l.Runs))
	}
	flush(t, w) // a timer that fires late
	w.log.close()
}

// Progress that cannot be written is written later. The run does not fail.
func TestProgressIsWrittenLater(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	w.log.every = time.Hour
	runs := syntheticRuns()
	file := w.log.file
	var err error
	if w.log.file, err = os.Open(w.log.path); err != nil { // cannot be written
		t.Fatal(err)
	}
	tell := startRun(w, 0, runs[0])
	for _, r := range runs[0].Rounds[:5] {
		tell(r)
		if err := w.log.flush(); err == nil || w.ProgressErr() == nil {
			t.Fatal("no error")
		}
	}
	if l := follows(t, w.Dir()); l.Status != Writing || len(l.Runs) != 0 {
		t.Errorf("status %s, %d runs", l.Status, len(l.Runs))
	}
	if err := w.log.file.Close(); err != nil {
		t.Fatal(err)
	}
	w.log.file = file
	if _, err := file.WriteAt([]byte("half a block"), w.log.size); err != nil { // of a write that was cut short
		t.Fatal(err)
	}
	flush(t, w)
	if l := follows(t, w.Dir()); len(l.Runs) != 1 || cmp.Diff(l.Runs[0].Rounds, runs[0].Rounds[:5], sameBits) != "" ||
		w.ProgressErr() != nil {
		t.Errorf("%+v, %v", l.Runs, w.ProgressErr())
	}
	addAll(t, w, runs[:4])
	finish(t, w, Complete)
	if l := follows(t, w.Dir()); len(l.Runs) != 4 || l.Status != Finished {
		t.Errorf("status %s, %d runs", l.Status, len(l.Runs))
	}
}

// Several runs write progress while a reader reads; all rounds arrive without a flush.
func TestConcurrentProgress(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	w.log.every = time.Millisecond
	runs := syntheticRuns()[:4]
	var wait sync.WaitGroup
	for i := range runs {
		wait.Go(func() {
			tell := startRun(w, i, runs[i])
			for _, r := range runs[i].Rounds {
				tell(r)
				time.Sleep(100 * time.Microsecond)
			}
			if err := add(w, i, runs[i]); err != nil {
				t.Error(err)
			}
		})
	}
	done := 0
	for deadline := time.Now().Add(20 * time.Second); done < len(runs); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not all rounds arrived")
		}
		done = 0
		for _, r := range follows(t, w.Dir()).Runs {
			if r.Status == results.Done {
				done++
			}
		}
	}
	wait.Wait()
	if d := cmp.Diff(runs, follows(t, w.Dir()).Runs, sameBits); d != "" {
		t.Error(d)
	}
	finish(t, w, Complete)
}

func TestProgressAllocatesNothing(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	defer w.Discard()
	round := syntheticRuns()[0].Rounds[3]
	tell := startRun(w, 0, syntheticRuns()[0])
	w.log.mu.Lock()
	w.log.scheduled = true
	w.log.buffer = make([]byte, 0, logBuffer)
	w.log.mu.Unlock()
	if n := testing.AllocsPerRun(1000, func() { tell(round) }); n > 0 {
		t.Errorf("%v allocations a round", n)
	}
}

// BenchmarkProgress measures the cost of a round, including the write.
func BenchmarkProgress(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "run"), false, testAbout())
	if err != nil {
		b.Fatal(err)
	}
	defer w.Discard()
	round := syntheticRuns()[0].Rounds[3]
	tell := startRun(w, 0, syntheticRuns()[0])
	b.ReportAllocs()
	for b.Loop() {
		tell(round)
	}
}

// headOf is the head of a log with a scenario.
func headOf() *logHead {
	return &logHead{
		Format: formats.Unfinished, Columns: results.ColumnNames(results.RoundColumns), Resumable: true,
		Scenario: string(testAbout().Scenario), Manifest: newManifest(testAbout(), Running, nil, attached{}, nil),
	}
}

// The log holds runs to the bit, values that JSON has no number for too.
func TestLogsHoldRunsBitForBit(t *testing.T) {
	racetest.Skip(t, "compares formats, which one goroutine writes")
	want := append(syntheticRuns(), withExtremes()...)
	want[0].Stragglers = &results.Stragglers{PMax: 1.0 / 3, ThetaMax: math.NaN()}
	want[1].Metrics, want[1].Rounds[2].Metrics = namedRun().Metrics, namedRun().Rounds[1].Metrics
	l := &runLog{runs: map[int]*openRun{}}
	l.addJSON(headBlock, 0, 0, headOf())
	for i := range want {
		l.addEnd(&endedRun{want[i], i, storedRows{}})
	}
	p, err := parseProgress(&blockReader{in: bytes.NewReader(l.buffer), size: int64(len(l.buffer))})
	if err != nil {
		t.Fatal(err)
	}
	var got []results.Run
	for _, run := range p.inOrder() {
		got = append(got, run.Run)
	}
	if d := cmp.Diff(want, got, sameBits, cmpopts.EquateEmpty()); d != "" {
		t.Fatal(d)
	}
}

// FuzzLog reads blocks whose checksums are right, whatever they hold.
func FuzzLog(f *testing.F) {
	w, err := Create(filepath.Join(f.TempDir(), "run"), false, resumable())
	if err != nil {
		f.Fatal(err)
	}
	run := namedRun()
	run.Stragglers = &results.Stragglers{PMax: 0.5, ThetaMax: math.NaN()}
	rows := begin(f, w, 0, run)
	for h, devices := range deviceRows(&run, 3) {
		x := run.Rounds[h]
		x.ClientMetrics, x.Client = clientValues()[h], clientOf(h)
		if err := errors.Join(rows.Round(&x), rows.Devices(devices)); err != nil {
			f.Fatal(err)
		}
	}
	save := func(name string) error {
		return w.Save(name, func(out io.Writer) error { _, err := out.Write([]byte("halfway")); return err })
	}
	if err := errors.Join(save(run.ID), save("x"), rows.End(run), w.Suspend()); err != nil {
		f.Fatal(err)
	}
	log := filetest.Read(f, filepath.Join(w.stage(), logFile))
	f.Add(log)
	f.Add(log[:len(log)/2])
	r := rng.New(1, rng.Synthetic, 0, 0)
	for range 100 {
		spoilt := bytes.Clone(log)
		spoilt[r.IntN(len(spoilt))] ^= 1 << r.IntN(8)
		f.Add(spoilt)
	}
	dir := f.TempDir()
	if err := os.Mkdir(filepath.Join(dir, stageDir), 0o777); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		stage := filepath.Join(dir, stageDir)
		path := filepath.Join(stage, logFile)
		filetest.Write(t, path, resealed(text))
		_, live := ReadLive(dir)
		devices := Devices(stage, func(string, *results.DeviceRow) error { return nil })
		clients := Clients(stage, "", func(*results.ClientRow) error { return nil })
		for _, err := range []error{live, devices, clients} {
			if err != nil && !errors.Is(err, ErrNoDevices) && !errors.Is(err, ErrNoClients) &&
				!strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("%v", err)
			}
		}
		w, err := resume(dir)
		if err == nil {
			err = w.Discard()
		}
		if err != nil && !errors.Is(err, ErrCheckpoint) && !errors.Is(err, ErrForeign) &&
			!errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	})
}

func TestStatOfOtherDirectories(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	filetest.Write(t, file, "")
	for _, path := range []string{dir, file} {
		if _, err := Stat(path); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
