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
	p := &plan.Plan{Items: []plan.Item{{ID: "need", Kind: experiment.KindOptimum, Cost: plan.Cost{TimeS: 60, MemoryBytes: 1 << 30}}}}
	s := &work.State{Items: []work.Item{{ID: "need", Condition: work.Waiting}}}
	for i, x := range times {
		id := fmt.Sprintf("group %d", i)
		p.Items = append(p.Items, plan.Item{ID: id, Kind: experiment.KindRuns, Of: []string{id}, Cost: plan.Cost{TimeS: x, MemoryBytes: float64(i) * (100 << 20)}})
		s.Items = append(s.Items, work.Item{ID: id, Condition: work.Waiting})
	}
	return p, s
}

func TestLook(t *testing.T) {
	p, s := example(400, 300, 200, 100) // parts: 0; 1; 2 and 3
	m := Look(p, s, 3)
	if m.Groups != 4 || !slices.Equal(m.Parts, []int{1, 2, 3}) || m.TimeS != 1060 || m.Running != 0 || m.Failed != nil {
		t.Errorf("%+v", m)
	}
	var j Job
	m.Fit(&j)
	// 10 min + 2 (400 s + 60 s); 256 MiB + 1.5 GiB.
	if j.Parts != "1,2,3/3" || j.Tasks != 3 || j.Minutes != 26 || j.MemoryMiB != 256+1536 {
		t.Errorf("%+v", j)
	}

	for i, c := range []work.Condition{work.Done, work.Done, work.Running, work.Failed, work.Done} {
		s.Items[i].Condition = c
	}
	m = Look(p, s, 3)
	if m.Groups != 2 || !slices.Equal(m.Parts, []int{2, 3}) || m.TimeS != 500 || m.Running != 1 || !slices.Equal(m.Failed, []string{"group 2"}) {
		t.Errorf("%+v", m)
	}
	m.Fit(&j)
	// 10 min + 2 x 300 s; 256 MiB + 1.5 x 200 MiB.
	if j.Parts != "2,3/3" || j.Tasks != 2 || j.Minutes != 20 || j.MemoryMiB != 256+300 {
		t.Errorf("%+v", j)
	}

	for i := range s.Items {
		s.Items[i].Condition = work.Done
	}
	s.Items[0].Condition = work.Waiting // nobody needs it any more
	if m = Look(p, s, 3); m.Groups != 0 || m.Parts != nil || m.TimeS != 0 {
		t.Errorf("%+v", m)
	}
}

// Without a number of parts, a part takes at most about five minutes.
func TestParts(t *testing.T) {
	for _, test := range []struct {
		groups int
		each   float64
		want   int
	}{
		{5000, 0.01, 1}, {5000, 0.3, 5}, {40, 3600, 40}, {5000, 3600, 1000}, {1, 1e6, 1}, {3, 0, 1},
	} {
		p, s := example(slices.Repeat([]float64{test.each}, test.groups)...)
		if m := Look(p, s, 0); m.Of != test.want || len(m.Parts) != test.want {
			t.Errorf("%d groups of %g s: %d of %d parts", test.groups, test.each, len(m.Parts), m.Of)
		}
	}
	// There are no parts without groups.
	p, s := example(1, 1)
	if m := Look(p, s, 99_999_999_999); m.Of != 2 || !slices.Equal(m.Parts, []int{1, 2}) {
		t.Errorf("%+v", m)
	}
}
