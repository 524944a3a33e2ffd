// Package recordtest records runs by functions, for tests.
package recordtest

import (
	"fedsim/internal/state"
	"fedsim/results"
)

// Recorder is a recorder of functions. The zero value records nothing.
type Recorder struct {
	To      results.Recorder                                     // receives everything, too; nil: none
	Rounds  func(index int, run results.Run) func(results.Round) // called when a run begins; nil: not called
	Devices func(index int, all []results.DeviceRow) error       // nil: not called
	Clients interface {                                          // of all runs; nil: none
		Write(*results.Round) error
		State(*state.Coder)
	}
	End func(index int, run results.Run) error // called before that of To; nil: not called
	Had func(id string) bool                   // nil: that of To, or none
}

// Begin returns the rows of a run.
func (r *Recorder) Begin(index int, run results.Run) (results.Rows, error) {
	x := &rows{of: r, index: index}
	if r.To != nil {
		var err error
		if x.to, err = r.To.Begin(index, run); err != nil {
			return nil, err
		}
	}
	if r.Rounds != nil {
		x.round = r.Rounds(index, run)
	}
	return x, nil
}

// Done asks Had, or To.
func (r *Recorder) Done(id string) bool {
	if r.Had != nil {
		return r.Had(id)
	}
	return r.To != nil && r.To.Done(id)
}

type rows struct {
	of    *Recorder
	index int
	to    results.Rows // nil: none
	round func(results.Round)
}

func (x *rows) Round(r *results.Round) error {
	if x.to != nil {
		if err := x.to.Round(r); err != nil {
			return err
		}
	}
	if x.round != nil {
		x.round(*r)
	}
	if x.of.Clients != nil {
		return x.of.Clients.Write(r)
	}
	return nil
}

func (x *rows) Devices(all []results.DeviceRow) error {
	if x.to != nil {
		if err := x.to.Devices(all); err != nil {
			return err
		}
	}
	if x.of.Devices != nil {
		return x.of.Devices(x.index, all)
	}
	return nil
}

func (x *rows) Model(tasks, features int, weights func(task int) []float64) error {
	if x.to != nil {
		return x.to.Model(tasks, features, weights)
	}
	return nil
}

func (x *rows) State(c *state.Coder) {
	if x.to != nil {
		x.to.State(c)
	}
	if x.of.Clients != nil {
		x.of.Clients.State(c)
	}
}

func (x *rows) End(run results.Run) error {
	if x.of.End != nil {
		if err := x.of.End(x.index, run); err != nil {
			return err
		}
	}
	if x.to != nil {
		return x.to.End(run)
	}
	return nil
}
