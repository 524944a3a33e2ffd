package rundir

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/results"
)

// add adds a run whose rounds are not recorded while it runs.
func add(w *Writer, index int, run results.Run) error {
	r, err := w.Begin(index, run)
	if err != nil {
		return err
	}
	return r.End(run)
}

// begin begins a run.
func begin(t testing.TB, w *Writer, index int, run results.Run) *rows {
	t.Helper()
	r, err := w.Begin(index, run)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*rows)
}

// A run that begins again continues its rows, with further metrics; after its end the writer has
// it, and refuses it a second time.
func TestRunsThatBeginAgain(t *testing.T) {
	t.Parallel()
	run := namedRun()
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	plain := run
	plain.Metrics = nil
	first := begin(t, w, 0, plain)
	if err := first.Devices(deviceRows(&run, 2)[0]); err != nil {
		t.Fatal(err)
	}
	if again := begin(t, w, 0, run); again != first {
		t.Fatal("a run has two records")
	}
	if w.Done(run.ID) {
		t.Error("an open run is done")
	}
	for h, values := range clientValues() {
		x := run.Rounds[h]
		x.ClientMetrics, x.Client = values, clientOf(h)
		if err := first.Round(&x); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.End(run); err != nil || !w.Done(run.ID) || len(w.open) > 0 {
		t.Fatalf("done %t, %d runs open: %v", w.Done(run.ID), len(w.open), err)
	}
	if err := add(w, 1, run); err == nil || !strings.Contains(err.Error(), "must be there once") {
		t.Errorf("added twice: %v", err)
	}
	begin(t, w, 2, syntheticRuns()[1]) // it fails
	finish(t, w, Complete)
	devices, clients := 0, 0
	count := func(string, *results.DeviceRow) error { devices++; return nil }
	if err := errors.Join(Devices(w.Dir(), count),
		Clients(w.Dir(), run.ID, func(*results.ClientRow) error { clients++; return nil })); err != nil ||
		devices != 2 || clients == 0 {
		t.Errorf("%d rows by device, %d values by client: %v", devices, clients, err)
	}
}
