package experiment

import (
	"slices"
	"testing"
)

// Packed groups hold each run once with its needs, and take no longer than they may.
func TestPack(t *testing.T) {
	short := func(run int, need int) Group {
		return Group{Runs: []int{run}, Needs: []int{need}, Cost: Cost{Seconds: 1.5, Bytes: 110, load: 0.5, results: 10}}
	}
	groups := []Group{short(0, 7), short(5, 7), short(1, 8), {Runs: []int{2}, Cost: Cost{Seconds: 9}}, short(3, 7), short(4, 7)}
	packed := Pack(groups, 4)
	if len(packed) != 3 {
		t.Fatalf("%d groups: %+v", len(packed), packed)
	}
	first := packed[0]
	if !slices.Equal(first.Runs, []int{0, 1, 5}) || !slices.Equal(first.Needs, []int{7, 8}) {
		t.Errorf("%+v", first)
	}
	if c := first.Cost; c.Seconds != 3.5 || c.Bytes != 130 { // one load, and the results of three
		t.Errorf("cost %+v", c)
	}
	if !slices.Equal(packed[1].Runs, []int{2}) || !slices.Equal(packed[2].Runs, []int{3, 4}) {
		t.Errorf("%+v", packed[1:])
	}
	if !slices.Equal(groups[0].Runs, []int{0}) || len(groups[0].Needs) != 1 {
		t.Errorf("the groups were changed: %+v", groups[0])
	}
	if s := PackTime(groups, 60); s != 14.5/96 && s != 0.2 {
		t.Errorf("a pack of %g s", s)
	}
	if s := PackTime(groups, 0.1); s != 0.1 {
		t.Errorf("a pack of %g s", s)
	}
}

// A group is divided where its runs take much longer than what they share.
func TestPackDivides(t *testing.T) {
	many := Group{Needs: []int{3}, Cost: Cost{Seconds: 0.5 + 0.1 + 30, Bytes: 1300, load: 0.5, shared: 0.1, results: 300}}
	for run := range 300 {
		many.Runs = append(many.Runs, run)
	}
	packed := Pack([]Group{many}, 1)
	var runs []int
	for _, g := range packed {
		runs = append(runs, g.Runs...)
		if !slices.Equal(g.Needs, []int{3}) || g.Cost.Seconds < 2 || g.Cost.Seconds > 3 || g.Cost.Bytes != 1020 {
			t.Errorf("%d runs cost %+v", len(g.Runs), g.Cost)
		}
	}
	if len(packed) != 15 || !slices.Equal(runs, many.Runs) { // each 20 times the shared 0.1 s
		t.Errorf("%d groups with runs %v", len(packed), runs)
	}
	many.Cost.shared = 3
	if packed = Pack([]Group{many}, 1); len(packed) != 1 {
		t.Errorf("%d groups that compute 3 s each", len(packed))
	}
}
