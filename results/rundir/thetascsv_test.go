package rundir

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/results"
)

// thetaRuns are three runs of three devices, two of them measured in every
// second round.
func thetaRuns() []results.Run {
	runs := syntheticRuns()[:3]
	for i := range runs {
		runs[i].Rounds = runs[i].Rounds[:7]
		for h := range runs[i].Rounds {
			x := &runs[i].Rounds[h]
			x.Participants, x.Dropped, x.Late = 2, 1, 0
			if h > 0 && h%2 == 0 && i != 1 {
				x.Thetas = []results.Theta{{Value: 1.0 / 3 / float64(h), Accepted: true}, {Value: 1}, {Value: 1e-300 * float64(i), Accepted: true}}
			}
		}
		runs[i].Rounds[0].Participants, runs[i].Rounds[0].Dropped = 0, 0
	}
	return runs
}

func TestThetasSurviveTheRunDirectory(t *testing.T) {
	t.Parallel()
	runs := thetaRuns()
	dir := writeDir(t, runs)
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(runs, got.Runs, sameBits); d != "" {
		t.Error(d)
	}
	text, err := os.ReadFile(filepath.Join(dir, thetasFile))
	if err != nil {
		t.Fatal(err)
	}
	if want := "run,round,device,theta,accepted\nfig1/MOCHA/3g/1,2,0,0.16666666666666666,true\nfig1/MOCHA/3g/1,2,1,1,false\nfig1/MOCHA/3g/1,2,2,0,true\n"; !strings.HasPrefix(string(text), want) {
		t.Errorf("thetas.csv begins\n%.200s\nwant\n%s", text, want)
	}
	table, err := os.ReadFile(filepath.Join(dir, runsFile))
	if err != nil {
		t.Fatal(err)
	}
	// Device 1 never answers; device 0 has 1/6, 1/12, 1/18 in rounds 2, 4, 6.
	if lines := strings.Split(string(table), "\n"); !strings.Contains(lines[0], ",p_max,theta_max,") ||
		!strings.Contains(lines[1], ",1,0.10185185185185186,") || !strings.Contains(lines[2], ",,,5,") {
		t.Errorf("runs.csv:\n%s", table)
	}
}

// A run without thetas leaves neither the file, nor the columns, nor the file of
// a run before it.
func TestWithoutThetas(t *testing.T) {
	dir := writeDir(t, thetaRuns())
	w := create(t, dir, true)
	addAll(t, w, syntheticRuns()[:2])
	finish(t, w, Complete)
	if _, err := os.Stat(filepath.Join(dir, thetasFile)); !os.IsNotExist(err) {
		t.Errorf("thetas.csv of the older run is still there: %v", err)
	}
	table, err := os.ReadFile(filepath.Join(dir, runsFile))
	if err != nil || strings.Contains(string(table), "theta_max") {
		t.Errorf("runs.csv has columns of thetas (%v)", err)
	}
	if _, err := Read(dir); err != nil {
		t.Error(err)
	}
}

func TestReadThetasNamesThePlace(t *testing.T) {
	dir := writeDir(t, thetaRuns())
	path := filepath.Join(dir, thetasFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"run", "fig1/MOCHA/3g/1,2,0", "fig1/MOCHA/3g/9,2,0", `thetas.csv:2: run = "fig1/MOCHA/3g/9": must be a run of the manifest, in its order`},
		{"round", "3g/1,2,0,", "3g/1,9,0,", `thetas.csv:2: round = "9": must be a round of rounds.csv, in its order`},
		{"no round", "3g/1,2,0,", "3g/1,two,0,", `thetas.csv:2: round = "two": must be a round`},
		{"device", "3g/1,2,1,", "3g/1,2,2,", `thetas.csv:3: device = "2": must be the next device of the round`},
		{"twice", "3g/1,2,1,1,false\n", "3g/1,2,1,1,false\nfig1/MOCHA/3g/1,2,1,1,false\n", `thetas.csv:4: device = "1": must be the next device`},
		{"more devices", "3g/1,4,2,0,true\n", "3g/1,4,2,0,true\nfig1/MOCHA/3g/1,4,3,1,false\n", `thetas.csv:8: device = "3": must be the next device of the round, of which each has one row`},
		{"fewer devices", "fig1/MOCHA/3g/1,4,2,0,true\n", "", `thetas.csv: round 4 of run "fig1/MOCHA/3g/1" has 2 devices of which 1 are accepted: must have 3 of which 2 are`},
		{"answers", "3g/1,2,1,1,false", "3g/1,2,1,1,true", `has 3 devices of which 3 are accepted: must have 3 of which 2 are`},
		{"answered", "3g/1,2,1,1,false", "3g/1,2,1,1,no", `thetas.csv:3: accepted = "no": must be true or false`},
		{"negative", "0.16666666666666666", "-1", `thetas.csv:2: theta = "-1": must be a number that is not negative`},
		{"NaN", "0.16666666666666666", "NaN", `thetas.csv:2: theta = "NaN": must be a number`},
		{"unknown, and not answered", "3g/1,2,1,1,false", "3g/1,2,1,,false", `thetas.csv:3: theta = "": must be 1: the update was not accepted`},
		{"unanswered progress", "3g/1,2,1,1,false", "3g/1,2,1,0.5,false", `thetas.csv:3: theta = "0.5": must be 1: the update was not accepted`},
		{"another value", "0.16666666666666666", "0.16", `runs.csv:2: theta_max = "0.10185185185185186": must be`},
		{"header", "theta,", "thta,", `thetas.csv:1: column 4 is "thta": must be "theta"`},
		{"absent", "remove", "", "thetas.csv"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			switch {
			case c.old == "remove":
				err = os.Remove(path)
			case !strings.Contains(string(text), c.old):
				t.Fatalf("%q is not in the file", c.old)
			default:
				err = os.WriteFile(path, []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err = Read(dir); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error  %v\nwanted %s", err, c.want)
			}
		})
	}
}

// FuzzThetas feeds the reader anything: it must not panic, and rows that it accepts
// must read the same after being written.
func FuzzThetas(f *testing.F) {
	whole := thetaRuns()
	var seed bytes.Buffer
	if err := writeThetas(&seed, whole); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Add([]byte("run,round,device,theta,accepted\nfig1/MOCHA/3g/1,0,0,1,false\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(text []byte) ([]results.Run, error) {
			runs := thetaRuns()
			for i := range runs {
				for h := range runs[i].Rounds {
					runs[i].Rounds[h].Thetas = nil
				}
			}
			return runs, readThetas("thetas.csv", bytes.NewReader(text), runs)
		}
		once, err := read(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "thetas.csv:") {
				t.Fatalf("error %q does not begin with the place", err)
			}
			return
		}
		var again bytes.Buffer
		if err := writeThetas(&again, once); err != nil {
			t.Fatal(err)
		}
		twice, err := read(again.Bytes())
		if err != nil {
			t.Fatalf("%v in %q", err, again.Bytes())
		}
		if d := cmp.Diff(once, twice, sameBits); d != "" {
			t.Fatal(d)
		}
	})
}
