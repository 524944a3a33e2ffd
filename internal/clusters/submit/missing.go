package submit

import (
	"math"
	"strconv"
	"strings"
	"time"

	"fedsim/internal/clusters/plan"
	"fedsim/internal/clusters/work"
)

// Missing holds the groups of a plan that are not done, in parts of about equal time.
type Missing struct {
	Groups  int      // that are not done
	Running int      // of these, that a worker is at
	Failed  []string // IDs of the groups and prerequisites that failed
	Parts   []int    // the parts with missing groups, from 1
	Of      int      // number of parts
	TimeS   float64  // estimate for one core, with prerequisites, in seconds

	longestS float64 // estimate of the longest of the parts with all missing prerequisites
	bytes    float64 // most memory of a group or a prerequisite
}

// The sizes of tasks. An engine interrupts a worker whose time is over, and a worker
// continues what another one has begun: only an estimate of memory that is too low does harm.
const (
	taskTime     = 5 * time.Minute // at least 600 times the overhead of a task
	mostTasks    = 1000            // of an array, in Slurm by default
	timeFactor   = 2
	timeMargin   = 10 * time.Minute
	memoryFactor = 1.5
	memoryMargin = 256 // MiB
)

// Look finds the missing groups of a plan, which is divided into a number of parts; 0: so that
// a part takes at most about five minutes.
func Look(p *plan.Plan, s *work.State, parts int) *Missing {
	state := map[string]work.Condition{}
	m := &Missing{}
	for _, item := range s.Items {
		state[item.ID] = item.Condition
		if item.Condition == work.Failed {
			m.Failed = append(m.Failed, item.ID)
		}
	}
	total, needs := 0.0, 0.0
	groups := p.Groups()
	for _, g := range groups {
		total += g.TimeS
	}
	if m.Of = min(parts, max(len(groups), 1)); parts == 0 { // more parts than groups are empty
		m.Of = int(min(max(math.Ceil(total/taskTime.Seconds()), 1), float64(len(groups)), mostTasks))
	}
	for _, n := range p.Needs() {
		if state[n.ID] != work.Done {
			needs += n.TimeS
			m.bytes = max(m.bytes, n.MemoryBytes)
		}
	}
	load, missing := make([]float64, m.Of), make([]bool, m.Of)
	for i, part := range work.Parts(p, m.Of) {
		g := groups[i]
		if state[g.ID] == work.Done {
			continue
		}
		m.Groups++
		if state[g.ID] == work.Running {
			m.Running++
		}
		load[part] += g.TimeS
		missing[part] = true
		m.TimeS += g.TimeS
		m.bytes = max(m.bytes, g.MemoryBytes)
	}
	if m.Groups > 0 { // nobody needs prerequisites any more
		m.TimeS += needs
	}
	for i := range missing {
		if missing[i] {
			m.Parts = append(m.Parts, i+1)
			m.longestS = max(m.longestS, load[i]+needs)
		}
	}
	return m
}

// Fit sets the parts of a job and the limits of its tasks: twice the estimate of the longest
// part and ten minutes; one and a half times the memory of the largest group and 256 MiB.
func (m *Missing) Fit(j *Job) {
	list := make([]string, len(m.Parts))
	for i, part := range m.Parts {
		list[i] = strconv.Itoa(part)
	}
	j.Parts, j.Tasks = strings.Join(list, ",")+"/"+strconv.Itoa(m.Of), len(list)
	j.Minutes = int(math.Ceil(timeMargin.Minutes() + timeFactor*m.longestS/60))
	j.MemoryMiB = memoryMargin + int(math.Ceil(memoryFactor*m.bytes/(1<<20)))
}
