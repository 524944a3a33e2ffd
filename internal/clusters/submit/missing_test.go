package submit

import (
	"fmt"
	"slices"
	"testing"

	"fedsim/experiment"
	"fedsim/internal/clusters/plan"
	"fedsim/internal/clusters/work"
)

// example returns a plan of groups with the estimates, after a prerequisite of 60 s, and a
// state in which nothing is done.
func example(times ...float64) (*plan.Plan, *work.State) {
	p, s := &plan.Plan{}, &work.State{}
	add := func(id, kind string, c plan.Cost) {
		p.Items = append(p.Items, plan.Item{ID: id, Kind: kind, Cost: c})
		s.Items = append(s.Items, work.Item{ID: id, Condition: work.Waiting})
	}
	add("need", experiment.KindOptimum, plan.Cost{TimeS: 60, MemoryBytes: 1 << 30})
	for i, x := range times {
		add(fmt.Sprintf("group %d", i), experiment.KindRuns, plan.Cost{TimeS: x, MemoryBytes: float64(i) * (100 << 20)})
	}
	return p, s
}

func TestLook(t *testing.T) {
	p, s := example(400, 300, 200, 100)
	m := Look(p, s)
	if m.Groups != 4 || m.TimeS != 1060 || m.Running != 0 || m.Failed != nil {
		t.Errorf("%+v", m)
	}
	var j Job
	m.Fit(&j, 4)
	// 10 min + 2 (1060 s / 4 + 400 s + 60 s); 256 MiB + 1.5 GiB.
	if j.Tasks != 4 || j.Minutes != 35 || j.MemoryMiB != 256+1536 {
		t.Errorf("%+v", j)
	}

	for i, c := range []work.Condition{work.Done, work.Done, work.Running, work.Failed, work.Done} {
		s.Items[i].Condition = c
	}
	m = Look(p, s)
	if m.Groups != 2 || m.TimeS != 500 || m.Running != 1 || !slices.Equal(m.Failed, []string{"group 2"}) {
		t.Errorf("%+v", m)
	}
	m.Fit(&j, 4) // more than groups
	// 10 min + 2 (500 s / 2 + 300 s); 256 MiB + 1.5 x 200 MiB.
	if j.Tasks != 2 || j.Minutes != 29 || j.MemoryMiB != 256+300 {
		t.Errorf("%+v", j)
	}

	for i := range s.Items {
		s.Items[i].Condition = work.Done
	}
	s.Items[0].Condition = work.Waiting // nobody needs it any more
	if m = Look(p, s); m.Groups != 0 || m.TimeS != 0 {
		t.Errorf("%+v", m)
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
		if Look(p, s).Fit(&j, 0); j.Tasks != test.want {
			t.Errorf("%d groups of %g s: %d tasks, want %d", test.groups, test.each, j.Tasks, test.want)
		}
	}
}
