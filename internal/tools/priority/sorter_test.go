package priority

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
		var items []Item
		for range rapid.IntRange(1, 6).Draw(t, "groups") {
			at, atMask := r.Uint64(), r.Uint64()>>r.IntN(65)
			key, keyMask := r.Uint64(), r.Uint64()>>r.IntN(65)
			for range rapid.SampledFrom([]int{1, fewItems, fewItems + 1, 100, 3 * mostCells}).Draw(t, "n") {
				items = append(items, Item{At: at ^ r.Uint64()&atMask, Key: key ^ r.Uint64()&keyMask})
			}
		}
		got, want := make([]Item, len(items)), slices.Clone(items)
		slices.SortFunc(want, func(a, b Item) int {
			if a.Before(b) {
				return -1
			}
			if b.Before(a) {
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
	var items, want []Item
	for key := range uint64(100) {
		for shift := range 63 {
			items = append(items, Item{At: 1 << (62 - shift), Key: key})
		}
	}
	for shift := range 63 {
		for key := range uint64(100) {
			want = append(want, Item{At: 1 << shift, Key: key})
		}
	}
	got, inPlace := make([]Item, len(items)), slices.Clone(items)
	new(sorter).sort(got, items)
	if new(sorter).inPlace(inPlace, newChunks()); !slices.Equal(got, want) || !slices.Equal(inPlace, want) {
		t.Error("the items are not in order")
	}
}
