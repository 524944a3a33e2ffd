package submit

import (
	"math"
	"time"

	"fedsim/internal/clusters/plan"
	"fedsim/internal/clusters/work"
)

// Missing describes the groups of a plan that are not done.
type Missing struct {
	Groups  int      // the number of groups that are not done
	Running int      // the number of these that a worker does
	Failed  []string // IDs of the items that failed
	TimeS   float64  // the estimate for one core, with prerequisites, in seconds

	longestS float64 // the estimate of the longest group
	needsS   float64 // the estimate of all missing prerequisites
	bytes    float64 // the most memory of an item
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

// Look finds the missing groups of a plan.
func Look(p *plan.Plan, s *work.State) *Missing {
	m := &Missing{}
	for i := range p.Items {
		it, item := &p.Items[i], &s.Items[i]
		switch item.Condition {
		case work.Done:
			continue
		case work.Failed:
			m.Failed = append(m.Failed, it.ID)
		}
		m.bytes = max(m.bytes, it.MemoryBytes)
		if it.IsNeed() {
			m.needsS += it.TimeS
			continue
		}
		if m.Groups++; item.Condition == work.Running {
			m.Running++
		}
		m.TimeS += it.TimeS
		m.longestS = max(m.longestS, it.TimeS)
	}
	if m.Groups > 0 { // else nobody needs prerequisites any more
		m.TimeS += m.needsS
	}
	return m
}

// Fit sets the number of tasks of a job, and their limits. Zero tasks are so many that one takes about
// five minutes. The time limit is ten minutes and twice the share of a task, with the longest group and
// all prerequisites; that of memory is 256 MiB and one and a half times the largest item.
func (m *Missing) Fit(j *Job, tasks int) {
	if tasks == 0 {
		tasks = int(min(math.Ceil(m.TimeS/taskTime.Seconds()), mostTasks))
	}
	j.Tasks = min(max(tasks, 1), m.Groups)
	share := m.TimeS/float64(j.Tasks) + m.longestS + m.needsS
	j.Minutes = int(math.Ceil(timeMargin.Minutes() + timeFactor*share/60))
	j.MemoryMiB = memoryMargin + int(math.Ceil(memoryFactor*m.bytes/(1<<20)))
}
