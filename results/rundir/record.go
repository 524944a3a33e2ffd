package rundir

import (
	"path/filepath"
	"slices"
	"time"

	"fedsim/internal/tools/state"
	"fedsim/results"
)

var _ results.Recorder = (*Writer)(nil)

// rows records one run in the log of a [Writer].
type rows struct {
	of    *Writer
	index int
	store *rowStore
}

// Begin begins the record of the run at a place of the scenario.
func (w *Writer) Begin(index int, run results.Run) (results.Rows, error) {
	_ = w.log.record(func() { w.log.addBegin(index, &run) }) // ProgressErr has the error
	return w.rowsOf(index), nil
}

// rowsOf returns the rows of a run that has not ended.
func (w *Writer) rowsOf(index int) *rows {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.open {
		if r.index == index {
			return r
		}
	}
	r := &rows{w, index, newRowStore(w.log, index)}
	w.open = append(w.open, r)
	return r
}

// Done reports whether the finished run with an ID was there when the writer was opened, or was
// added since.
func (w *Writer) Done(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended.ids[id]
}

// Round records a round. It allocates nothing without values by client.
func (r *rows) Round(x *results.Round) error {
	_ = r.of.log.record(func() { r.of.log.addRound(r.index, x) }) // ProgressErr has the error
	return r.store.writeClients(x)
}

// Devices records the rows by device of a round.
func (r *rows) Devices(all []results.DeviceRow) error { return r.store.writeDevices(all) }

// Model stores the final model of the run.
func (r *rows) Model(tasks, features int, weights func(task int) []float64) error {
	return writeModel(filepath.Join(r.of.stage(), modelsDir), modelName(r.index), tasks, features, weights)
}

// State codes how far the rows are.
func (r *rows) State(c *state.Coder) { r.store.state(c) }

// End adds the run to the writer. After 1, 2, 4, 8, ... runs it makes them durable.
func (r *rows) End(run results.Run) error {
	stored, err := r.store.close()
	if err != nil {
		return err
	}
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.of.open = slices.DeleteFunc(r.of.open, func(x *rows) bool { return x == r })
	return r.of.add(&endedRun{run, r.index, stored})
}

// add adds a finished or interrupted run with its rows.
func (w *Writer) add(run *endedRun) error {
	if err := checkRun(&run.Run); err != nil {
		return err
	}
	if run.Stragglers != nil { // its thetas are in its rows
		run.Rounds = slices.Clone(run.Rounds)
		for i := range run.Rounds {
			run.Rounds[i].Thetas = nil
		}
	}
	if name := modelName(run.place); exists(filepath.Join(w.stage(), modelsDir, name)) {
		run.Model = name
	}
	if err := w.ended.add(run); err != nil {
		return err
	}
	if run.Status != results.Interrupted {
		w.fresh = append(w.fresh, run.ID)
	}
	_ = w.log.record(func() { w.log.addEnd(run) }) // ProgressErr has the error
	if n := len(w.ended.list); n&(n-1) == 0 ||
		w.about.Every > 0 && len(w.fresh) > 0 && time.Since(w.saved) >= w.about.Every {
		return w.saveFinished()
	}
	return nil
}
