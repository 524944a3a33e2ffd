package work

import (
	"cmp"
	"math"
	"slices"

	"fedsim/experiment"
	"fedsim/internal/clusters/plan"
	"fedsim/results"
)

// Condition is the condition of a group or a prerequisite.
type Condition string

const (
	Failed  Condition = "failed"  // its last worker failed; nobody works on it
	Running Condition = "running" // a worker works on it
	Stopped Condition = "stopped" // it is unfinished, and nobody works on it
	Waiting Condition = "waiting" // nobody has begun it
	Done    Condition = "done"
)

// Item is the state of a group or a prerequisite.
type Item struct {
	ID        string         `json:"id"`
	Kind      string         `json:"kind"`  // "group", or the kind of the prerequisite
	About     string         `json:"about"` // first run of a group; what a prerequisite is of
	Runs      int            `json:"runs"`  // of a group
	Condition Condition      `json:"state"`
	EstimateS results.Number `json:"estimate_s"` // of the plan; null: not known
	// Of the worker: of Running.
	Host     string         `json:"host"`
	PID      int            `json:"pid"`
	Worker   string         `json:"worker"`
	Progress results.Number `json:"progress"`  // share that is done, 0 to 1
	TookS    results.Number `json:"time_s"`    // seconds of work so far
	AgeS     results.Number `json:"age_s"`     // since the last sign of life: of Running, Stopped and Failed
	WaitsFor []string       `json:"waits_for"` // IDs of prerequisites that are not done
	Reason   string         `json:"reason"`    // of Failed
}

// Counts are numbers of groups or prerequisites by condition.
type Counts struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	Stopped int `json:"stopped"`
	Failed  int `json:"failed"`
}

// State is the state of a plan directory.
type State struct {
	Kind      string         `json:"kind"` // "plan"
	Directory string         `json:"directory"`
	Scenario  string         `json:"scenario"`
	Runs      int            `json:"runs"`
	RunsDone  int            `json:"runs_done"` // in groups that are done
	Groups    Counts         `json:"groups"`
	Needs     Counts         `json:"prerequisites"`
	Workers   int            `json:"workers"` // that work now
	WorkS     results.Number `json:"work_s"`  // seconds that one worker would need; null: not known
	LeftS     results.Number `json:"left_s"`  // seconds until the workers are done; null: not known
	Items     []Item         `json:"items"`   // prerequisites, then groups, in the order of the plan
}

// Complete reports whether every group is done.
func (s *State) Complete() bool { return s.Groups.Done == s.Groups.Total }

// Stuck reports whether nothing runs and what is left has failed or needs something that has.
func (s *State) Stuck() bool {
	lost := map[string]bool{}
	for i := range s.Items { // prerequisites come before what needs them
		item := &s.Items[i]
		switch item.Condition {
		case Running:
			return false
		case Failed:
			lost[item.ID] = true
		case Stopped, Waiting:
			if !slices.ContainsFunc(item.WaitsFor, func(id string) bool { return lost[id] }) {
				return false
			}
			lost[item.ID] = true
		}
	}
	return !s.Complete()
}

// Listed returns the state with at most a number of items of each condition: of failed ones
// first, then of running, stopped and waiting ones. Counts stay.
func (s *State) Listed(most int) *State {
	few := *s
	few.Items = []Item{}
	for _, c := range []Condition{Failed, Running, Stopped, Waiting} {
		n := 0
		for i := range s.Items {
			if s.Items[i].Condition == c && n < most {
				few.Items = append(few.Items, s.Items[i])
				n++
			}
		}
	}
	return &few
}

// set sets everything that follows from Items.
func (s *State) set(measured []timing) {
	workers := map[string]bool{}
	for i := range s.Items {
		item := &s.Items[i]
		of := &s.Groups
		if item.Kind == experiment.KindOptimum || item.Kind == experiment.KindTuning {
			of = &s.Needs
		}
		of.Total++
		switch item.Condition {
		case Done:
			of.Done++
			s.RunsDone += item.Runs
		case Running:
			of.Running++
			workers[cmp.Or(item.Worker, item.ID)] = true
		case Waiting:
			of.Waiting++
		case Stopped:
			of.Stopped++
		case Failed:
			of.Failed++
		}
	}
	s.Workers = len(workers)
	s.WorkS, s.LeftS = left(s.Items, measured, s.Workers)
}

// groupKind is the Kind of groups.
const groupKind = "group"

// timing is work that was measured: its estimate, and how long it took.
type timing struct{ estimate, took float64 }

// minShare is the least share of a group at which its time so far counts as measured.
const minShare = 0.05

// left estimates the seconds that are left for one worker, and for the workers of now. The
// estimates of a plan are scaled by the measured times. Both are NaN before something was
// measured. Items that failed are not counted: no worker does them.
func left(items []Item, measured []timing, workers int) (work, wall results.Number) {
	unknown := results.Number(math.NaN())
	var rest, longest float64
	failed := false
	for i := range items {
		item := &items[i]
		size, share := weight(item), 0.0
		switch item.Condition {
		case Done:
			continue
		case Failed:
			failed = true
			continue
		case Running:
			if p := float64(item.Progress); p > 0 {
				share = min(p, 1)
			}
			if share >= minShare && item.TookS > 0 {
				measured = append(measured, timing{float64(size * share), float64(item.TookS)})
			}
		}
		size -= float64(size * share)
		rest += size
		longest = max(longest, size)
	}
	var estimate, took float64
	for _, m := range measured {
		estimate += m.estimate
		took += m.took
	}
	switch {
	case rest == 0 && !failed:
		return 0, 0
	case rest == 0 || estimate <= 0 || took <= 0:
		return unknown, unknown
	}
	scale := took / estimate
	work = results.Number(scale * rest)
	if workers == 0 {
		return work, unknown
	}
	return work, results.Number(scale * max(rest/float64(workers), longest))
}

// weight returns the estimate of an item; without one, its number of runs.
func weight(item *Item) float64 {
	if e := float64(item.EstimateS); e > 0 {
		return e
	}
	return float64(max(item.Runs, 1))
}

// items returns the items of a plan, without their state.
func items(p *plan.Plan) []Item {
	unknown := results.Number(math.NaN())
	all := make([]Item, len(p.Items))
	for i := range p.Items {
		of := &p.Items[i]
		all[i] = Item{
			ID: of.ID, Kind: of.Kind, About: of.Subject(), Runs: len(of.Runs()), EstimateS: unknown,
			Progress: unknown, TookS: unknown, AgeS: unknown, Condition: Waiting, WaitsFor: []string{},
		}
		if of.Kind == experiment.KindRuns {
			all[i].Kind = groupKind
		}
		if of.TimeS > 0 {
			all[i].EstimateS = results.Number(of.TimeS)
		}
	}
	return all
}
