// Package recordtest records runs by functions, for tests.
package recordtest

import (
	"errors"

	"fedsim/internal/tools/state"
	"fedsim/results"
)

// Recorder is a recorder of functions, each of which may be nil.
type Recorder struct {
	To      results.Recorder                                     // receives everything, too; nil: nobody
	Rounds  func(index int, run results.Run) func(results.Round) // called when a run begins
	Devices func(index int, all []results.DeviceRow) error
	Clients interface { // of all runs; nil: nobody
		Write(*results.Round) error
		State(*state.Coder)
	}
	End func(index int, run results.Run) error // called before that of To
	Had func(id string) bool                   // nil: To is asked
}

// Begin returns the rows of a run.
func (r *Recorder) Begin(index int, run results.Run) (results.Rows, error) {
	x := &rows{Rows: nobody{}, of: r, index: index}
	if r.Rounds != nil {
		x.round = r.Rounds(index, run)
	}
	var err error
	if r.To != nil {
		x.Rows, err = r.To.Begin(index, run)
	}
	return x, err
}

// Done asks Had, or To.
func (r *Recorder) Done(id string) bool {
	if r.Had != nil {
		return r.Had(id)
	}
	return r.To != nil && r.To.Done(id)
}

type rows struct {
	results.Rows // of To
	of           *Recorder
	index        int
	round        func(results.Round)
}

func (ro *rows) Round(r *results.Round) error {
	err := ro.Rows.Round(r)
	if ro.round != nil {
		ro.round(*r)
	}
	if ro.of.Clients != nil {
		err = errors.Join(err, ro.of.Clients.Write(r))
	}
	return err
}

func (ro *rows) Devices(all []results.DeviceRow) error {
	err := ro.Rows.Devices(all)
	if ro.of.Devices != nil {
		err = errors.Join(err, ro.of.Devices(ro.index, all))
	}
	return err
}

func (ro *rows) State(c *state.Coder) {
	if ro.Rows.State(c); ro.of.Clients != nil {
		ro.of.Clients.State(c)
	}
}

func (ro *rows) End(run results.Run) error {
	if ro.of.End != nil {
		if err := ro.of.End(ro.index, run); err != nil {
			return err
		}
	}
	return ro.Rows.End(run)
}

// nobody receives nothing.
type nobody struct{}

func (nobody) Round(*results.Round) error                { return nil }
func (nobody) Devices([]results.DeviceRow) error         { return nil }
func (nobody) Model(int, int, func(int) []float64) error { return nil }
func (nobody) State(*state.Coder)                        {}
func (nobody) End(results.Run) error                     { return nil }
