package prediction

import (
	"math"
	"strings"
	"testing"

	"fedsim/internal/attemptlog"
)

// two returns a run of one round with two responses.
func two(first, second float64, taken bool) *Played {
	p := &Played{
		Attempts: []Attempt{
			{Seen: first, Compute: first / 2, Downlink: first / 4, Uplink: first / 4, Taken: true},
			{Seen: second, Compute: second / 2, Downlink: second / 4, Uplink: second / 4, Taken: taken},
		},
		Rounds: []Round{{Attempts: []int{0, 1}}},
	}
	p.finish()
	return p
}

// Errors by hand: responses of 4 and 2 s are predicted as 5 and 1 s.
func TestCompare(t *testing.T) {
	e := Compare(two(4, 2, true), two(5, 1, true))
	near(t, "makespan", e.Makespan, .25)
	near(t, "mean", e.Response.Mean, -.125)
	near(t, "MAPE", e.Response.MAPE, .375)
	near(t, "P95", e.Response.P95, .475) // interpolated
	near(t, "compute", e.Compute.MAPE, .375)
	near(t, "transfer", e.Transfer.MAPE, .375)
	near(t, "round", e.Round.MAPE, .25)
	near(t, "same sets", e.Equal, 1)
	near(t, "order", e.Order, 1)
	near(t, "staleness", e.Staleness, math.NaN())

	e = Compare(two(4, 2, true), two(2, 4, false))
	near(t, "same sets", e.Equal, 0)
	near(t, "Jaccard", e.Jaccard, .5)
	near(t, "order", e.Order, -1)

	none := two(4, 2, false)
	none.Attempts[0].Taken = false
	e = Compare(none, none)
	near(t, "Jaccard of empty sets", e.Jaccard, 1)
}

// A run that computes in half the predicted time is twice as fast.
func TestSpeed(t *testing.T) {
	near(t, "speed", Speed(two(1, 2, true), two(2, 4, true)), 2)
	near(t, "without computations", Speed(&Played{}, &Played{}), 1)
}

// Each of three repetitions is predicted by the mean of the two others.
func TestFloor(t *testing.T) {
	makespan, response := Floor([]*Played{two(2, 1, true), two(4, 1, true), two(6, 1, true)})
	for i, want := range []float64{1.5, 0, -.5} {
		near(t, "makespan", makespan[i], want)
	}
	near(t, "MAPE of responses", response.MAPE, (1.5+.5)/6)
}

// Runs are ranked by makespan, and pairs in the wrong order are named.
func TestRanking(t *testing.T) {
	checked := func(measured, predicted float64) *Checked {
		return &Checked{Measured: two(measured, 1, true), Makespans: []float64{predicted - .5, predicted + .5}}
	}
	tau, wrong := Ranking([]*Checked{checked(2, 3), checked(4, 8), checked(6, 7)})
	near(t, "tau", tau, 1.0/3)
	if len(wrong) != 1 || wrong[0] != [2]int{1, 2} {
		t.Errorf("pairs %v", wrong)
	}
	if tau, _ := Ranking([]*Checked{checked(2, 3)}); !math.IsNaN(tau) {
		t.Errorf("one run: %g", tau)
	}
}

// Runs of the same settings, messages and work repeat each other, whatever they measured.
func TestRepeats(t *testing.T) {
	run := func(settings, rows string) *attemptlog.Run { return readLog(t, settings, rows) }
	first := "0,a,10,11,taken\n0,b,10,12,taken"
	sets := Repeats([]*attemptlog.Run{
		run("", first), run("network.cells=1", first), run("", strings.ReplaceAll(first, "10,", "7,")), run("", "0,a,10,11,taken"),
	})
	if len(sets) != 1 || len(sets[0]) != 2 || sets[0][1] != 2 {
		t.Errorf("sets %v", sets)
	}
}
