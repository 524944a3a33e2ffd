package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fedsim/internal/state"
	"fedsim/results"
)

// startRun lets a run begin, as far as it is known then.
func startRun(w *Writer, index int, r results.Run) func(results.Round) {
	return w.Progress(index, results.Run{ID: r.ID, Experiment: r.Experiment, Method: r.Method, Algorithm: r.Algorithm,
		Point: r.Point, Tuned: r.Tuned, Seed: r.Seed, Real: r.Real})
}

func follows(t *testing.T, dir string) *Live {
	t.Helper()
	l, err := ReadLive(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func glance(t *testing.T, dir string) Info {
	t.Helper()
	g, err := Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A directory is followed from before it is there until it is whole: each look
// tells what there is then, and that something changed.
func TestFollow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	runs := syntheticRuns()[:3]
	runs[1].Rounds[7].Thetas = []results.Theta{{Value: 0.5, Answered: true}}
	runs[1].Rounds[7].Participants = 1
	var marks []string
	look := func(phase Status, statuses ...results.Status) *Live {
		t.Helper()
		g := glance(t, dir)
		if g != glance(t, dir) {
			t.Error("two looks at the same thing differ")
		}
		for _, old := range marks {
			if old == g.Version {
				t.Errorf("the mark %q was there before", old)
			}
		}
		marks = append(marks, g.Version)
		if g.Status != phase {
			t.Fatalf("phase %s, must be %s", g.Status, phase)
		}
		if phase == Absent {
			if _, err := ReadLive(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("following nothing: %v", err)
			}
			return nil
		}
		l := follows(t, dir)
		var got []results.Status
		for _, r := range l.Runs {
			got = append(got, r.Status)
		}
		if d := cmp.Diff(statuses, got); d != "" || l.Status != phase {
			t.Errorf("phase %s: %s", l.Status, d)
		}
		return l
	}
	look(Absent)

	about := testAbout()
	about.Runs = 5
	w, err := Create(dir, false, about)
	if err != nil {
		t.Fatal(err)
	}
	l := look(Writing)
	if l.Total != 5 || string(l.Scenario) != string(about.Scenario) || l.Manifest.State != Running ||
		!cmp.Equal(l.Manifest.Targets, about.Targets) || !l.Manifest.Clock.Started.Equal(about.Started) {
		t.Errorf("what is run: %+v", l)
	}

	second := startRun(w, 1, runs[1])
	for _, r := range runs[1].Rounds[:20] {
		second(r)
	}
	w.feed.write()
	l = look(Writing, results.UnderWay)
	want := append([]results.Round(nil), runs[1].Rounds[:20]...)
	want[7].Thetas = nil
	if d := cmp.Diff(want, l.Runs[0].Rounds, sameBits); d != "" || l.Runs[0].ID != runs[1].ID || !cmp.Equal(l.Runs[0].Point, runs[1].Point) {
		t.Errorf("a run under way: %s", d)
	}

	startRun(w, 0, runs[0])
	if err := w.Add(2, runs[2]); err != nil { // nothing was told of it
		t.Fatal(err)
	}
	for _, r := range runs[1].Rounds[20:30] {
		second(r)
	}
	if err := w.Add(1, runs[1]); err != nil { // all but the last rounds were
		t.Fatal(err)
	}
	w.feed.write()
	l = look(Writing, results.UnderWay, results.Done, results.Done)
	bare := append([]results.Run(nil), runs[1:]...)
	bare[0].Rounds = append([]results.Round(nil), bare[0].Rounds...)
	bare[0].Rounds[7].Thetas = nil
	if d := cmp.Diff(bare, l.Runs[1:], sameBits); d != "" {
		t.Errorf("runs that are finished: %s", d)
	}
	if d := cmp.Diff(results.Hash(runs[2].EventHash), l.Manifest.Runs[2].EventHash); d != "" {
		t.Errorf("the manifest: %s", d)
	}

	if err := w.Add(0, runs[0]); err != nil {
		t.Fatal(err)
	}
	finish(t, w, Complete)
	l = look(Finished, results.Done, results.Done, results.Done)
	if read, err := Read(dir); err != nil || cmp.Diff(*read, l.Results, sameBits) != "" || l.Total != 3 {
		t.Errorf("what is finished is not what is read: %v", err)
	}

	// It is started again, and what was there before stays until that is finished.
	w = create(t, dir, true)
	look(Writing)
	kill(t, w)
	look(Finished, results.Done, results.Done, results.Done)
	w = create(t, dir, true)
	startRun(w, 0, runs[0]) // so that it differs from the other one in more than its time
	w.feed.write()
	look(Writing, results.UnderWay)
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if g := glance(t, dir); g.Status != Finished {
		t.Errorf("phase %s after a run that was given up", g.Status)
	}
}

// What a process leaves that is killed at any moment can be read: all that it wrote
// as a whole.
func TestFollowKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir, false)
	runs := syntheticRuns()[:2]
	tell := startRun(w, 0, runs[0])
	for _, r := range runs[0].Rounds {
		tell(r)
	}
	if err := w.Add(1, runs[1]); err != nil {
		t.Fatal(err)
	}
	w.feed.write()
	kill(t, w)
	path := filepath.Join(dir, stageDir, feedFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if csv, err := os.Stat(filepath.Join(dir, stageDir, roundsFile)); err != nil || int64(len(text)) > 2*csv.Size() {
		t.Errorf("the feed of two runs has %d bytes, more than twice those of one in %s: %v", len(text), roundsFile, err)
	}
	if g := glance(t, dir); g.Status != Stopped {
		t.Fatalf("phase %s", g.Status)
	}
	if l := follows(t, dir); len(l.Runs) != 2 || l.Runs[0].Status != results.Interrupted || l.Runs[1].Status != results.Done || l.Manifest.State != Incomplete {
		t.Errorf("%+v", l.Manifest.Runs)
	}
	told := -1
	for end := len(text); end > 0; end -= 61 {
		if err := os.WriteFile(path, text[:end], 0o666); err != nil {
			t.Fatal(err)
		}
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
	// What is damaged ends what can be read.
	text[len(text)-1] ^= 1
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if l := follows(t, dir); l.Runs[1].Status != results.Interrupted || len(l.Runs[1].Rounds) != len(runs[1].Rounds) {
		t.Errorf("damaged at its end: %+v", l.Manifest.Runs[1])
	}
}

// Nothing of the feed stays, however a run ends.
func TestFeedIsGone(t *testing.T) {
	about := testAbout()
	about.Resumable = true
	for name, end := range map[string]func(*Writer) error{
		"complete":   func(w *Writer) error { return w.Finish(Complete, End{At: testFinished}) },
		"incomplete": func(w *Writer) error { return w.Finish(Incomplete, End{At: testFinished}) },
		"left":       (*Writer).Suspend,
		"discarded":  (*Writer).Discard,
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			w, err := Create(dir, false, about)
			if err != nil {
				t.Fatal(err)
			}
			run := syntheticRuns()[0]
			if err := errors.Join(w.Add(0, run), w.Checkpoint()); err != nil {
				t.Fatal(err)
			}
			kill(t, w)
			left, err := OpenCheckpoint(dir)
			if err != nil {
				t.Fatal(err)
			}
			if w, err = left.Resume(about, placesOf([]results.Run{run})); err != nil {
				t.Fatal(err)
			}
			// Who goes on tells again of what was finished.
			if l := follows(t, dir); l.Status != Writing || len(l.Runs) != 1 || l.Runs[0].Status != results.Done || len(l.Runs[0].Rounds) != len(run.Rounds) {
				t.Errorf("gone on with: phase %s, %+v", l.Status, l.Manifest.Runs)
			}
			startRun(w, 1, syntheticRuns()[1])(run.Rounds[0])
			if err := errors.Join(end(w), w.ProgressErr()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, stageDir, feedFile)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the feed: %v", err)
			}
		})
	}
}

