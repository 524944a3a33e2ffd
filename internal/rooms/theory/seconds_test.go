package theory

import (
	"math"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"

	"pgregory.net/rapid"
)

// The bounds by hand: L = 2, Delta = 3, sigma^2 = 0.5, eps = 0.1, and devices of 1, 2 and 10 seconds.
func TestSecondsByHand(t *testing.T) {
	d := &Descent{L: 2, LTable: 3, Delta: 3, Noise2: 0.5, Eps: 0.1, Tau: []float64{1, 2, 10}}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		// min((5 + 2)/1, (5 + 4)/1.5, (5 + 6)/1.6)
		{"gathering of 5", d.Gathering(5, false), 6},
		{"gathering of 1", d.Gathering(1, false), 3},
		// min((5 + 1)/1, (5 + 2)/1.5, (5 + 3)/1.6)
		{"gathering of 5, begun at once", d.Gathering(5, true), 7 / 1.5},
		// L Delta/eps = 60: min(1 (60 + 300), 2/1.5 (60 + 150), 3/1.6 (60 + 100))
		{"order", d.Rennala(0.1, 5, false).Order, 280},
		// gamma noise = 0.1 x 2 x 0.5/5 = 0.02: 6/(0.1 x 0.08), of 6 s
		{"Rennala steps", d.Rennala(0.1, 5, false).Steps, 750}, {"Rennala", d.Rennala(0.1, 5, false).Seconds, 4500},
		{"Rennala with stops", d.Rennala(0.1, 5, true).Seconds, 750 * 7 / 1.5},
		{"Rennala's largest step", d.Rennala(0.1, 5, false).Step, 0.5},
		{"Rennala beyond it", d.Rennala(0.51, 5, false).Seconds, math.Inf(1)},
		{"Rennala with noise", d.Rennala(0.1, 1, false).Steps, math.Inf(1)},
		// min(1/4, 1/8, 0.1/4): 4 x 3 x 60 + 8 x 0.5 x 600 = 3120, thirds of min(5, 7/1.5, 9/1.6) s
		{"Ringmaster's largest step", d.Ringmaster(0.025, 3).Step, 0.025},
		{"Ringmaster steps", d.Ringmaster(0.025, 3).Steps, 3120},
		{"Ringmaster", d.Ringmaster(0.025, 3).Seconds, 1040 * 7 / 1.5},
		{"Ringmaster, half the step", d.Ringmaster(0.0125, 3).Steps, 6240},
		{"Ringmaster beyond it", d.Ringmaster(0.026, 3).Seconds, math.Inf(1)},
		// R = 1 + 11 + 6: 4 x 18 x 60 + 2400 = 6720
		{"asynchronous, largest step", d.Asynchronous(0.01).Step, 1.0 / 68},
		{"asynchronous", d.Asynchronous(1.0 / 68).Seconds, 6723 / 1.6},
		{"asynchronous, order", d.Asynchronous(0.01).Order, 3 / 1.6 * 160},
		// 3 x 3/0.1 (10 + 13/3 x 0.5/0.3)
		{"Ringleader", d.Ringleader().Order, 90 * (10 + 13.0/3*0.5/0.3)},
	} {
		expect.That(t, c.got == c.want || near(c.got, c.want, 1e-12), "%s: %.15g, want %.15g", c.name, c.got, c.want)
	}
	for _, s := range []Seconds{d.Rescaled(), d.Ringleader()} {
		expect.That(t, math.IsNaN(s.Steps) && math.IsNaN(s.Seconds) && math.IsNaN(s.Step), "%+v is known", s)
	}
}

// Within the time of Gathering, devices end as many gradients as they begin, whether they are in the middle of another
// or not, and without it, some do not.
func TestGatheringBoundsTheTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tau := rapid.SliceOfN(rapid.Float64Range(0.1, 10), 1, 6).Draw(t, "tau")
		slices.Sort(tau)
		n := rapid.IntRange(1, 30).Draw(t, "gradients")
		atOnce := rapid.Bool().Draw(t, "at once")
		within := (&Descent{Tau: tau}).Gathering(float64(n), atOnce)
		ended, fewest := 0, 0
		for i, tau := range tau {
			first := tau * rapid.Float64Range(0, 1).Draw(t, "at work until")
			if atOnce {
				first = 0
			}
			if i == 0 {
				fewest = int(within / tau)
			}
			ended += int(max(0, math.Floor((within-first)/tau+1e-9)))
		}
		expect.Must(t, ended >= n && (len(tau) != 1 || fewest <= n+2),
			"%d gradients in %g s of devices of %v s, want %d", ended, within, tau, n)
	})
}
