package experiment

import (
	"math"
	"slices"

	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/internal/record/ledger"
	"fedsim/mtl"
	"fedsim/results"
)

// record is the record of a run. Without rows it is empty: that of a trial, and of a run without
// a recorder.
type record struct {
	index int
	about results.Run // what is known before the run
	rows  results.Rows
	book  *ledger.Ledger // nil: no rows by device
	err   error          // the first one of the rounds
	now   results.Round  // the last round; a field, so that a round allocates nothing
}

// journal returns the journal of a run: that of the options, and the ledger of the rows by device.
func (r *runner) journal(rec *record, run *scenario.Run, devices int) federation.Journal {
	var all []federation.Journal
	if r.options.Journal != nil {
		if also := r.options.Journal(run, devices); also != nil {
			all = append(all, also)
		}
	}
	if s := &run.Settings.Run; r.options.Recorder != nil && (s.Devices || s.ThetaEvery > 0) {
		rec.book = ledger.New(devices, func(rows []results.DeviceRow) error {
			if !s.Devices && !slices.ContainsFunc(rows, func(r results.DeviceRow) bool { return !math.IsNaN(r.Theta) }) {
				return nil // a round in which theta was not measured
			}
			return rec.rows.Devices(rows)
		})
		all = append(all, rec.book)
	}
	return federation.Journals(all...)
}

// begin begins the record of a run that declares metrics.
func (r *runner) begin(rec *record, metrics []results.NamedMetric) (err error) {
	if r.options.Recorder == nil {
		return nil
	}
	rec.about.Metrics = metrics
	rec.rows, err = r.options.Recorder.Begin(rec.index, rec.about)
	return err
}

// round records a round.
func (rec *record) round(x results.Round) {
	if rec.rows == nil {
		return
	}
	rec.now = x
	if err := rec.rows.Round(&rec.now); rec.err == nil {
		rec.err = err
	}
}

// end completes the record of a run with its result.
func (rec *record) end(run *scenario.Run, out *learning.Outcome, result results.Run) error {
	if rec.rows == nil {
		return nil
	}
	if rec.book != nil && rec.book.Err() != nil {
		return rec.book.Err()
	}
	if rec.err != nil {
		return rec.err
	}
	if m := out.Model; run.Settings.Run.Model && out.Status != results.Interrupted {
		if err := rec.rows.Model(out.ModelRows, m.Cols, func(task int) []float64 { return mtl.ModelRow(m, task) }); err != nil {
			return err
		}
	}
	return rec.rows.End(result)
}
