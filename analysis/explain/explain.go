// Package explain explains how long a run took from its rows by device: what
// each round was spent on and who ended it, who held up the others and for how
// long, how much of the devices' time was waiting, and what the time would have
// been without the slowest devices or with a deadline.
//
// It reads rows and settings and simulates nothing. It must not know where the rows
// come from but the run directory, nor how a report is drawn.
package explain

import (
	"fmt"
	"path/filepath"

	"fedsim/results"
	"fedsim/results/rundir"
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
	Targets []Target // set by Reach

	dir       string
	exhausted bool // a battery was empty or low in the run
}

// Target is what a run took to reach a target, and what that time was spent on.
type Target struct {
	results.Target
	Reached bool
	Cost    results.Cost
	Path    Path // sum of those of the rounds until then

	real bool // of a run on real targets
}

// Reach adds what the run took to reach targets, as its rounds tell. Those whose metric
// the run does not know are left out.
func (r *Report) AddTargets(run *results.Run, targets results.Targets) {
	for _, t := range targets {
		metric, _ := results.MetricNamed(t.Metric)
		if !metric.Known(run) {
			continue
		}
		x := Target{Target: t, real: run.Real}
		x.Cost, x.Reached = run.CostTo(t)
		for i := range r.Rounds {
			if r.Rounds[i].Round <= x.Cost.Rounds {
				x.Path.add(&r.Rounds[i].Path)
			}
		}
		r.Targets = append(r.Targets, x)
	}
}

// Read reads the rows of a run in a run directory. The run is as the directory's
// scenario has it; see Find. An error that is rundir.ErrNoDevices says that the
// directory has no rows by device.
func Read(dir string, run *scenarios.Run) (*Report, error) {
	reports, err := ReadAll(dir, []*scenarios.Run{run})
	if err != nil {
		return nil, err
	}
	if len(reports[0].Rounds) == 0 {
		return nil, fmt.Errorf("%s: run %s ended before its first round did: there is nothing to explain", dir, run.ID)
	}
	return reports[0], nil
}

// ReadAll is Explain for several runs, in one pass over the rows. The report of a
// run that ended before its first round did has neither rounds nor devices.
func ReadAll(dir string, runs []*scenarios.Run) ([]*Report, error) {
	reports := make([]*Report, len(runs))
	place := make(map[string]int, len(runs))
	for i, run := range runs {
		reports[i] = &Report{Run: run, dir: dir}
		place[run.ID] = i
	}
	err := eachRound(dir, place, func(i int, began float64, rows []results.DeviceRow) error {
		reports[i].take(began, rows)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, r := range reports {
		r.classify()
	}
	return reports, nil
}

// take attributes the next round.
func (r *Report) take(began float64, rows []results.DeviceRow) {
	if r.Devices == nil {
		r.Devices = newDevices(rows)
	}
	rules := newRules(r.Run)
	round := rules.attribute(began, rows)
	r.Rounds = append(r.Rounds, round)
	r.TimeS = rows[0].TimeS
	r.Path.add(&round.Path)
	r.count(&round, rows)
}

// eachRound reads the rows of runs round by round, those of a round in the order of
// devices. Each gets what place has for the run, when the round before ended, and the
// rows, which are used again.
func eachRound(dir string, place map[string]int, each func(run int, began float64, rows []results.DeviceRow) error) error {
	var (
		rows    []results.DeviceRow
		id      string // of the run of the last row
		devices int    // of its first round; 0: not known
		began   float64
	)
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		if devices == 0 {
			devices = len(rows)
		}
		if len(rows) != devices {
			return fmt.Errorf("is damaged: round %d of run %s has rows of %d devices: must be %d", rows[0].Round, id, len(rows), devices)
		}
		err := each(place[id], began, rows)
		began, rows = rows[0].TimeS, rows[:0]
		return err
	}
	err := rundir.Devices(dir, func(run string, row *results.DeviceRow) error {
		if _, ok := place[run]; !ok {
			return nil
		}
		if len(rows) > 0 && (run != id || rows[0].Round != row.Round) {
			if err := flush(); err != nil {
				return err
			}
		}
		if run != id {
			id, devices, began = run, 0, 0
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
		return fmt.Errorf("%s: devices.parquet %w", dir, err)
	}
	return nil
}

// Find returns the run with an id as the scenario of the run directory has it;
// empty: the first that the directory holds. unknown says what to answer when there
// is no such run.
func Find(r *rundir.Results, id string, unknown func(ids []string) error) (*scenarios.Run, error) {
	var ids []string
	for i := range r.Runs {
		ids = append(ids, r.Runs[i].ID)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s holds no run", r.Dir)
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
	runs, err := Runs(r)
	if err != nil {
		return nil, err
	}
	if run, ok := runs[id]; ok {
		return run, nil
	}
	return nil, fmt.Errorf("%s does not have run %s, which the directory holds: it has been changed since", filepath.Join(r.Dir, "scenario.toml"), id)
}

// Runs returns the runs of a run directory as its scenario has them, by ID.
func Runs(r *rundir.Results) (map[string]*scenarios.Run, error) {
	s, err := scenarios.ParseRecorded(r.Dir, r.Scenario)
	if err != nil {
		return nil, err
	}
	var jobs []*scenarios.Job
	for i := range s.Experiments {
		for k := range s.Experiments[i].Jobs {
			jobs = append(jobs, &s.Experiments[i].Jobs[k])
		}
	}
	jobOf := scenarios.JobOf(s.Experiments)
	runs := make(map[string]*scenarios.Run)
	for i := range r.Runs {
		known := &r.Runs[i]
		if place, ok := jobOf(known.ID); ok {
			if run, err := jobs[place].Find(known.ID, known.Tuned, known.Seed); err == nil {
				runs[known.ID] = &run
			}
		}
	}
	return runs, nil
}
