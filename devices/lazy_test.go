package devices

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"

	"pgregory.net/rapid"
)

// Many equal numbers are added as one after the other.
func TestPlusTimesRoundsEveryAddition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SampledFrom([]float64{0, 1, 0.3, math.Ldexp(1, -50), 1 + math.Ldexp(1, -52), 1e-9}).Draw(t, "x") *
			float64(rapid.IntRange(1, 1<<20).Draw(t, "times"))
		start := rapid.SampledFrom([]float64{0, 1, 3, 1e6, 1 << 52, 1<<53 - 1, 1<<52 + 1, 0.1}).Draw(t, "start")
		if rapid.Bool().Draw(t, "tie") { // half a place of the start
			x = (math.Nextafter(start, math.Inf(1)) - start) * (float64(rapid.IntRange(0, 9).Draw(t, "places")) + 0.5)
		}
		n, want := rapid.IntRange(0, 20_000).Draw(t, "n"), start
		for range n {
			want += x
		}
		got := plusTimes(start, x, n)
		expect.Must(t, got == want, "%v plus %d times %v is %v, want %v", start, n, x, got, want)
	})
}
