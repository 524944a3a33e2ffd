package rundir

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"fedsim/internal/state"
	"fedsim/results"
)

var _ results.Recorder = (*Writer)(nil)

// rows records one run in the stage of a [Writer]: its rounds in the log of progress, its values
// by client and its rows by device in files of their own.
type rows struct {
	of      *Writer
	index   int
	run     results.Run   // of Begin
	clients *ClientWriter // nil: no metrics are declared
	devices *DeviceWriter // nil: there are no rows by device
}

// Begin begins the record of the run at a place of the scenario.
func (w *Writer) Begin(index int, run results.Run) (results.Rows, error) {
	r := w.rowsOf(index)
	r.run = run
	w.log.begin(index, &run)
	switch {
	case len(run.Metrics) == 0:
	case r.clients != nil:
		r.clients.Declare(run.Metrics)
	default:
		var err error
		if r.clients, err = w.newClients(index, run); err != nil {
			return nil, err
		}
	}
	return r, nil
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
	r := &rows{of: w, index: index}
	w.open = append(w.open, r)
	return r
}

// Done reports whether the finished run with an ID was there when the writer was opened, or was
// added since.
func (w *Writer) Done(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ids[id]
}

// Round records a round. It allocates nothing without values by client.
func (r *rows) Round(x *results.Round) error {
	r.of.log.add(r.index, x)
	if r.clients == nil {
		return nil
	}
	return r.clients.Write(x)
}

// Devices records the rows by device of a round.
func (r *rows) Devices(all []results.DeviceRow) (err error) {
	if r.devices == nil {
		if r.devices, err = r.of.newDevices(r.index, r.run); err != nil {
			return err
		}
	}
	return r.devices.Write(all)
}

// Model stores the final model of the run.
func (r *rows) Model(tasks, features int, weights func(task int) []float64) error {
	return writeModel(filepath.Join(r.of.stage(), modelsDir), modelName(r.index), tasks, features, weights)
}

// State codes how far the values by client are. Writing makes them durable.
func (r *rows) State(c *state.Coder) {
	if r.clients != nil {
		r.clients.State(c)
	}
}

// End adds the run to the writer. After 1, 2, 4, 8, ... runs it writes them to DIR/.unfinished as
// a run directory that Read accepts: all these writes together cost no more than the final one.
// With About.LogOnly it writes the log alone, which ReadLive and Take read.
func (r *rows) End(run results.Run) error {
	if err := r.close(); err != nil {
		return err
	}
	return r.of.add(r.index, run)
}

// close closes the files of the run.
func (r *rows) close() (err error) {
	w := r.of
	w.mu.Lock()
	w.open = slices.DeleteFunc(w.open, func(x *rows) bool { return x == r })
	w.mu.Unlock()
	if r.devices != nil {
		err = r.devices.Close()
	}
	if r.clients != nil {
		err = cmp.Or(err, r.clients.Close())
	}
	r.devices, r.clients = nil, nil
	return err
}

// closeRows closes the files of runs that have begun and will not end.
func (w *Writer) closeRows() {
	w.mu.Lock()
	open := slices.Clone(w.open)
	w.mu.Unlock()
	for _, r := range open {
		_ = r.close() // their runs are made again
	}
}

// add adds a finished or interrupted run.
func (w *Writer) add(index int, run results.Run) error {
	if err := checkRun(&run); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := sort.SearchInts(w.index, index)
	if at < len(w.index) && w.index[at] == index {
		return fmt.Errorf("run %q: place %d is taken by run %q", run.ID, index, w.runs[at].ID)
	}
	if w.ids[run.ID] {
		return fmt.Errorf("run %q: must be there once", run.ID)
	}
	if name := modelName(index); exists(filepath.Join(w.stage(), modelsDir, name)) {
		run.Model = name
	}
	w.index, w.runs = slices.Insert(w.index, at, index), slices.Insert(w.runs, at, run)
	w.have(run.ID)
	if run.Status != results.Interrupted {
		w.fresh = append(w.fresh, run.ID)
	}
	w.log.end(index, &run, w.sumsOf(index))
	if n := len(w.runs); n&(n-1) == 0 || w.about.Every > 0 && len(w.fresh) > 0 && time.Since(w.saved) >= w.about.Every {
		return w.checkpoint()
	}
	return nil
}

// have notes that a run is there.
func (w *Writer) have(id string) {
	if w.ids == nil {
		w.ids = map[string]bool{}
	}
	w.ids[id] = true
}
