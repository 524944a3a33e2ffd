package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/state"
	"fedsim/results"
)

// anyDevice draws a row by device of a round.
func anyDevice(t *rapid.T, round int) results.DeviceRow {
	number := rapid.OneOf(rapid.Float64(),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.Inf(1), math.NaN(), 1, math.SmallestNonzeroFloat64}))
	r := results.DeviceRow{Round: round, Outcome: rapid.SampledFrom(results.Outcomes).Draw(t, "outcome")}
	for _, field := range []*int{&r.Device, &r.Attempts, &r.Responses, &r.Taken, &r.Dropped, &r.Late} {
		*field = rapid.IntRange(0, math.MaxInt).Draw(t, "count")
	}
	r.Steps = rapid.Int64Range(0, math.MaxInt64).Draw(t, "steps")
	for _, field := range []*float64{&r.TimeS, &r.ResponseS, &r.DownlinkS, &r.ComputeS, &r.UplinkS, &r.PollS, &r.WaitS,
		&r.UnavailableS, &r.DepletedS, &r.Theta, &r.FLOPs, &r.BytesDown, &r.BytesUp, &r.EnergyJ} {
		*field = number.Draw(t, "number")
	}
	return r
}

// Any rows read back bit for bit, those of both tables from one log, also when the run was killed and resumed: rows
// behind the checkpoint are replaced, and those of replayed rounds are not repeated.
func TestRowsReadBack(t *testing.T) {
	racetest.Skip(t, "compares formats, which one goroutine writes")
	t.Parallel()
	root, number := t.TempDir(), 0
	run := syntheticRuns()[0]
	rapid.Check(t, func(t *rapid.T) {
		var devices [][]results.DeviceRow
		var values []results.Round
		var wantDevices []results.DeviceRow
		var wantClients []results.ClientRow
		for h := range rapid.IntRange(1, 6).Draw(t, "rounds") {
			var rows []results.DeviceRow
			for range rapid.SampledFrom([]int{0, 1, 3, 700}).Draw(t, "devices") {
				if len(rows) < 3 {
					rows = append(rows, anyDevice(t, h+1))
				} else {
					rows = append(rows, rows[len(rows)%3])
				}
			}
			devices, wantDevices = append(devices, rows), append(wantDevices, rows...)
			m := results.ClientMetric{Split: "test", Name: rapid.String().Draw(t, "name")}
			x := results.Round{Round: h, TimeS: float64(h), Client: func(k int) results.ClientFacts {
				return results.ClientFacts{Class: strings.Repeat("slow ", k), Updates: k, ComputeS: math.NaN(),
					TransferS: 0.1 * float64(k)}
			}}
			for k := range rapid.IntRange(0, 4).Draw(t, "clients") {
				m.Clients, m.Rows, m.Values = append(m.Clients, int32(k)), append(m.Rows, int32(h)),
					append(m.Values, rapid.Float64().Draw(t, "value"))
				wantClients = append(wantClients,
					results.ClientRow{Round: h, TimeS: x.TimeS, Client: k, ClientFacts: x.Client(k), Rows: h,
						Split: m.Split, Name: m.Name, Value: m.Values[k]})
			}
			if len(m.Clients) > 0 {
				x.ClientMetrics = []results.ClientMetric{m}
			}
			values = append(values, x)
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		number++
		dir := filepath.Join(root, fmt.Sprint(number))
		w, err := Create(dir, false, resumable())
		must(err)
		for range rapid.IntRange(0, 2).Draw(t, "kills") {
			saved, killed := rapid.IntRange(-1, len(devices)-1).Draw(t, "saved"),
				rapid.IntRange(0, len(devices)-1).Draw(t, "killed")
			rows := beginAgain(t, w, run)
			for h := range killed + 1 {
				must(errors.Join(rows.Round(&values[h]), rows.Devices(devices[h])))
				if h == saved {
					must(w.Save(run.ID, func(out io.Writer) error {
						code := state.Writing(out)
						rows.State(code)
						return code.Err()
					}))
				}
			}
			if rapid.Bool().Draw(t, "flushed") {
				rows.store.devices.write(rows.store)
				must(w.log.flush())
			}
			kill(t, w)
			left, err := OpenCheckpoint(dir)
			must(err)
			w, err = left.Resume(resumable(), placesOf([]results.Run{run}))
			must(err)
		}
		rows := beginAgain(t, w, run)
		for h := range devices {
			must(errors.Join(rows.Round(&values[h]), rows.Devices(devices[h])))
		}
		must(rows.End(run))
		stage, err := w.Stage()
		must(err)
		var gotDevices []results.DeviceRow
		var gotClients []results.ClientRow
		if err := Devices(stage,
			func(_ string, row *results.DeviceRow) error {
				gotDevices = append(gotDevices, *row)
				return nil
			}); !errors.Is(err, ErrNoDevices) {
			must(err)
		}
		if err := Clients(stage, "",
			func(row *results.ClientRow) error { gotClients = append(gotClients, *row); return nil }); !errors.Is(err,
			ErrNoClients) {
			must(err)
		}
		if d := cmp.Diff(wantDevices, gotDevices, sameBits); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(wantClients, gotClients, sameBits); d != "" {
			t.Fatal(d)
		}
		must(w.Discard())
		must(os.RemoveAll(dir))
	})
}

// beginAgain begins a run, and continues its rows behind its state if there is one.
func beginAgain(t *rapid.T, w *Writer, run results.Run) *rows {
	r, err := w.Begin(0, run)
	if err != nil {
		t.Fatal(err)
	}
	content, err := w.Load(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if content != nil {
		code := state.Reading(bytes.NewReader(content))
		if r.State(code); code.Err() != nil {
			t.Fatal(code.Err())
		}
	}
	return r.(*rows)
}

// When the parquet files cannot be written no run is lost: the resumed one has the same bytes.
func TestRowsOutliveAFailedFinish(t *testing.T) {
	t.Parallel()
	full := func(dir string) *Writer {
		w := create(t, dir, false, resumable())
		addDevices(t, w, syntheticRuns()[:5], 20, everyOther)
		addNamed(t, w, 5)
		return w
	}
	whole := filepath.Join(t.TempDir(), "whole")
	finish(t, full(whole), Complete)
	for _, name := range []string{roundsFile, metricsFile, devicesParquet, valuesParquet} {
		dir := filepath.Join(t.TempDir(), "run")
		w := full(dir)
		if err := os.Mkdir(filepath.Join(w.stage(), name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(Complete, End{At: testFinished}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.Discard(); err != nil {
			t.Fatal(err)
		}
		left := checkpointIn(t, dir)
		again, err := left.Resume(resumable(), placesOf(append(syntheticRuns()[:5:5], namedRun())))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(again.Runs()); n != 6 {
			t.Errorf("%d runs are left of 6", n)
		}
		finish(t, again, Complete)
		if d := cmp.Diff(tree(t, whole), tree(t, dir)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// The log of an unfinished run with rows takes at most twice the room of the parquet file.
func TestRowsTakeLittleRoom(t *testing.T) {
	t.Parallel()
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	run := syntheticRuns()[0]
	addRows(t, w, 0, run, 200)
	if err := add(w, 0, run); err != nil {
		t.Fatal(err)
	}
	flush(t, w)
	before, err := os.Stat(w.log.path)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, w, Complete)
	after, err := os.Stat(filepath.Join(w.Dir(), devicesParquet))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, then %d", before.Size(), after.Size())
	if before.Size() > 2*after.Size() {
		t.Errorf("%d bytes, more than twice %d", before.Size(), after.Size())
	}
}
