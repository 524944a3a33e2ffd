package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/internal/tools/filetest"
	"fedsim/results"
)

// Stages of one scenario make one run directory, in the order of the scenario.
func TestUnion(t *testing.T) {
	root := t.TempDir()
	runs := syntheticRuns()[:3]
	about := resumable()
	about.Runs = 3
	stage := func(name string, started time.Time, finished, underWay []int) *Stage {
		t.Helper()
		of := about
		of.Started = started
		dir := filepath.Join(root, name)
		w := create(t, dir, false, of)
		for _, i := range underWay {
			record := startRun(w, i, runs[i])
			for _, r := range runs[i].Rounds[:2] {
				record(r)
			}
		}
		for _, i := range finished {
			if err := add(w, i, runs[i]); err != nil {
				t.Fatal(err)
			}
		}
		flush(t, w)
		s, err := ReadStage(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := StatStage(dir); err != nil || info.Size() == 0 {
			t.Errorf("%v, %v", info, err)
		}
		if err := w.Suspend(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	early, late := time.Unix(1e9, 0), time.Unix(2e9, 0)
	last, first := stage("last", late, []int{2}, nil), stage("first", early, nil, []int{0, 2})
	look := func(writing bool) *Live {
		t.Helper()
		first.Writing = writing
		l, err := Union(about, []*Stage{last, first})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := look(true)
	if l.Status != Writing || l.Manifest.State != Running || l.Total != 3 || !l.Manifest.Clock.Started.Equal(early) ||
		l.Manifest.Data != about.Data {
		t.Errorf("%+v", l)
	}
	var got []string
	for _, r := range l.Runs {
		got = append(got, r.ID+" "+string(r.Status))
	}
	if want := []string{runs[0].ID + " " + string(results.UnderWay),
		runs[2].ID + " " + string(runs[2].Status)}; !slices.Equal(got, want) {
		t.Errorf("%v: must be %v", got, want)
	}
	if len(l.Runs[0].Rounds) != 2 || len(l.Runs[1].Rounds) != len(runs[2].Rounds) {
		t.Errorf("%d and %d rounds", len(l.Runs[0].Rounds), len(l.Runs[1].Rounds))
	}
	if l := look(false); l.Status != Stopped || l.Manifest.State != Incomplete ||
		l.Runs[0].Status != results.Interrupted {
		t.Errorf("without a writer: %s, %s, %s", l.Status, l.Manifest.State, l.Runs[0].Status)
	}
	about.Scenario = []byte("other")
	if _, err := Union(about, []*Stage{last}); err == nil || !strings.Contains(err.Error(), "another scenario") {
		t.Errorf("another scenario: %v", err)
	}
}

// A stage is not read through links, and a missing one has another error.
func TestReadStageErrors(t *testing.T) {
	root := t.TempDir()
	if _, err := ReadStage(filepath.Join(root, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	w := create(t, filepath.Join(root, "x"), false, testAbout())
	defer w.Discard()
	link := filepath.Join(root, "link")
	if err := os.Symlink("x", link); err != nil {
		t.Skip(err)
	}
	if _, err := ReadStage(link); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("a link: %v", err)
	}
	filetest.Write(t, filepath.Join(root, "x", stageDir, logFile), "{}\n")
	if _, err := ReadStage(filepath.Join(root, "x")); err == nil || !strings.Contains(err.Error(), "is corrupt") {
		t.Errorf("a corrupt log: %v", err)
	}
}
