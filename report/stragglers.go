package report

import (
	"fmt"
	"math"
	"slices"

	"fedsim/analysis/explain"
	"fedsim/results"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// Stragglers is what the rows by device tell of a run. Seconds are virtual.
type Stragglers struct {
	Devices int       `json:"devices"`
	Waited  float64   `json:"waited"` // share of the devices' time
	Asked   float64   `json:"asked"`  // devices in a round, mean
	Taken   float64   `json:"taken"`
	Path    []float64 `json:"path"` // seconds by part, as Report.Parts
	Slowest []Holder  `json:"slowest"`
	Classes []Holder  `json:"classes"` // of the fleet; empty without one
}

// Holder is a device, or a class of devices, and how it held up the rounds.
type Holder struct {
	Name    string  `json:"name"`
	Class   string  `json:"class"`
	Devices int     `json:"devices"`
	Ended   int     `json:"ended"`    // rounds that an answer of it ended
	ExcessS float64 `json:"excess_s"` // by how much these were later than the next
	AnswerS float64 `json:"answer_s"` // mean time to an answer
	Taken   int     `json:"taken"`
	Late    int     `json:"late"`
	Dropped int     `json:"dropped"`
	Waited  float64 `json:"waited"`
	EnergyJ float64 `json:"energy_j"`
}

// shownDevices is how many devices of a run are listed.
const shownDevices = 10

// attributed is the attribution of a run with its rounds by number.
type attributed struct {
	report *explain.Report
	rounds map[int]*explain.Round
	rows   []results.Round
}

// attribute reads the rows by device in the directory of the results; nil without any. The runs are in order; nil for
// one that ended before its first round did.
func attribute(dir string, found *rundir.Results) ([]*attributed, error) {
	if !found.Manifest.HasDevices() {
		return nil, nil
	}
	known, err := explain.Runs(found)
	if err != nil {
		return nil, err
	}
	runs := make([]*scenarios.Run, len(found.Runs))
	for i := range found.Runs {
		run, ok := known[found.Runs[i].ID]
		if !ok {
			return nil, fmt.Errorf("%s: scenario.toml does not have run %s: it has been changed since", dir, found.Runs[i].ID)
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
		t := &attributed{report: r, rounds: make(map[int]*explain.Round, len(r.Rounds)), rows: found.Runs[i].Rounds}
		for k := range r.Rounds {
			t.rounds[r.Rounds[k].Round] = &r.Rounds[k]
		}
		all[i] = t
	}
	return all, nil
}

// causes are what can end a round, by the number that column cause has for it.
func causes() []string {
	var list []string
	for _, c := range explain.Causes {
		list = append(list, string(c))
	}
	return list
}

func parts() []string {
	var list []string
	for _, p := range new(explain.Path).Parts() {
		list = append(list, p.Name)
	}
	return list
}

// toldColumns are what the rows by device tell of each round: by how much the answer
// that ended it was later than the next, whose it was, the share of the devices' time
// that was waiting, what ended it, and the parts of its path in seconds.
func toldColumns(told []*attributed) []column {
	of := func(name string, value func(t *attributed, x *explain.Round) float64) column {
		return column{name, 32, func(run, row int) float64 {
			if t := told[run]; t != nil {
				if x := t.rounds[t.rows[row].Round]; x != nil && row > 0 {
					return value(t, x)
				}
			}
			return math.NaN()
		}}
	}
	columns := []column{
		of("excess_s", func(_ *attributed, x *explain.Round) float64 { return x.ExcessS }),
		of("device", func(_ *attributed, x *explain.Round) float64 { return float64(x.Device) }),
		of("idle", func(t *attributed, x *explain.Round) float64 {
			return x.IdleS / (x.LengthS * float64(len(t.report.Devices)))
		}),
		of("cause", func(_ *attributed, x *explain.Round) float64 {
			return float64(slices.Index(explain.Causes, x.Cause))
		}),
	}
	for i := range parts() {
		columns = append(columns, of(fmt.Sprintf("path_%d", i), func(_ *attributed, x *explain.Round) float64 { return x.Path.Parts()[i].S }))
	}
	return columns
}

// stragglers sums a run up.
func (t *attributed) stragglers() *Stragglers {
	r := t.report
	all := r.All()
	rounds := float64(len(r.Rounds))
	s := &Stragglers{
		Devices: len(r.Devices), Waited: all.WaitShare(), Asked: float64(all.Selected) / rounds, Taken: float64(all.Taken) / rounds,
		Slowest: []Holder{}, Classes: []Holder{},
	}
	for _, p := range r.Path.Parts() {
		s.Path = append(s.Path, p.S)
	}
	for _, d := range r.Stragglers()[:min(shownDevices, len(r.Devices))] {
		x := &r.Devices[d]
		s.Slowest = append(s.Slowest, newHolder(fmt.Sprint(x.Device), x.Class, 1, &x.Total))
	}
	for i := range r.Classes {
		c := &r.Classes[i]
		s.Classes = append(s.Classes, newHolder(c.Name, "", c.Devices, &c.Total))
	}
	return s
}

func newHolder(name, class string, devices int, t *explain.Total) Holder {
	return Holder{
		Name: name, Class: class, Devices: devices, Ended: t.Ended, ExcessS: t.ExcessS, AnswerS: t.ResponseS(),
		Taken: t.Taken, Late: t.Late, Dropped: t.Dropped, Waited: t.WaitShare(), EnergyJ: t.EnergyJ,
	}
}