// While everything is moved to its place somebody is at it, and nobody is when that
// fails or is cut short.
func TestFollowMoved(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	addAll(t, w, syntheticRuns()[:2])
	if err := w.writeStage(Complete, attached{}, &End{At: testFinished}); err != nil {
		t.Fatal(err)
	}
	w.feed.write()
	inTheWay := filepath.Join(w.Dir(), runsFile, "file")
	if err := errors.Join(os.Mkdir(filepath.Dir(inTheWay), 0o777), os.WriteFile(inTheWay, nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	if err := w.move(nil, attached{}); err == nil {
		t.Fatal("no error")
	}
	if g := glance(t, w.Dir()); g.Status != Writing {
		t.Errorf("phase %s while it is moved", g.Status)
	}
	if err := w.install(Complete, attached{}); err == nil {
		t.Fatal("no error")
	}
	if l := follows(t, w.Dir()); l.Status != Stopped || l.Manifest.State != Incomplete || len(l.Runs) != 2 {
		t.Errorf("phase %s, %s, %d runs after it failed", l.Status, l.Manifest.State, len(l.Runs))
	}
	w.feed.write() // a timer that fires late
	w.feed.stop()
}

// A feed that cannot be written is given up; the run is not.
func TestFeedFails(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	runs := syntheticRuns()
	path := filepath.Join(w.Dir(), stageDir, feedFile)
	file := w.feed.file
	defer file.Close()
	var err error
	if w.feed.file, err = os.Open(path); err != nil { // cannot be written
		t.Fatal(err)
	}
	tell := startRun(w, 0, runs[0])
	w.feed.write()
	if err := w.ProgressErr(); err == nil {
		t.Fatal("no error")
	}
	tell(runs[0].Rounds[0])
	if w.feed.frames.Len() > 0 {
		t.Error("it is told on")
	}
	if err := os.Truncate(path, 0); err != nil { // as it is when the disk is full
		t.Fatal(err)
	}
	addAll(t, w, runs[:4])
	if l := follows(t, w.Dir()); l.Status != Writing || len(l.Runs) != 4 {
		t.Errorf("phase %s, %d runs: must be those of the last checkpoint", l.Status, len(l.Runs))
	}
	finish(t, w, Complete)
	if l := follows(t, w.Dir()); len(l.Runs) != 4 || l.Status != Finished {
		t.Errorf("phase %s, %d runs", l.Status, len(l.Runs))
	}
}

// What is told while a write fails is not written behind what was given up.
func TestFeedStaysGivenUp(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	startRun(w, 0, syntheticRuns()[0])
	w.feed.giveUp(errors.New("the disk is full"))
	w.feed.write()
	if info, err := w.feed.file.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
}

// Several runs tell of their rounds while somebody reads; all arrives within a
// second or so by itself.
func TestFollowAtOnce(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	w.feed.every = time.Millisecond
	runs := syntheticRuns()[:4]
	var wait sync.WaitGroup
	for i := range runs {
		wait.Go(func() {
			tell := startRun(w, i, runs[i])
			for _, r := range runs[i].Rounds {
				tell(r)
				time.Sleep(100 * time.Microsecond)
			}
			if err := w.Add(i, runs[i]); err != nil {
				t.Error(err)
			}
		})
	}
	done := 0
	for deadline := time.Now().Add(20 * time.Second); done < len(runs); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("they did not arrive")
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

func TestLookAtWhatIsNoRun(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, file} {
		if _, err := Stat(path); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestFeedAllocatesNothing(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	defer w.Discard()
	round := syntheticRuns()[0].Rounds[3]
	tell := startRun(w, 0, syntheticRuns()[0])
	w.feed.every = time.Hour
	w.feed.mu.Lock()
	w.feed.waiting = true
	w.feed.frames.Grow(1 << 20)
	w.feed.mu.Unlock()
	if n := testing.AllocsPerRun(1000, func() { tell(round) }); n > 0 {
		t.Errorf("%v allocations a round", n)
	}
}

// BenchmarkFeedRound is what a round costs its run; the write is in it.
func BenchmarkFeedRound(b *testing.B) {
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

// Whatever a frame holds, it is taken or refused.
func FuzzFeed(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "run")
	w, err := Create(dir, false, testAbout())
	if err != nil {
		f.Fatal(err)
	}
	if err := w.Add(0, syntheticRuns()[0]); err != nil {
		f.Fatal(err)
	}
	w.feed.write()
	text, err := os.ReadFile(filepath.Join(dir, stageDir, feedFile))
	if err != nil {
		f.Fatal(err)
	}
	if err := w.Discard(); err != nil {
		f.Fatal(err)
	}
	l := &Live{}
	if err := l.read("", text); err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[frameHead:])
	f.Fuzz(func(t *testing.T, text []byte) {
		l := &Live{}
		_ = l.read("feed", text)
		// Frames with a right checksum, whatever they hold.
		var sealed feed
		sealed.coder = state.Writing(&sealed.frames)
		for len(text) > 0 {
			n := min(len(text), 1+int(text[0]))
			start := sealed.frames.Len()
			sealed.frames.Write(make([]byte, frameHead))
			sealed.frames.Write(text[:n])
			sealed.close(start)
			text = text[n:]
		}
		_ = l.read("feed", sealed.frames.Bytes())
	})
}
