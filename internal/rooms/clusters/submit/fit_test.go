package submit

import (
	"fmt"
	"slices"
	"testing"

	"fedsim/experiment"
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/rooms/clusters/work"
)

// example returns a plan of groups with the estimates, after a prerequisite of 60 s, and a
// state in which nothing is done.
func example(times ...float64) (*plan.Plan, *work.State) {
	p, s := &plan.Plan{}, &work.State{}
	add := func(id, kind string, c plan.Cost) {
		p.Items = append(p.Items, plan.Item{ID: id, Kind: kind, Cost: c})
		s.Items = append(s.Items, work.Item{ID: id, Condition: work.Waiting})
	}
	add("need", experiment.KindOptimum, plan.Cost{EstimateS: 60, MemoryBytes: 1 << 30})
	for i, x := range times {
		add(fmt.Sprintf("group %d", i), experiment.KindRuns,
			plan.Cost{EstimateS: x, MemoryBytes: float64(i) * (100 << 20)})
	}
	return p, s
}

func TestFit(t *testing.T) {
	p, s := example(400, 300, 200, 100)
	var j Job
	// 10 min + 2 (1060 s / 4 + 400 s + 60 s); 256 MiB + 1.5 GiB.
	if seconds := j.Fit(p, s, 4); seconds != 1060 || j.Tasks != 4 || j.Minutes != 35 || j.MemoryMiB != 256+1536 {
		t.Errorf("%g s: %+v", seconds, j)
	}

	for i, c := range []work.Condition{work.Done, work.Done, work.Running, work.Failed, work.Done} {
		s.Items[i].Condition = c
	}
	// 4 tasks are more than groups: 10 min + 2 (500 s / 2 + 300 s); 256 MiB + 1.5 x 200 MiB.
	if seconds := j.Fit(p, s, 4); seconds != 500 || j.Tasks != 2 || j.Minutes != 29 || j.MemoryMiB != 256+300 {
		t.Errorf("%g s: %+v", seconds, j)
	}
}

// Without a number of tasks, one takes about five minutes.
func TestTasks(t *testing.T) {
	for _, test := range []struct {
		groups int
		each   float64
		want   int
	}{
		{5000, 0.01, 1}, {5000, 0.3, 6}, {40, 3600, 40}, {5000, 3600, 1000}, {1, 1e6, 1}, {3, 0, 1},
	} {
		p, s := example(slices.Repeat([]float64{test.each}, test.groups)...)
		var j Job
		if j.Fit(p, s, 0); j.Tasks != test.want {
			t.Errorf("%d groups of %g s: %d tasks, want %d", test.groups, test.each, j.Tasks, test.want)
		}
	}
}
