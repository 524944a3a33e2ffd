package orderstat

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "fedsim/internal/tools/rapidseed"
)

// same reports whether two numbers are equal, or both NaN.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// Order statistics are those of sorted values, with many equal ones, infinities and NaN.
func TestAgainstSorting(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 1, 2, math.NaN(), math.Inf(1), math.Inf(-1)}))
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(number, 1, 40).Draw(t, "values")
		sorted := slices.Sorted(slices.Values(values))
		n := len(values)
		k := rapid.IntRange(0, n-1).Draw(t, "k")
		if got := Nth(values, k); !same(got, sorted[k]) {
			t.Fatalf("rank %d of %v is %g", k, sorted, got)
		}
		if got, want := Median(values), (sorted[(n-1)/2]+sorted[n/2])/2; !same(got, want) {
			t.Fatalf("the median of %v is %g, must be %g", sorted, got, want)
		}
		if math.IsNaN(sorted[0]) {
			return
		}
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		at := q * float64(n-1)
		want := sorted[n-1]
		if i := int(at); i+1 < n {
			want = sorted[i] + float64((at-float64(i))*(sorted[i+1]-sorted[i]))
		}
		if got := Quantile(values, q); !same(got, want) {
			t.Fatalf("quantile %g of %v is %g, must be %g", q, sorted, got, want)
		}
	})
}
