package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/rng"
	"fedsim/results"
)

// deviceRows makes the rows of a run with so many devices, a slice for each round.
func deviceRows(run *results.Run, devices int) [][]results.DeviceRow {
	s := rng.New(run.Seed, rng.Synthetic, len(run.ID), devices)
	rounds := make([][]results.DeviceRow, len(run.Rounds)-1)
	for h := range rounds {
		for t := range devices {
			r := results.NewDeviceRow(t)
			r.Round, r.TimeS = h+1, run.Rounds[h+1].TimeS
			r.Outcome = results.Outcomes[s.IntN(len(results.Outcomes))]
			r.Attempts, r.Dropped, r.Late, r.Steps = s.IntN(3), s.IntN(2), s.IntN(2), int64(s.IntN(1<<40))
			if s.IntN(2) == 0 {
				r.Responses, r.Taken, r.ResponseS, r.Theta = 1, 1, s.Float64(), s.Float64()
			}
			r.DownlinkS, r.ComputeS, r.UplinkS, r.PollS, r.WaitS, r.UnavailableS, r.DepletedS = s.Float64(),
				s.Float64(), s.Float64(), s.Float64(), s.Float64(), 0, math.Copysign(0, -1)
			r.FLOPs, r.BytesDown, r.BytesUp, r.EnergyJ = 1e9*s.Float64(), 4488, 4488*s.Float64(),
				math.SmallestNonzeroFloat64
			rounds[h] = append(rounds[h], r)
		}
	}
	return rounds
}

