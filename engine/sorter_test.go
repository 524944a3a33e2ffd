package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"

	"pgregory.net/rapid"
)

// Random items, in groups that share their highest bits or their time, so that cells
// must be divided repeatedly.
func TestSorter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var items []item
		for range rapid.IntRange(1, 6).Draw(t, "groups") {
			at, atMask := r.Uint64(), r.Uint64()>>r.IntN(65)
			key, keyMask := r.Uint64(), r.Uint64()>>r.IntN(65)
			for range rapid.SampledFrom([]int{1, fewItems, fewItems + 1, 100, 3 * mostCells}).Draw(t, "n") {
				items = append(items, item{at: at ^ r.Uint64()&atMask, key: key ^ r.Uint64()&keyMask})
			}
		}
		got, want := make([]item, len(items)), slices.Clone(items)
		slices.SortFunc(want, func(a, b item) int {
			if a.before(b) {
				return -1
			}
			if b.before(a) {
				return 1
			}
			return 0
		})
		var s sorter
		space := newChunks()
		inPlace := slices.Clone(items)
		s.sort(got, items)
		if s.inPlace(inPlace, space); !slices.Equal(got, want) || !slices.Equal(inPlace, want) {
			t.Fatalf("%d items are not in order", len(got))
		}
		expect.Must(t, len(s.counts) == 0, "%d counts are left over", len(s.counts))
	})
}

// Each time is twice the one before: nearly all fall into the first cell.
func TestSorterOfPowers(t *testing.T) {
	var items, want []item
	for key := range uint64(100) {
		for shift := range 63 {
			items = append(items, item{at: 1 << (62 - shift), key: key})
		}
	}
	for shift := range 63 {
		for key := range uint64(100) {
			want = append(want, item{at: 1 << shift, key: key})
		}
	}
	got, inPlace := make([]item, len(items)), slices.Clone(items)
	new(sorter).sort(got, items)
	if new(sorter).inPlace(inPlace, newChunks()); !slices.Equal(got, want) || !slices.Equal(inPlace, want) {
		t.Error("the items are not in order")
	}
}
