// Package attribution explains how long a run took from its rows by device: what
// each round was spent on and who ended it, who held up the others and for how
// long, how much of the devices' time was waiting, and what the time would have
// been without the slowest devices or with a deadline.
//
// It reads rows and settings and simulates nothing. It must not know where the rows
// come from but the run directory, nor how a report is drawn.
package attribution

import (
	"fmt"

	"fedsim/results"
	"fedsim/scenarios"
)

// Report is what the rows by device of one run tell.
type Report struct {
	Run     *scenarios.Run
	Rounds  []Round  // in order
	Devices []Device // by number
	Classes []Class  // of the fleet, in its order; empty without one
	TimeS   float64  // virtual time at the end of the last round, seconds
	Path    Path     // sum of those of the rounds

	dir       string
	exhausted bool // a battery was empty or low in the run
}

// Explain reads the rows of a run in a run directory. The run is as the directory's
// scenario has it; see Find. An error that is results.ErrNoDevices says that the
// directory has no rows by device.
func Explain(dir string, run *scenarios.Run) (*Report, error) {
	r := &Report{Run: run, dir: dir}
	rules := newRules(run)
	err := r.eachRound(func(began float64, rows []results.DeviceRow) error {
		if r.Devices == nil {
			r.Devices = newDevices(rows)
		}
		round := rules.attribute(began, rows)
		r.Rounds = append(r.Rounds, round)
		r.TimeS = rows[0].TimeS
		r.Path.add(&round.Path)
		r.count(&round, rows)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(r.Rounds) == 0 {
		return nil, fmt.Errorf("%s: run %s ended before its first round did: there is nothing to explain", dir, run.ID)
	}
	r.classify()
	return r, nil
}

// eachRound reads the rows of the run round by round, those of a round in the order
// of devices; began is when the round before ended. The rows are used again.
func (r *Report) eachRound(each func(began float64, rows []results.DeviceRow) error) error {
	var rows []results.DeviceRow
	devices, began := 0, 0.0
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		if devices == 0 {
			devices = len(rows)
		}
		if len(rows) != devices {
			return fmt.Errorf("is damaged: round %d of run %s has rows of %d devices: must be %d", rows[0].Round, r.Run.ID, len(rows), devices)
		}
		err := each(began, rows)
		began, rows = rows[0].TimeS, rows[:0]
		return err
	}
	err := results.Devices(r.dir, func(run string, row *results.DeviceRow) error {
		if run != r.Run.ID {
			return nil
		}
		if len(rows) > 0 && rows[0].Round != row.Round {
			if err := flush(); err != nil {
				return err
			}
		}
		if row.Device != len(rows) {
			return fmt.Errorf("is damaged: round %d of run %s has device %d in the place of device %d", row.Round, run, row.Device, len(rows))
		}
		rows = append(rows, *row)
		return nil
	})
	if err != nil {
		return err
	}
	if err := flush(); err != nil {
		return fmt.Errorf("%s: devices.parquet %w", r.dir, err)
	}
	return nil
}

// Find returns the run with an id as the scenario of the run directory has it;
// empty: the first that the directory holds. unknown says what to answer when there
// is no such run.
func Find(r *results.Results, id string, unknown func(ids []string) error) (*scenarios.Run, error) {
	var ids []string
	for i := range r.Runs {
		ids = append(ids, r.Runs[i].ID)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("the directory holds no run")
	}
	if id == "" {
		id = ids[0]
	}
	known := false
	for _, have := range ids {
		known = known || have == id
	}
	if !known {
		return nil, unknown(ids)
	}
	s, err := scenarios.Parse("scenario.toml", r.Scenario, nil)
	if err != nil {
		return nil, err
	}
	for i := range s.Experiments {
		for j := range s.Experiments[i].Jobs {
			job := &s.Experiments[i].Jobs[j]
			for _, candidate := range job.Candidates {
				for _, seed := range job.Seeds {
					if run := candidate.WithSeed(seed); run.ID == id {
						return &run, nil
					}
				}
			}
		}
	}
	return nil, fmt.Errorf("scenario.toml does not have run %s, which the directory holds: it has been changed since", id)
}
