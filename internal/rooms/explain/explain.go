// Package explain analyzes the virtual time of a run from its rows by device: what
// each round's time was spent on, which response ended it, which devices were
// stragglers or missed deadlines and by how much, which shared links delayed rounds, and
// how much of the devices' time was waiting. It estimates the time
// without the slowest devices or with a deadline.
//
// It reads the rows by device and the resolved scenario of a run directory, and
// simulates nothing. It must not know how a report is displayed.
package explain

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"fedsim/experiment/scenario"
	"fedsim/results"
	"fedsim/results/rundir"
)

// Report is the analysis of one run. Fields are added, and never renamed in JSON or removed
// (docs/reference/json.md).
type Report struct {
	ID       string   `json:"run"`
	Protocol string   `json:"protocol"` // of rounds
	TimeS    float64  `json:"time_s"`   // virtual time at the end of the last round, seconds
	Relative bool     `json:"relative"` // times are in relative units, not seconds
	Path     Path     `json:"path"`     // sum over the rounds
	All      Total    `json:"all"`      // of all devices
	Targets  []Target `json:"targets"`  // set by AddTargets
	// likewise, by the field of each results.Declared; empty where nothing counts them
	Costs   map[string][]Cost `json:",embed"`
	Rounds  []RoundAnalysis   `json:"rounds"`  // in order
	Shared  []SharedLink      `json:"shared"`  // that delayed rounds, the worst first
	Devices []Device          `json:"devices"` // by number
	Classes []Class           `json:"classes"` // of the fleet, in its order; empty without a fleet
	WhatIf  []*WhatIf         `json:"what_if"` // estimates; the caller sets them

	Run      *scenario.RunSpec `json:"-"`
	dir      string
	depleted bool // a battery was depleted, or too low for new work, during the run
	late     *lateness
	sharing  *sharing // nil: no link is shared
}

// Target is the cost of reaching a target, and what that time was spent on.
type Target struct {
	results.Target
	results.MeanCost      // of the one run
	Path             Path `json:"path"` // sum over the rounds up to the target

	text string // metric and value for people
}

// Cost is a declared cost of the run: of a column of rounds.parquet, by what it is called.
type Cost struct {
	Column string             `json:"column"`
	Amount map[string]float64 `json:",embed"`

	label string
	value float64
}

// addCosts adds the declared costs of a run.
func (r *Report) addCosts(run *results.Run) {
	total := run.Total()
	r.Costs = map[string][]Cost{}
	for _, d := range results.AllDeclared() {
		if d.Field == "" {
			continue
		}
		list := []Cost{}
		for i := range d.Columns {
			if c := &d.Columns[i]; !c.Get(&total).IsUnknown() {
				v := c.Get(&total).Real()
				list = append(list,
					Cost{c.Name, map[string]float64{d.Amount: v}, strings.TrimPrefix(c.Label, d.Cut), v})
			}
		}
		r.Costs[d.Field] = list
	}
}

// AddTargets adds the declared costs of the run, and the cost of each target, from the rounds of the run. It skips
// targets whose metric the run does not record.
func (r *Report) AddTargets(run *results.Run, targets results.Targets) {
	r.addCosts(run)
	for _, t := range targets {
		metric, _ := run.Metric(t.Metric)
		if !metric.Known(run) {
			continue
		}
		x := Target{Target: t, MeanCost: results.MeanCostOf([]results.Run{*run}, t), text: t.Text(*run)}
		for i := range r.Rounds {
			if float64(r.Rounds[i].Round) <= x.Rounds {
				x.Path.add(&r.Rounds[i].Path)
			}
		}
		r.Targets = append(r.Targets, x)
	}
}

// Read analyzes a run of a run directory; Find returns the run. The error wraps
// rundir.ErrNoDevices if the directory has no rows by device.
func Read(dir string, run *scenario.RunSpec) (*Report, error) {
	if !run.Settings.Run.WholeRounds() {
		return nil, fmt.Errorf("%s: %w of all rounds: run.devices = true makes them", dir, rundir.ErrNoDevices)
	}
	reports, err := ReadAll(dir, []*scenario.RunSpec{run})
	if err != nil {
		return nil, err
	}
	switch none := len(reports[0].Rounds) == 0; {
	case none && run.Settings.Run.Devices == scenario.Auto:
		return nil, fmt.Errorf("%s: run %s %w of a complete round", dir, run.ID, rundir.ErrNoDevices)
	case none:
		return nil, fmt.Errorf("%s: run %s has no complete round to explain", dir, run.ID)
	}
	return reports[0], nil
}

