package experiment

import (
	"math"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Packed items hold each run once with its needs, and take no longer than they may.
func TestPack(t *testing.T) {
	needs := make([]Item, 2)
	for i := range needs {
		needs[i] = Item{Kind: KindOptimum, Cost: Cost{Seconds: 100}}
	}
	short := func(run int, need int) Item {
		return Item{Kind: KindRuns, Runs: []int{run}, Needs: []int{need},
			Cost: Cost{Seconds: 1.5, Bytes: 110, load: 0.5, results: 10}}
	}
	long := Item{Kind: KindRuns, Runs: []int{2}, Needs: []int{1}, Cost: Cost{Seconds: 400}}
	runs := []Item{short(0, 0), short(5, 0), short(1, 1), long, short(3, 0), short(4, 0)}
	packed := pack(needs, runs, 4)
	expect.Must(t, len(packed) == 5, "%d items: %+v", len(packed), packed)
	first := packed[2]
	expect.That(t, slices.Equal(first.Runs, []int{0, 1, 5}) && slices.Equal(first.Needs, []int{0, 1}), "%+v", first)
	if c := first.Cost; c.Seconds != 3.5 || c.Bytes != 130 { // one load, and the results of three
		t.Errorf("cost %+v", c)
	}
	expect.That(t, slices.Equal(packed[3].Runs, []int{2}) && slices.Equal(packed[4].Runs, []int{3, 4}),
		"%+v", packed[3:])
	expect.That(t, slices.Equal(runs[0].Runs, []int{0}) && len(runs[0].Needs) == 1,
		"the items were changed: %+v", runs[0])
	s := packTime(runs, 60)
	expect.That(t, s == 405.0/96, "a pack of %g s", s)
	s = packTime(runs[:1], 60)
	expect.That(t, s == 0.2, "a pack of %g s", s)
	s = packTime(runs, 0.1)
	expect.That(t, s == 0.1, "a pack of %g s", s)
}

// What one item needs is made in it. So is what several short items need, which are joined. Needs of
// more than that come first.
func TestPackMakesNeedsWhereTheyAreNeeded(t *testing.T) {
	const short, long = 0.01, 1000
	item := func(kind string, seconds float64, run int, needs ...int) Item {
		it := Item{Kind: kind, Needs: needs, Cost: Cost{Seconds: seconds}}
		if kind == KindRuns {
			it.Runs = []int{run}
		}
		return it
	}
	needs := []Item{
		item(KindOptimum, long, 0),     // 0: of tuning 1 alone
		item(KindTuning, long, 0, 0),   // 1: of run 0 alone
		item(KindOptimum, short, 0),    // 2: of runs 1 and 2, which are short
		item(KindOptimum, short, 0),    // 3: of tuning 4 alone
		item(KindTuning, long, 0, 3),   // 4: of runs 3 and 4
		item(KindOptimum, short, 0),    // 5: of runs 3 and 5, which are long
		item(KindOptimum, short, 0, 5), // 6: of run 5 and tuning 7
		item(KindTuning, long, 0, 6),   // 7: of runs 5 and 6
	}
	runs := []Item{
		item(KindRuns, short, 0, 1), item(KindRuns, short, 1, 2), item(KindRuns, short, 2, 2),
		item(KindRuns, long, 3, 4, 5), item(KindRuns, long, 4, 4), item(KindRuns, long, 5, 6, 5, 7),
		item(KindRuns, long, 6, 7),
	}
	packed := pack(needs, runs, 60)
	type summary struct {
		Kind    string
		Runs    []int
		Needs   []int
		Seconds float64
	}
	var got []summary
	for _, it := range packed {
		got = append(got, summary{it.Kind, it.Runs, it.Needs, math.Round(100*it.Cost.Seconds) / 100})
	}
	want := []summary{
		{KindTuning, nil, nil, 1000.01},    // 0: 4 with 3
		{KindOptimum, nil, nil, 0.01},      // 1: 5
		{KindOptimum, nil, []int{1}, 0.01}, // 2: 6
		{KindTuning, nil, []int{2}, 1000},  // 3: 7
		{KindRuns, []int{0}, nil, 2000.01}, // with 1 and 0
		{KindRuns, []int{1, 2}, nil, 0.03}, // with 2
		{KindRuns, []int{3}, []int{0, 1}, 1000},
		{KindRuns, []int{4}, []int{0}, 1000},
		{KindRuns, []int{5}, []int{2, 1, 3}, 1000},
		{KindRuns, []int{6}, []int{3}, 1000},
	}
	diff := cmp.Diff(want, got, cmpopts.EquateEmpty())
	expect.That(t, diff == "", "packed items (-want +got):\n%s", diff)
}

// An item is divided where its runs take much longer than their shared work.
func TestPackDivides(t *testing.T) {
	needs := []Item{{Kind: KindOptimum, Cost: Cost{Seconds: 100}}}
	many := Item{Kind: KindRuns, Needs: []int{0},
		Cost: Cost{Seconds: 0.5 + 0.1 + 30, Bytes: 1300, load: 0.5, shared: 0.1, results: 300}}
	for run := range 300 {
		many.Runs = append(many.Runs, run)
	}
	packed := pack(needs, []Item{many}, 1)[1:]
	var runs []int
	for _, g := range packed {
		runs = append(runs, g.Runs...)
		if !slices.Equal(g.Needs, []int{0}) || g.Cost.Seconds < 2 || g.Cost.Seconds > 3 || g.Cost.Bytes != 1020 {
			t.Errorf("%d runs cost %+v", len(g.Runs), g.Cost)
		}
	}
	if len(packed) != 15 || !slices.Equal(runs, many.Runs) { // each 20 times the shared 0.1 s
		t.Errorf("%d items with runs %v", len(packed), runs)
	}
	many.Cost.shared = 3
	if packed = pack(needs, []Item{many}, 1); len(packed) != 1 {
		t.Errorf("%d items that compute 3 s each", len(packed))
	}
}
