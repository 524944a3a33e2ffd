package work

import (
	"cmp"
	"fmt"
	"math"

	"fedsim/experiment"
	"fedsim/internal/rooms/clusters/plan"
)

// Condition is the condition of an item.
type Condition string

const (
	Failed  Condition = "failed"  // its last worker failed, or what it needs has; nobody works on it
	Running Condition = "running" // a worker works on it
	Stopped Condition = "stopped" // it was begun, and nobody works on it
	Waiting Condition = "waiting" // nobody has begun it
	Done    Condition = "done"
)

// Item is the state of an item of the plan.
type Item struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`  // "group", or the kind of another item
	About     string    `json:"about"` // the first run of a group; what another item is of
	Runs      int       `json:"runs"`  // the number of runs of a group
	Condition Condition `json:"state"`
	EstimateS float64   `json:"estimate_s"` // the estimate of the plan; null: not known
	// Of the last worker: of Running, Stopped and Failed.
	Host     string   `json:"host"`
	PID      int      `json:"pid"`
	Worker   string   `json:"worker"`
	Progress float64  `json:"progress"`  // the share that is done, 0 to 1
	TookS    float64  `json:"took_s"`    // seconds of work so far
	AgeS     float64  `json:"age_s"`     // seconds since the last sign of life
	WaitsFor []string `json:"waits_for"` // IDs of needed items that are not done
	Reason   string   `json:"reason"`    // why it failed
}

// Title names the runs of a group, or what another item is of.
func (i *Item) Title() string {
	if i.Runs > 1 {
		return fmt.Sprintf("%s +%d", i.About, i.Runs-1)
	}
	return i.About
}

const groupKind = "group"

// Counts are numbers of groups or prerequisites by condition.
type Counts struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	Stopped int `json:"stopped"`
	Failed  int `json:"failed"`
}

func (c *Counts) add(condition Condition) {
	c.Total++
	*map[Condition]*int{Done: &c.Done, Running: &c.Running, Waiting: &c.Waiting, Stopped: &c.Stopped,
		Failed: &c.Failed}[condition]++
}

// State is the state of a plan directory.
type State struct {
	Kind      string  `json:"kind"` // "plan"
	Directory string  `json:"directory"`
	Scenario  string  `json:"scenario"`
	Runs      int     `json:"runs"`
	RunsDone  int     `json:"runs_done"` // in groups that are done
	Groups    Counts  `json:"groups"`
	Needs     Counts  `json:"prerequisites"`
	Workers   int     `json:"workers"` // the number of workers that work now
	WorkS     float64 `json:"work_s"`  // seconds that one worker would need; null: not known
	LeftS     float64 `json:"left_s"`  // seconds until the workers are done; null: not known
	Items     []Item  `json:"items"`   // in the order of the plan: what others need comes first
}

// Complete reports whether every group is done.
func (s *State) Complete() bool { return s.Groups.Done == s.Groups.Total }

// Stuck reports whether all groups that are left have failed.
func (s *State) Stuck() bool {
	return !s.Complete() && s.Groups.Done+s.Groups.Failed == s.Groups.Total
}

// count sets everything that follows from Items. It takes the measured times of some done items.
func (s *State) count(p *plan.Plan, took map[string]float64) {
	workers := map[string]bool{}
	for i := range s.Items {
		item := &s.Items[i]
		if item.Condition == Running {
			workers[cmp.Or(item.Worker, item.ID)] = true
		}
		if p.Items[i].IsNeed() {
			s.Needs.add(item.Condition)
			continue
		}
		if s.Groups.add(item.Condition); item.Condition == Done {
			s.RunsDone += item.Runs
		}
	}
	s.Workers = len(workers)
	s.WorkS, s.LeftS = left(s.Items, took, s.Workers)
}

// minShare is the least share of an item at which its time so far counts as measured.
const minShare = 0.05

// left estimates the seconds that are left for one worker, and for the workers of now. The
// estimates of a plan are scaled by the measured times. Both are NaN before something was
// measured. Items that failed are not counted: no worker does them.
func left(items []Item, took map[string]float64, workers int) (work, wall float64) {
	unknown := math.NaN()
	var rest, longest, estimated, measured float64
	failed := false
	for i := range items {
		item := &items[i]
		size, share := item.weight(), 0.0
		switch item.Condition {
		case Done:
			if seconds := took[item.ID]; seconds > 0 {
				estimated, measured = estimated+size, measured+seconds
			}
			continue
		case Failed:
			failed = true
			continue
		case Running:
			if p := float64(item.Progress); p > 0 {
				share = min(p, 1)
			}
			if share >= minShare && item.TookS > 0 {
				estimated, measured = estimated+float64(size*share), measured+float64(item.TookS)
			}
		}
		size -= float64(size * share)
		rest += size
		longest = max(longest, size)
	}
	switch {
	case rest == 0 && !failed:
		return 0, 0
	case rest == 0 || measured <= 0:
		return unknown, unknown
	}
	scale := measured / estimated
	work = scale * rest
	if workers == 0 {
		return work, unknown
	}
	return work, scale * max(rest/float64(workers), longest)
}

// weight returns the estimate of an item; without one, its number of runs.
func (i *Item) weight() float64 {
	if e := float64(i.EstimateS); e > 0 {
		return e
	}
	return float64(max(i.Runs, 1))
}

// newItem returns an item of a plan, without its state.
func newItem(of *plan.Item) Item {
	unknown := math.NaN()
	item := Item{
		ID: of.ID, Kind: of.Kind, About: of.Subject(), Runs: len(of.Runs()), Condition: Waiting, WaitsFor: []string{},
		EstimateS: unknown, Progress: unknown, TookS: unknown, AgeS: unknown,
	}
	if of.EstimateS > 0 {
		item.EstimateS = of.EstimateS
	}
	if of.Kind == experiment.KindRuns {
		item.Kind = groupKind
	}
	return item
}
