package results

import (
	"math"
	"testing"
)

func TestStragglers(t *testing.T) {
	run := func(rounds ...[]Theta) *Run {
		r := &Run{}
		for _, x := range rounds {
			r.Rounds = append(r.Rounds, Round{Thetas: x})
		}
		return r
	}
	ok := func(v float64) Theta { return Theta{v, true} }
	gone := Theta{1, false}
	// Device 0 is stuck in 2 of 5 rounds and has a mean of (0.2 + 0.4 + 0.3)/3
	// otherwise, device 1 in 1 of 5 with (0.1 + 0.1 + 0.1 + 0.9)/4.
	a := run(nil, []Theta{ok(0.2), ok(0.1)}, []Theta{gone, ok(0.1)}, []Theta{ok(0.4), gone}, []Theta{ok(0.3), ok(0.1)}, []Theta{ok(1), ok(0.9)})
	if p, theta := Stragglers(a); math.Abs(p-0.4) > 1e-15 || math.Abs(theta-0.3) > 1e-15 {
		t.Errorf("p_max = %g, Theta_max = %g; want 0.4 and 0.3", p, theta)
	}
	if p, theta := Stragglers(run([]Theta{gone}, []Theta{ok(1.5)})); p != 1 || !math.IsNaN(theta) {
		t.Errorf("without progress: p_max = %g, Theta_max = %g; want 1 and NaN", p, theta)
	}
	if p, theta := Stragglers(run(nil, nil)); !math.IsNaN(p) || !math.IsNaN(theta) {
		t.Errorf("without measurements: %g, %g; want NaN", p, theta)
	}
}
