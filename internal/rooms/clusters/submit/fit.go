package submit

import (
	"math"
	"time"

	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/rooms/clusters/work"
)

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

// Fit sets the number of tasks of a job for the groups of a plan that are not done, and their limits. It
// returns the estimate of the work for one core, with missing prerequisites, in seconds. Zero tasks are so
// many that one takes about five minutes. The time limit is ten minutes and twice the share of a task, with
// the longest group and all missing prerequisites; that of memory is 256 MiB and one and a half times the
// largest item.
func (j *Job) Fit(p *plan.Plan, s *work.State, tasks int) (seconds float64) {
	var groups int
	var needs, longest, bytes float64
	for i := range p.Items {
		it := &p.Items[i]
		if s.Items[i].Condition == work.Done {
			continue
		}
		bytes = max(bytes, it.MemoryBytes)
		if seconds += it.EstimateS; it.IsNeed() {
			needs += it.EstimateS
			continue
		}
		groups++
		longest = max(longest, it.EstimateS)
	}
	if tasks == 0 {
		tasks = int(min(math.Ceil(seconds/taskTime.Seconds()), mostTasks))
	}
	j.Tasks = min(max(tasks, 1), groups)
	share := seconds/float64(j.Tasks) + longest + needs
	j.Minutes = int(math.Ceil(timeMargin.Minutes() + timeFactor*share/60))
	j.MemoryMiB = memoryMargin + int(math.Ceil(memoryFactor*bytes/(1<<20)))
	return seconds
}
