package report

import (
	"fmt"
	"math"

	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/explain"
	"fedsim/results"
	"fedsim/results/rundir"
)

// attribution summarizes the rows by device of a run.
type attribution struct {
	Waited float64   `json:"waited"` // fraction of the time of the devices
	Path   []float64 `json:"path"`   // seconds by part, in the order of Report.Parts
	Where  []float64 `json:"where"`  // likewise, of the devices in the mean where deadlines ended all rounds
	Means  bool      `json:"means"`  // they did
}

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
			return nil,
				fmt.Errorf("%s: scenario.toml does not define run %s: the file was changed after the run", dir,
					found.Runs[i].ID)
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
		t := &attributed{report: r, rounds: make(map[int]*explain.RoundAnalysis, len(r.Rounds)),
			rows: found.Runs[i].Rounds}
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

// deviceColumns returns the columns from the rows by device: the parts of the path in seconds.
func deviceColumns(all []*attributed) (columns []column) {
	for i := range parts() {
		columns = append(columns, column{fmt.Sprintf("path_%d", i), 32, func(run, row int) float64 {
			if t := all[run]; t != nil {
				if x := t.rounds[t.rows[row].Round]; x != nil && row > 0 {
					return x.Path.Parts()[i].S
				}
			}
			return math.NaN()
		}})
	}
	return columns
}

func (a *attributed) summary() *attribution {
	s := &attribution{Waited: a.report.All.WaitShare}
	for _, p := range a.report.Path.Parts() {
		s.Path = append(s.Path, p.S)
	}
	where, means := a.report.Where()
	for _, p := range where {
		s.Where = append(s.Where, p.S)
	}
	s.Means = means
	return s
}
