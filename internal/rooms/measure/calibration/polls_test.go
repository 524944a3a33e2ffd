package calibration

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
)

// Instants are on a grid if four fifths of them are within 0.08 periods of it. Distances that are even from 0 to d
// have four fifths within 0.8 d.
func TestInstantsNearPolls(t *testing.T) {
	for most, want := range map[float64]bool{0.01: true, 0.07: true, 0.09: false, 0.12: false, 0.25: false} {
		var instants []instant
		for i := range 600 {
			_, even := math.Modf(float64(i) * math.Phi)
			instants = append(instants, instant{3 * (float64(1+i%7) + most/0.8*(2*even-1)), i % 40, i})
		}
		period, ok := findGrid(instants)
		expect.That(t, ok == want && (!ok || math.Abs(period-3) <= 0.05),
			"four fifths within %g periods: a grid of %.3f s, %t", most, period, ok)
	}
}