// addDevices adds runs with their rows by device, those of run i when has(i), the
// way an experiment does: rows and runs come in any order.
func addDevices(t *testing.T, w *Writer, runs []results.Run, devices int, has func(i int) bool) {
	t.Helper()
	var group sync.WaitGroup
	for i := len(runs) - 1; i >= 0; i-- {
		group.Go(func() {
			if has(i) {
				addRows(t, w, i, runs[i], devices)
			}
			if err := add(w, i, runs[i]); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// addRows adds the rows by device of a run.
func addRows(t *testing.T, w *Writer, place int, run results.Run, devices int) {
	t.Helper()
	r, err := w.Begin(place, run)
	if err != nil {
		t.Error(err)
		return
	}
	for _, rows := range deviceRows(&run, devices) {
		if err := r.Devices(rows); err != nil {
			t.Error(err)
		}
	}
}

func everyOther(i int) bool { return i%2 == 0 }

// Rows by device read back bit for bit, in the order of the runs, from
// row groups that hold one run each; the manifest lists the file, nothing else is
// left, and the same rows make the same bytes.
func TestRowsByDeviceReadBack(t *testing.T) {
	racetest.Skip(t, "compares formats, which one goroutine writes")
	runs := syntheticRuns()
	const devices = 7
	dir := filepath.Join(t.TempDir(), "run")
	var before []byte
	for range 2 {
		w := create(t, dir, true)
		addDevices(t, w, runs, devices, everyOther)
		finish(t, w, Complete)
		now := filetest.Read(t, filepath.Join(dir, devicesParquet))
		if before != nil && !bytes.Equal(before, now) {
			t.Error("the same rows make other bytes")
		}
		before = now
	}
	type named struct {
		Run string
		Row results.DeviceRow
	}
	var want, got []named
	for i := range runs {
		for _, rows := range deviceRows(&runs[i], devices) {
			for _, r := range rows {
				if everyOther(i) {
					want = append(want, named{runs[i].ID, r})
				}
			}
		}
	}
	err := Devices(dir, func(run string, row *results.DeviceRow) error {
		got = append(got, named{run, *row})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, sameBits); d != "" {
		t.Fatal(d)
	}
	f, err := parquet.OpenFile(bytes.NewReader(before), int64(len(before)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(f.RowGroups()), (len(runs)+1)/2; got != want {
		t.Errorf("%d row groups, want one for each of %d runs", got, want)
	}
	res := readDir(t, dir)
	if got := res.Manifest.attached().own; !slices.Equal(got,
		[]string{scenarioFile, runsFile, roundsFile, devicesParquet}) {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(dir, stageDir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stage is still there: %v", err)
	}
	// Another run without them leaves none.
	w := create(t, dir, true)
	addAll(t, w, runs[:2])
	finish(t, w, Complete)
	if err := Devices(dir, nil); !errors.Is(err, ErrNoDevices) || !strings.Contains(err.Error(), "run.devices = true") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, devicesParquet)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the older rows are still there: %v", err)
	}
}

// The rows of a run that was not added are dropped, as those of runs that had not been
// finished when a scenario was stopped.
func TestRowsOfAnUnfinishedRunAreDropped(t *testing.T) {
	runs := syntheticRuns()[:3]
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	addDevices(t, w, runs[:2], 3, func(int) bool { return true })
	if err := begin(t, w, 2, runs[2]).Devices(deviceRows(&runs[2], 3)[0]); err != nil {
		t.Fatal(err)
	}
	finish(t, w, Incomplete)
	seen := map[string]int{}
	if err := Devices(w.Dir(), func(run string, _ *results.DeviceRow) error { seen[run]++; return nil }); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{runs[0].ID: 3 * 40, runs[1].ID: 3 * 40}; !cmp.Equal(seen, want) {
		t.Errorf("rows of %v, want of %v", seen, want)
	}
}

// A long run has several row groups, so that memory is bounded.
func TestLongRunsHaveSeveralRowGroups(t *testing.T) {
	racetest.Skip(t, "compares formats, which one goroutine writes")
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	run := syntheticRuns()[0]
	d := begin(t, w, 0, run)
	rows := make([]results.DeviceRow, mostRows+10)
	for t := range rows {
		rows[t] = results.NewDeviceRow(t)
	}
	if err := errors.Join(d.Devices(rows), d.End(run)); err != nil {
		t.Fatal(err)
	}
	finish(t, w, Complete)
	err := openParquet(filepath.Join(w.Dir(), devicesParquet), func(f *parquet.File) error {
		if n := len(f.RowGroups()); n != 2 || f.NumRows() != mostRows+10 {
			return fmt.Errorf("%d row groups of %d rows, want 2 of %d", n, f.NumRows(), mostRows+10)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A row allocates nothing.
func TestRowsByDeviceAllocateLittle(t *testing.T) {
	racetest.Skip(t, "counts allocations, which are more under it")
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	run := syntheticRuns()[0]
	r := begin(t, w, 0, run)
	rows := make([]results.DeviceRow, 1000)
	for t := range rows {
		rows[t] = results.NewDeviceRow(t)
	}
	var err error
	if n := testing.AllocsPerRun(100, func() { rows[0].Round++; err = r.Devices(rows) }); err != nil || n > 1 {
		t.Errorf("1000 rows allocate %g times, %v", n, err)
	}
	if err := r.End(run); err != nil {
		t.Error(err)
	}
}

// A corrupt file is an error that names the file, never a panic.
func TestCorruptRowsByDevice(t *testing.T) {
	runs := syntheticRuns()[:2]
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	addDevices(t, w, runs, 5, func(int) bool { return true })
	finish(t, w, Complete)
	path := filepath.Join(w.Dir(), devicesParquet)
	whole := filetest.Read(t, path)
	read := func(text []byte) (n int, err error) {
		filetest.Write(t, path, text)
		err = Devices(w.Dir(), func(string, *results.DeviceRow) error { n++; return nil })
		if err != nil && !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("error %q does not begin with the file", err)
		}
		return n, err
	}
	s := rng.New(1, rng.Synthetic, 0, 0)
	damages := 500
	if testing.Short() {
		damages = 50
	}
	for range damages {
		text := bytes.Clone(whole)
		for range 1 + s.IntN(3) {
			text[s.IntN(len(text))] ^= 1 << s.IntN(8)
		}
		if s.IntN(4) == 0 {
			text = text[:s.IntN(len(text))]
		}
		if n, err := read(text); err == nil && n != 2*5*40 {
			t.Errorf("%d rows and no error", n)
		}
	}
	if n, err := read(whole); err != nil || n != 2*5*40 {
		t.Errorf("whole again: %d rows, %v", n, err)
	}
}

// The rows of a thousand devices, most figures of which differ.
func BenchmarkRowsByDevice(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "run"), false, testAbout())
	if err != nil {
		b.Fatal(err)
	}
	run := syntheticRuns()[0]
	run.Rounds = run.Rounds[:2]
	rows := deviceRows(&run, 1000)[0]
	r := begin(b, w, 0, run)
	b.ReportAllocs()
	for b.Loop() {
		rows[0].Round++
		if err := r.Devices(rows); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
	if err := r.End(run); err != nil {
		b.Fatal(err)
	}
}

// Rows by device with any bit flipped are refused, also where
// the library would read other rows, or rows without end.
func TestRowsByDeviceHaveAChecksum(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir, false)
	addDevices(t, w, syntheticRuns()[:1], 2, everyOther)
	finish(t, w, Complete)
	path := filepath.Join(dir, devicesParquet)
	content := filetest.Read(t, path)
	for at := 0; at < len(content); at += 101 {
		spoilt := bytes.Clone(content)
		spoilt[at] ^= 1 << (at % 8)
		filetest.Write(t, path, spoilt)
		for _, format := range Formats {
			if err := Export(io.Discard, dir, devicesTable.name, format); err == nil ||
				err.Error() != path+": is corrupt or of another run: its checksum does not match manifest.json: "+
					"put the file of this run back, or run it again with --force" {
				t.Fatalf("flipped at %d: %v", at, err)
			}
		}
	}
}
