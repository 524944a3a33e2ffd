package rundir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/filetest"
)

// A file of another run in a directory is noticed by all that read it, and when its unfinished run is resumed. The
// other run has the same scenario but for a comment, and the same runs but for the last bit of an error.
func TestFilesOfAnotherRunAreNoticed(t *testing.T) {
	t.Parallel()
	write := func(dir string, state State, about About, last float64) {
		w := create(t, dir, false, about)
		runs := syntheticRuns()[:2]
		runs[0].Rounds[1].TrainError = last
		addAll(t, w, runs)
		finish(t, w, state)
	}
	for _, state := range []State{Complete, Incomplete} {
		dir, other := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "other")
		about := resumable()
		write(dir, state, about, 0.25)
		about.Scenario = append(about.Scenario, "# another\n"...)
		write(other, state, about, 0.25000000000000006)
		for _, name := range []string{scenarioFile, roundsFile} {
			path := filepath.Join(dir, name)
			own := filetest.Read(t, path)
			filetest.Write(t, path, filetest.Read(t, filepath.Join(other, name)))
			noticed := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.HasPrefix(err.Error(), path+": is corrupt or of another run: ") {
					t.Errorf("%s, %s: %s: %v", state, name, what, err)
				}
			}
			_, err := Read(dir)
			if noticed("read", err); state == Incomplete {
				left := checkpointIn(t, dir)
				_, err := left.Resume(resumable(), placesOf(syntheticRuns()))
				if noticed("resume", err); left.Close() != nil {
					t.Error("the directory is still locked")
				}
			}
			filetest.Write(t, path, own)
		}
		readDir(t, dir)
		if err := os.Remove(filepath.Join(dir, runsFile)); err != nil {
			t.Fatal(err)
		}
		readDir(t, dir) // nobody needs it
	}
}

// The figures of a scenario may be changed after the run, and nothing else.
func TestFiguresOfAScenarioMayChange(t *testing.T) {
	t.Parallel()
	about := testAbout()
	const text = "[run]\nrounds = 3\n[[experiment]]\nname = \"a\"\n[experiment.figure]\nx = \"time_s\"\n" +
		"[[experiment.figures]]\ny = \"gap\"\n[[experiment.axis]]\nname = \"b\"\n"
	about.Scenario = []byte(text)
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir, false, about)
	addAll(t, w, syntheticRuns()[:2])
	finish(t, w, Complete)
	for _, c := range []struct {
		old, new string
		ok       bool
	}{
		{"time_s", "round", true}, {"gap", "primal", true}, {"x = \"time_s\"\n", "", true},
		{"rounds = 3", "rounds = 4", false}, {"name = \"b\"", "name = \"c\"", false},
		{"name = \"a\"", "name = \"c\"", false},
	} {
		filetest.Write(t, filepath.Join(dir, scenarioFile), []byte(strings.Replace(text, c.old, c.new, 1)))
		if _, err := Read(dir); (err == nil) != c.ok {
			t.Errorf("%s for %s: %v", c.new, c.old, err)
		}
	}
}
