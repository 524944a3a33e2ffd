package experiment

import (
	"math"
	"slices"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/internal/rooms/ledger"
	"fedsim/mtl"
	"fedsim/results"
)

// record is the record of a run. Without rows it is empty: that of a trial, and of a run without
// a recorder.
type record struct {
	index     int
	about     results.Run // known before the run
	rows      results.Rows
	deviceErr func() error  // the first error of the rows by device; set with the journal
	err       error         // the first one of the rounds
	now       results.Round // the last round; a field, so that a round allocates nothing
}

// journal returns the journal of a run, whose errors the record has.
func (e *execution) journal(about *algorithms.Description) (journal federation.Journal) {
	write := func(rows []results.DeviceRow) error { return e.rec.rows.Devices(rows) }
	journal, e.rec.deviceErr = e.options.JournalOf(e.run, about, &e.setup.System, e.setup.Shape.Values(), write)
	return journal
}

// JournalOf returns the journal of a run of a method on a system, with a model of so many values: that of the options,
// and the ledger that gives the rows by device to write, if they are recorded. failed returns the first error of write.
func (o *Options) JournalOf(
	run *scenario.RunSpec, about *algorithms.Description, system *clients.System, values int,
	write func([]results.DeviceRow) error,
) (journal federation.Journal, failed func() error) {
	var all []federation.Journal
	if o.Journal != nil {
		if also := o.Journal(run, system.Clients); also != nil {
			all = append(all, also)
		}
	}
	everything := o.Recorder != nil && recordsDevices(run, about, system.Clients, system.Rows, values)
	if o.Recorder == nil || !everything && run.Settings.Run.ThetaEvery == 0 {
		return federation.Journals(all...), func() error { return nil }
	}
	book := ledger.New(system.Clients, func(rows []results.DeviceRow) error {
		measured := func(r results.DeviceRow) bool { return !math.IsNaN(r.Theta) }
		if !everything && !slices.ContainsFunc(rows, measured) {
			return nil // a round in which theta was not measured
		}
		return write(rows)
	})
	return federation.Journals(append(all, book)...), book.Err
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
func (rec *record) end(run *scenario.RunSpec, out *learning.Outcome, result results.Run) error {
	if rec.rows == nil {
		return nil
	}
	if err := rec.deviceErr(); err != nil {
		return err
	}
	if rec.err != nil {
		return rec.err
	}
	if m := out.Model; run.Settings.Run.SaveModel && out.Status != results.Interrupted {
		var space []float64
		if err := rec.rows.Model(out.ModelRows, m.Cols,
			func(task int) []float64 { return mtl.ReadRow(m, task, 0, &space) }); err != nil {
			return err
		}
	}
	return rec.rows.End(result)
}
