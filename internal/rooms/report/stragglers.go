package report

import (
	"fmt"
	"math"
	"slices"

	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/explain"
	"fedsim/results"
	"fedsim/results/rundir"
)

// attribution summarizes the rows by device of a run. Seconds are virtual.
type attribution struct {
	Devices  int              `json:"devices"`
	Waited   float64          `json:"waited"`   // fraction of the time of the devices
	Selected float64          `json:"selected"` // mean number of devices in a round
	Taken    float64          `json:"taken"`
	Path     []float64        `json:"path"` // seconds by part, in the order of Report.Parts
	Slowest  []explain.Device `json:"slowest"`
	Classes  []explain.Class  `json:"classes"` // of the fleet; empty without a fleet
}

// shownDevices is the number of devices in the table of a run.
const shownDevices = 10

// attributed is the analysis of a run, with its rounds by number.
type attributed struct {
	report *explain.Report
	rounds map[int]*explain.RoundAnalysis
	rows   []results.Round
}

// attribute analyzes the runs of the results, in their order. A run without a complete
// round has nil. Without rows by device, it returns nil.
func attribute(dir string, found *rundir.Results) ([]*attributed, error) {
	if !found.Manifest.HasDevices() {
		return nil, nil
	}
	known, err := explain.Runs(found)
	if err != nil {
		return nil, err
	}
	runs := make([]*scenario.RunSpec, len(found.Runs))
	for i := range found.Runs {
		run, ok := known[found.Runs[i].ID]
		if !ok {
			return nil, fmt.Errorf("%s: scenario.toml does not define run %s: the file was changed after the run", dir, found.Runs[i].ID)
		}
		runs[i] = run
	}
	reports, err := explain.ReadAll(dir, runs)
	if err != nil {
		return nil, err
	}
	all := make([]*attributed, len(reports))
	for i, r := range reports {
		if len(r.Rounds) == 0 {
			continue
		}
		r.NameDevices(&found.Runs[i])
		t := &attributed{report: r, rounds: make(map[int]*explain.RoundAnalysis, len(r.Rounds)), rows: found.Runs[i].Rounds}
		for k := range r.Rounds {
			t.rounds[r.Rounds[k].Round] = &r.Rounds[k]
		}
		all[i] = t
	}
	return all, nil
}

// parts returns the names of the parts of a path.
func parts() []string {
	var list []string
	for _, p := range new(explain.Path).Parts() {
		list = append(list, p.Name)
	}
	return list
}

// deviceColumns returns the columns from the rows by device: excess and device of the
// response that ended a round, fraction of waiting, cause, and the parts of the path in
// seconds.
func deviceColumns(all []*attributed) []column {
	of := func(name string, value func(t *attributed, x *explain.RoundAnalysis) float64) column {
		return column{name, 32, func(run, row int) float64 {
			if t := all[run]; t != nil {
				if x := t.rounds[t.rows[row].Round]; x != nil && row > 0 {
					return value(t, x)
				}
			}
			return math.NaN()
		}}
	}
	columns := []column{
		of("excess_s", func(_ *attributed, x *explain.RoundAnalysis) float64 { return x.ExcessS }),
		of("device", func(_ *attributed, x *explain.RoundAnalysis) float64 { return float64(x.Device) }),
		of("idle", func(t *attributed, x *explain.RoundAnalysis) float64 {
			return x.IdleS / (x.LengthS * float64(len(t.report.Devices)))
		}),
		of("cause", func(_ *attributed, x *explain.RoundAnalysis) float64 {
			return float64(slices.Index(explain.Causes, x.Cause))
		}),
	}
	for i := range parts() {
		columns = append(columns, of(fmt.Sprintf("path_%d", i), func(_ *attributed, x *explain.RoundAnalysis) float64 { return x.Path.Parts()[i].S }))
	}
	return columns
}

func (t *attributed) summary() *attribution {
	r := t.report
	all := &r.All
	rounds := float64(len(r.Rounds))
	s := &attribution{
		Devices: len(r.Devices), Waited: all.WaitShare, Selected: float64(all.Selected) / rounds, Taken: float64(all.Taken) / rounds,
		Classes: r.Classes,
	}
	for _, p := range r.Path.Parts() {
		s.Path = append(s.Path, p.S)
	}
	for _, d := range r.Stragglers()[:min(shownDevices, len(r.Devices))] {
		s.Slowest = append(s.Slowest, r.Devices[d])
	}
	return s
}
