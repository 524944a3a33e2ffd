package rundir

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/filetest"
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
			if h > 0 && h%2 == 0 && i != 1 {
				x.Thetas = []float64{1.0 / 3 / float64(h), 1, 1e-300 * float64(i)}
			}
		}
		if runs[i].Stragglers = results.StragglersOf(runs[i].Rounds); i == 2 { // an update of an earlier round
			runs[i].Rounds[2].Thetas[0] = math.NaN()
		}
	}
	return runs
}

// addThetaRuns adds thetaRuns with their rows by device: the first with those of the measured rounds,
// the last with all.
func addThetaRuns(t *testing.T, w *Writer) {
	t.Helper()
	for i, run := range thetaRuns() {
		r := begin(t, w, i, run)
		for h := range run.Rounds[1:] {
			var rows []results.DeviceRow
			for d, theta := range append([]float64{math.NaN(), math.NaN(), math.NaN()}[:3-len(run.Rounds[h+1].Thetas)],
				run.Rounds[h+1].Thetas...) {
				row := results.NewDeviceRow(d)
				row.Round, row.Theta = h+1, theta
				rows = append(rows, row)
			}
			if i == 2 || run.Rounds[h+1].Thetas != nil {
				if err := r.Devices(rows); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := r.End(run); err != nil {
			t.Fatal(err)
		}
	}
}

// Thetas are read back from the rows by device, of an unfinished run and of a complete one.
func TestThetasSurviveTheRunDirectory(t *testing.T) {
	t.Parallel()
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	addThetaRuns(t, w)
	stage, err := w.Stage()
	if err != nil {
		t.Fatal(err)
	}
	check := func(dir string) {
		t.Helper()
		got := readDir(t, dir)
		for range 2 {
			if err := AddClients(dir, got.Runs); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(thetaRuns(), got.Runs, sameBits); d != "" {
				t.Error(d)
			}
		}
	}
	check(stage)
	finish(t, w, Complete)
	check(w.Dir())
	path := filepath.Join(w.Dir(), runsFile)
	table := filetest.Read(t, path)
	// Device 1 never answers; device 0 has 1/6, 1/12, 1/18 in rounds 2, 4, 6.
	if lines := strings.Split(string(table), "\n"); !strings.Contains(lines[0], ",p_max,theta_max,") ||
		!strings.Contains(lines[1], ",1,0.10185185185185186,") || !strings.Contains(lines[2], ",,,5,") {
		t.Errorf("runs.csv:\n%s", table)
	}
	filetest.Write(t, path, strings.Replace(string(table), "0.10185185185185186", "0.1", 1))
	if _, err := Read(w.Dir()); err == nil ||
		!strings.Contains(err.Error(), "runs.csv: is corrupt") {
		t.Error(err)
	}
}
