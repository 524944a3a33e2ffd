package orderstat

import (
	"math"
	"slices"
	"testing"

	"fedsim/internal/tools/rng"
)

// The lowest keys are those of a sorted list, also with equal keys and without a number.
func TestLowestKeysAreTheFirstOfASortedList(t *testing.T) {
	draw := rng.New(5, rng.Sample, -1, 0)
	for n := range 300 {
		keys := make([]Keyed, n)
		for i := range keys {
			keys[i] = Keyed{math.Floor(20 * draw.Float64()), int32(i)}
			if draw.IntN(10) == 0 {
				keys[i].Key = math.NaN()
			}
		}
		sorted := slices.Clone(keys)
		slices.SortFunc(sorted, func(a, b Keyed) int {
			if a.Before(b) {
				return -1
			}
			return 1
		})
		for _, k := range []int{0, 1, n / 3, n - 1, n} {
			if k < 0 || k > n {
				continue
			}
			Split(keys, k)
			for _, x := range sorted[:k] {
				if !slices.ContainsFunc(keys[:k], func(y Keyed) bool { return y.ID == x.ID }) {
					t.Fatalf("%d of %d keys: client %d is not among them", k, n, x.ID)
				}
			}
		}
	}
}
