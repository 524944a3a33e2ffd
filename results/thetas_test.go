package results

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
)

func TestStragglers(t *testing.T) {
	of := func(rounds ...[]float64) *Stragglers {
		var list []Round
		for _, x := range rounds {
			list = append(list, Round{Thetas: x})
		}
		return StragglersOf(list)
	}
	const gone = 1
	// Device 0 is stuck in 2 of 5 rounds and has a mean of (0.2 + 0.4 + 0.3)/3
	// otherwise, device 1 in 1 of 5 with (0.1 + 0.1 + 0.1 + 0.9)/4.
	a := of(nil, []float64{0.2, 0.1}, []float64{gone, 0.1}, []float64{0.4, gone}, []float64{0.3, 0.1},
		[]float64{1, 0.9})
	expect.That(t, math.Abs(a.PMax-0.4) <= 1e-15 && math.Abs(a.ThetaMax-0.3) <= 1e-15, "%+v; want 0.4 and 0.3", a)
	s := of([]float64{gone}, []float64{1.5})
	expect.That(t, s.PMax == 1 && math.IsNaN(s.ThetaMax), "without progress: %+v; want 1 and NaN", s)
	s = of(nil, nil, []float64{math.NaN()})
	expect.That(t, s == nil, "without measurements: %+v", s)
}
