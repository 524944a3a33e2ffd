package prediction

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/expect"
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
	p.finish(&attemptlog.Run{})
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
	none.finish(&attemptlog.Run{})
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

// A client that only some repetitions asked has no floor.
func TestFloorOfOtherClients(t *testing.T) {
	run := func(makespan float64, responses map[string]float64) *Played {
		p := &Played{Makespan: makespan}
		for _, client := range slices.Sorted(maps.Keys(responses)) {
			p.Attempts = append(p.Attempts, Attempt{Client: client, Seen: responses[client]})
		}
		return p
	}
	makespan, response :=
		Floor([]*Played{run(4, map[string]float64{"a": 3, "b": 4}), run(5, map[string]float64{"b": 5, "c": 1})})
	near(t, "makespan", makespan[0], .25)
	near(t, "MAPE of responses", response.MAPE, (.25+.2)/2)
	expect.That(t, response.N == 2, "%d errors", response.N)
}

// Runs are ranked by makespan, and pairs in the wrong order are named.
func TestReport(t *testing.T) {
	checked := func(name string, measured, predicted float64) *Checked {
		return &Checked{Name: name, MeasuredS: measured, PredictedS: predicted,
			Calibrated: Errors{Makespan: predicted/measured - 1, Response: Spread{MAPE: .5, P95: 1}}}
	}
	one, two, three := checked("one", 2, 3), checked("two", 4, 8), checked("three", 6, 7)
	r := NewReport(nil, []*Checked{one, two, three})
	near(t, "tau", r.Tau, 1.0/3)
	expect.That(t, len(r.Disordered) == 1 && r.Disordered[0] == [2]string{"two", "three"}, "pairs %v", r.Disordered)
	expect.That(t, len(r.Models) == 2, "models %+v: nominal values are not known", r.Models)
	near(t, "mean", r.Models[0].Makespan.Mean, (.5+1+1.0/6)/3)
	near(t, "worst", r.Models[0].Makespan.Worst, 1)
	near(t, "P95", r.Models[0].P95.Mean, 1)
	// Repetitions count once: of means of 5 and 7, the order is right.
	log := []*attemptlog.Run{readLog(t, "", "0,a,1,2,taken"), readLog(t, "network.cells=1", "0,a,1,2,taken"),
		readLog(t, "network.cells=1", "0,a,1,2,taken")}
	for _, c := range []*Checked{one, two, three} {
		c.Measured = Measured(log[0])
	}
	if r := NewReport(log, []*Checked{one, two, three}); r.Ranked != 2 || r.Tau != 1 || len(r.Disordered) > 0 ||
		len(r.Repeats) != 1 {
		t.Errorf("with repetitions: %+v", r)
	}
	if r := NewReport(nil, []*Checked{one}); !math.IsNaN(r.Tau) {
		t.Errorf("one run: %g", r.Tau)
	}
}

// Runs with polls are shown as ranges, with their errors one round ahead, and other runs not.
func TestTextOfPolls(t *testing.T) {
	none := &Checked{Name: "none", Measured: two(2, 1, true)}
	if text := NewReport(nil, []*Checked{none}).Sections().Text(80); strings.Contains(text, "ahead") ||
		strings.Contains(text, "energy") {
		t.Error(text)
	}
	yes := true
	polled := &Checked{
		Name: "polled", Measured: two(2, 1, true), MeasuredS: 20, Makespans: []float64{21, 18, 30}, Inside: &yes,
		Ahead: &Ahead{Round: Spread{MAPE: .07}, Response: Spread{MAPE: .06}, Exact: .85},
	}
	text := NewReport(nil, []*Checked{none, polled}).Sections().Text(80)
	if !regexp.MustCompile(`(?m)^  polled +7.0 +6.0 +85.0 +18.0 +30.0 +yes$`).MatchString(text) {
		t.Error(text)
	}
}

// Runs of the same settings, messages and work repeat each other, whatever they measured.
func TestRepeats(t *testing.T) {
	run := func(settings, rows string) *attemptlog.Run { return readLog(t, settings, rows) }
	first := "0,a,10,11,taken\n0,b,10,12,taken"
	sets := Repeats([]*attemptlog.Run{
		run("", first), run("network.cells=1", first), run("", strings.ReplaceAll(first, "10,", "7,")),
		run("", "0,a,10,11,taken"),
	})
	expect.That(t, len(sets) == 1 && len(sets[0]) == 2 && sets[0][1] == 2, "sets %v", sets)
}

// Repetitions under "first" ask and take other clients by chance. Another number of rounds, size,
// nominal value or client makes another configuration.
func TestRepeatsByChance(t *testing.T) {
	run := func(rows string) *attemptlog.Run { return readLog(t, `federation.protocol="first"`, rows) }
	first := "0,a,10,11,taken\n0,b,10,12,late\n1,a,11,12,taken\n1,b,12,14,late"
	size, speed := run(first), run(first)
	size.Attempts[2].BytesUp *= 2
	speed.Attempts[2].GFLOPS = 3
	sets := Repeats([]*attemptlog.Run{
		run(first), run("0,a,10,13,late\n0,b,10,12,taken\n1,b,12,14,taken"), size, speed,
		run("0,a,10,11,taken\n0,b,10,12,late"), run(first + "\n1,c,11,,lost"), run("0,a,10,11,taken\n1,a,11,12,taken"),
	})
	expect.That(t, len(sets) == 1 && slices.Equal(sets[0], []int{0, 1}), "sets %v", sets)
	continuous := func(rows string) *attemptlog.Run { return readLog(t, `federation.protocol="asynchronous"`, rows) }
	sets = Repeats([]*attemptlog.Run{
		continuous("0,a,10,11,taken\n0,b,10,12,taken\n1,a,11,12,taken"),
		continuous("0,a,10,11,taken\n0,b,10,12,taken\n1,b,12,13,taken"),
		continuous("0,a,10,11,taken\n0,b,10,12,taken\n1,b,12,13,late"),
	})
	expect.That(t, len(sets) == 1 && slices.Equal(sets[0], []int{0, 1}), "sets without rounds %v", sets)
}

// Transfers have both directions: 1 s down and 3 s up are predicted as 1 and 6 s. Staleness is predicted minus
// measured, where both are known.
func TestTransfersAndStaleness(t *testing.T) {
	run := func(uplink float64, staleness ...float64) *Played {
		p := &Played{}
		for _, s := range staleness {
			p.Attempts = append(p.Attempts, Attempt{Seen: 5, Downlink: 1, Uplink: uplink, Staleness: s})
		}
		return p
	}
	e := Compare(run(3, 1, 2, math.NaN()), run(6, 4, 3, 1))
	near(t, "transfer", e.Transfer.Mean, .75)
	near(t, "staleness", e.Staleness, 2)
}
