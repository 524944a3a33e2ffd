package command

import "fedsim/analysis/explain"

// explanation is what fedsim explain has found, for scripts: docs/json.md describes
// it. Fields are added, and neither renamed nor removed.
type explanation struct {
	Run      string          `json:"run"`
	Protocol string          `json:"protocol"`
	TimeS    number          `json:"time_s"`
	Relative bool            `json:"relative"`
	Path     pathSummary     `json:"path"`
	All      totalSummary    `json:"all"`
	Targets  []reachedTarget `json:"targets"`
	Rounds   []roundSummary  `json:"rounds"`
	Devices  []deviceSummary `json:"devices"`
	Classes  []classSummary  `json:"classes"`
	WhatIf   []whatIfSummary `json:"what_if"`
}

// reachedTarget is what the run took to a target.
type reachedTarget struct {
	Metric  string      `json:"metric"`
	Target  number      `json:"target"`
	Reached bool        `json:"reached"`
	Rounds  *int        `json:"rounds"`
	TimeS   number      `json:"time_s"`
	Bytes   number      `json:"bytes"`
	EnergyJ number      `json:"energy_j"`
	Path    pathSummary `json:"path"`
}

// pathSummary is what time was spent on.
type pathSummary struct {
	DownlinkS    number `json:"downlink_s"`
	ComputeS     number `json:"compute_s"`
	UplinkS      number `json:"uplink_s"`
	WaitS        number `json:"wait_s"`
	UnavailableS number `json:"unavailable_s"`
	DepletedS    number `json:"depleted_s"`
	ClockS       number `json:"clock_s"`
	ServerS      number `json:"server_s"`
}

// roundSummary is what held up a round.
type roundSummary struct {
	Round   int           `json:"round"`
	LengthS number        `json:"length_s"`
	Cause   explain.Cause `json:"cause"`
	Device  *int          `json:"device"`
	ExcessS number        `json:"excess_s"`
	Path    pathSummary   `json:"path"`
	IdleS   number        `json:"idle_s"`
	Asked   int           `json:"selected"`
	Taken   int           `json:"taken"`
}

// totalSummary is what devices did over a run.
type totalSummary struct {
	Ended        int    `json:"ended"`
	ExcessS      number `json:"excess_s"`
	AnswerS      number `json:"response_s"`
	Asked        int    `json:"selected"`
	Taken        int    `json:"taken"`
	Dropped      int    `json:"dropped"`
	Late         int    `json:"late"`
	DownlinkS    number `json:"downlink_s"`
	ComputeS     number `json:"compute_s"`
	UplinkS      number `json:"uplink_s"`
	WaitS        number `json:"wait_s"`
	UnavailableS number `json:"unavailable_s"`
	DepletedS    number `json:"depleted_s"`
	WaitShare    number `json:"wait_share"`
}

// deviceSummary is what a device did.
type deviceSummary struct {
	Device int    `json:"device"`
	Class  string `json:"class"`
	totalSummary
}

// classSummary is what the devices of a class did.
type classSummary struct {
	Name    string `json:"name"`
	Devices int    `json:"devices"`
	totalSummary
}

// whatIfSummary is what the rounds would have taken with a change.
type whatIfSummary struct {
	Without   []int  `json:"without"`
	DeadlineS number `json:"deadline_s"`
	Protocol  string `json:"protocol"`
	TimeS     number `json:"time_s"`
	Answers   int    `json:"responses"`
	Before    int    `json:"before"`
}

func newExplanation(r *explain.Report, changes []*explain.WhatIf) explanation {
	all := r.All()
	e := explanation{
		Run: r.Run.ID, Protocol: r.Run.Settings.Federation.Protocol, TimeS: number(r.TimeS), Relative: r.Relative(),
		Path: newPathSummary(&r.Path), All: newTotalSummary(&all), Targets: []reachedTarget{},
		Rounds: []roundSummary{}, Devices: []deviceSummary{}, Classes: []classSummary{}, WhatIf: []whatIfSummary{},
	}
	for i := range r.Rounds {
		x := &r.Rounds[i]
		round := roundSummary{
			Round: x.Round, LengthS: number(x.LengthS), Cause: x.Cause, ExcessS: number(x.ExcessS),
			Path: newPathSummary(&x.Path), IdleS: number(x.IdleS), Asked: x.Selected, Taken: x.Taken,
		}
		if x.Device >= 0 {
			round.Device = &x.Device
		}
		e.Rounds = append(e.Rounds, round)
	}
	for i := range r.Targets {
		x := &r.Targets[i]
		of := reachedTarget{
			Metric: x.Metric, Target: number(x.Value), Reached: x.Reached, TimeS: number(x.Cost.TimeS),
			Bytes: number(x.Cost.Bytes), EnergyJ: number(x.Cost.EnergyJ), Path: newPathSummary(&x.Path),
		}
		if x.Reached {
			of.Rounds = &x.Cost.Rounds
		}
		e.Targets = append(e.Targets, of)
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		e.Devices = append(e.Devices, deviceSummary{d.Device, d.Class, newTotalSummary(&d.Total)})
	}
	for i := range r.Classes {
		c := &r.Classes[i]
		e.Classes = append(e.Classes, classSummary{c.Name, c.Devices, newTotalSummary(&c.Total)})
	}
	for _, w := range changes {
		e.WhatIf = append(e.WhatIf, whatIfSummary{
			append([]int{}, w.Removed...), number(w.DeadlineS), w.Protocol, number(w.TimeS), w.Responses, w.Baseline,
		})
	}
	return e
}

func newPathSummary(p *explain.Path) pathSummary {
	return pathSummary{
		number(p.DownlinkS), number(p.ComputeS), number(p.UplinkS), number(p.WaitS),
		number(p.UnavailableS), number(p.DepletedS), number(p.ClockS), number(p.ServerS),
	}
}

func newTotalSummary(t *explain.Total) totalSummary {
	return totalSummary{
		Ended: t.Ended, ExcessS: number(t.ExcessS), AnswerS: number(t.ResponseS()),
		Asked: t.Selected, Taken: t.Taken, Dropped: t.Dropped, Late: t.Late,
		DownlinkS: number(t.DownlinkS), ComputeS: number(t.ComputeS), UplinkS: number(t.UplinkS),
		WaitS: number(t.WaitS), UnavailableS: number(t.UnavailableS), DepletedS: number(t.DepletedS), WaitShare: number(t.WaitShare()),
	}
}
