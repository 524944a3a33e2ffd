package command

import "fedsim/internal/analysis/explain"

// explanation is the result of fedsim explain for scripts; docs/json.md describes it.
// Fields are added, and neither renamed nor removed.
type explanation struct {
	Run      string            `json:"run"`
	Protocol string            `json:"protocol"`
	TimeS    number            `json:"time_s"`
	Relative bool              `json:"relative"`
	Path     explain.Path      `json:"path"`
	All      explain.Total     `json:"all"`
	Targets  []reachedTarget   `json:"targets"`
	Rounds   []explain.Round   `json:"rounds"`
	Devices  []explain.Device  `json:"devices"`
	Classes  []explain.Class   `json:"classes"`
	WhatIf   []*explain.WhatIf `json:"what_if"`
}

// reachedTarget is what the run took to a target.
type reachedTarget struct {
	Metric  string       `json:"metric"`
	Target  number       `json:"target"`
	Reached bool         `json:"reached"`
	Rounds  *int         `json:"rounds"`
	TimeS   number       `json:"time_s"`
	Bytes   number       `json:"bytes"`
	EnergyJ number       `json:"energy_j"`
	Path    explain.Path `json:"path"`
}

func newExplanation(r *explain.Report, changes []*explain.WhatIf) explanation {
	e := explanation{
		Run: r.Run.ID, Protocol: r.Run.Settings.Federation.Protocol, TimeS: number(r.TimeS), Relative: r.Relative(),
		Path: r.Path, All: r.All(), Targets: []reachedTarget{}, Rounds: r.Rounds, Devices: r.Devices,
		Classes: append([]explain.Class{}, r.Classes...), WhatIf: append([]*explain.WhatIf{}, changes...),
	}
	for i := range r.Targets {
		x := &r.Targets[i]
		of := reachedTarget{
			Metric: x.Metric, Target: number(x.Value), Reached: x.Reached, TimeS: number(x.Cost.TimeS),
			Bytes: number(x.Cost.Bytes), EnergyJ: number(x.Cost.EnergyJ), Path: x.Path,
		}
		if x.Reached {
			of.Rounds = &x.Cost.Rounds
		}
		e.Targets = append(e.Targets, of)
	}
	return e
}