// ReadAll analyzes several runs in one pass over the rows. The report of a run without
// rows by device of all rounds, or without a complete round, has no rounds and no devices.
func ReadAll(dir string, runs []*scenario.RunSpec) ([]*Report, error) {
	reports := make([]*Report, len(runs))
	index := make(map[string]int, len(runs))
	for i, run := range runs {
		cfg := &run.Settings.Federation
		reports[i] = &Report{Run: run, dir: dir, ID: run.ID, Protocol: cfg.Protocol, Relative: cfg.Relative()}
		if run.Settings.Run.WholeRounds() { // else rows of rounds in which theta was measured, at most
			index[run.ID] = i
		}
	}
	err := eachRound(dir, index, func(i int, startS float64, rows []results.DeviceRow) error {
		reports[i].addRound(startS, rows)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, r := range reports {
		r.finish()
	}
	return reports, nil
}

func (r *Report) addRound(startS float64, rows []results.DeviceRow) {
	if r.Devices == nil {
		r.Devices = make([]Device, len(rows))
		for client := range r.Devices {
			r.Devices[client].Device = client
		}
		r.late, r.sharing = newLateness(len(rows)), newSharing(r)
	}
	round := attribute(r.Run, startS, rows)
	r.late.add(r, &round, rows)
	if r.sharing != nil {
		r.sharing.add(&round, rows)
	}
	r.Rounds = append(r.Rounds, round)
	r.TimeS = rows[0].TimeS
	r.Path.add(&round.Path)
	r.count(&round, rows)
}

// eachRound calls each for every round of the runs in index: with the index of the
// run, the start of the round and its rows in the order of devices. The rows are
// valid until each returns.
func eachRound(dir string, index map[string]int,
	each func(run int, startS float64, rows []results.DeviceRow) error) error {
	var (
		rows    []results.DeviceRow
		id      string // run of the last row
		devices int    // number of devices in the first round; 0: not known
		startS  float64
	)
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		if devices == 0 {
			devices = len(rows)
		}
		if len(rows) != devices {
			return fmt.Errorf("is corrupt: round %d of run %s has rows of %d devices: must be %d", rows[0].Round, id,
				len(rows), devices)
		}
		err := each(index[id], startS, rows)
		startS, rows = rows[0].TimeS, rows[:0]
		return err
	}
	err := rundir.Devices(dir, func(run string, row *results.DeviceRow) error {
		if _, ok := index[run]; !ok {
			return nil
		}
		if len(rows) > 0 && (run != id || rows[0].Round != row.Round) {
			if err := flush(); err != nil {
				return err
			}
		}
		if run != id {
			id, devices, startS = run, 0, 0
		}
		if row.Device != len(rows) {
			return fmt.Errorf("is corrupt: round %d of run %s has device %d where device %d is expected", row.Round,
				run, row.Device, len(rows))
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

// Find returns a run of the directory as its scenario defines it, or the first one for an empty ID.
func Find(r *rundir.Results, id string) (*scenario.RunSpec, error) {
	if len(r.Runs) == 0 {
		return nil, fmt.Errorf("%s contains no run", r.Dir)
	}
	id = cmp.Or(id, r.Runs[0].ID)
	runs, err := Runs(r)
	if err != nil {
		return nil, err
	}
	if run, ok := runs[id]; ok {
		return run, nil
	}
	return nil,
		fmt.Errorf("%s does not define run %s of this directory: the file was changed after the run",
			filepath.Join(r.Dir, "scenario.toml"), id)
}

// Runs returns the runs of a run directory by ID, as its scenario defines them.
func Runs(r *rundir.Results) (map[string]*scenario.RunSpec, error) {
	s, err := scenario.ParseRecorded(r.Dir, r.Scenario)
	if err != nil {
		return nil, err
	}
	var jobs []*scenario.Job
	for i := range s.Experiments {
		for k := range s.Experiments[i].Jobs {
			jobs = append(jobs, &s.Experiments[i].Jobs[k])
		}
	}
	jobOf := scenario.JobOf(s.Experiments)
	runs := make(map[string]*scenario.RunSpec)
	for i := range r.Runs {
		recorded := &r.Runs[i]
		if job, ok := jobOf(recorded.ID); ok {
			if run, err := jobs[job].Find(recorded.ID, recorded.Tuned, recorded.Seed); err == nil {
				runs[recorded.ID] = &run
			}
		}
	}
	return runs, nil
}
