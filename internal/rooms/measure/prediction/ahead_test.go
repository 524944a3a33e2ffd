package prediction

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/rooms/measure/calibration"
	"fedsim/internal/tools/expect"
	"fedsim/network"
)

// A client's poll each 3 s and the server's each 2 s place its clock: it has the messages of 0, 10
// and 20 s at 1, 11 and 21 s, and ends its replies 4 s later.
func TestPreviousEnds(t *testing.T) {
	run := readLog(t, "", "0,a,0,6,taken\n1,a,10,16,taken\n2,a,20,26,taken\n3,a,30,,lost\n4,a,40,46,taken")
	for i := range run.Attempts {
		a := &run.Attempts[i]
		a.Idle, a.Receive, a.Wait, a.Compute, a.Reply = 6, .5, 1, 2, .5
	}
	ends := previousEnds(run, &network.Runtime{ClientPollS: 3, ServerPollS: 2})
	expect.That(t, len(ends) == 3, "%d ends: of the first attempt, and after the lost one, nothing is known", len(ends))
	for i, want := range []float64{5, 15, 25} {
		near(t, "end", ends[&run.Attempts[i+1]], want)
	}
}

// logOf returns a log of the messages of another, with what a simulation measured. Clients' clocks
// tell durations alone.
func logOf(run *attemptlog.Run, p *Played) *attemptlog.Run {
	made := &attemptlog.Run{Name: "made", Settings: run.Settings, Attempts: slices.Clone(run.Attempts)}
	ended := map[string]float64{}
	for i := range made.Attempts {
		a, s := &made.Attempts[i], &p.Attempts[i]
		a.Sent, a.Seen, a.Idle = s.Sent, s.Seen, math.NaN()
		if end, ok := ended[a.Client]; ok {
			a.Idle = s.Received - end
		}
		a.Receive, a.Wait, a.Compute, a.Reply = s.Downlink, s.Waiting, s.Compute, s.Uplink
		ended[a.Client] = s.Received + s.Downlink + s.Waiting + s.Compute + s.Uplink
	}
	return made
}

// A free run with other phases than those of the log is wrong for long; one round ahead, polls and
// rounds are those of the log. Where they are not, because the model is wrong, that shows.
func TestAhead(t *testing.T) {
	on := system(t)
	on.Set = []string{"overhead.client_poll_s=2.7", "overhead.server_poll_s=1.9"}
	var rows strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rows, "%d,a,%d,%d,taken\n%d,b,%d,%d,taken\n", i, 10*i, 10*i+1, i, 10*i, 10*i+1)
	}
	run := readLog(t, "", rows.String())
	on.Seed = 7
	made := logOf(run, play(t, on, run))
	on.Seed = 1
	measured := Measured(made)
	free := Compare(measured, play(t, on, made))
	ahead, err := playAhead(t.Context(), made, on, measured)
	expect.NoError(t, err)
	expect.That(t, ahead.Polls == 4*39 && ahead.Round.N == 39 && ahead.Response.N == 2*39, "%+v", ahead)
	// The clocks of clients are known to about 2.7 s/80.
	expect.That(t, ahead.Exact >= .97 && ahead.Round.MAPE <= .02 && free.Round.MAPE >= .05,
		"exact %.3f, errors of rounds %.3f, %.3f in a free run", ahead.Exact, ahead.Round.MAPE, free.Round.MAPE)
	on.Set[1] = "overhead.server_poll_s=3"
	if ahead, err = playAhead(t.Context(), made, on, measured); err != nil || ahead.Exact > .9 {
		t.Errorf("wrong period: %+v, %v", ahead, err)
	}
	on.Set = nil
	if ahead, err = playAhead(t.Context(), made, on, measured); err != nil || ahead != nil {
		t.Errorf("without polls: %+v, %v", ahead, err)
	}
}

// One round ahead, a real deployment of Flower is within the goals: rounds 10 %, polls 80 %.
func TestAheadOfFlower(t *testing.T) {
	path := filepath.Join(os.Getenv("FEDSIM_DATA"), "logs", "flower_b1.csv")
	if _, err := os.Stat(path); os.Getenv("FEDSIM_DATA") == "" || err != nil {
		t.Skip("FEDSIM_DATA has no logs/flower_b1.csv")
	}
	log, err := attemptlog.Read(path)
	expect.NoError(t, err)
	c, err := calibration.Fit(log, calibration.Options{Seed: 1})
	expect.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "cal")
	expect.NoError(t, c.Write(dir, log, calibration.Results{}, false))
	models, _, err := NewModels(dir, c, log.Runs[0])
	expect.NoError(t, err)
	checked, err := Check(t.Context(), log.Runs[0], models)
	expect.NoError(t, err)
	a := checked.Ahead
	t.Logf("%+v, makespan %g of %g s", a, checked.PredictedS, checked.MeasuredS)
	expect.That(t, a.Round.MAPE <= .1 && a.Exact >= .8 && a.Polls == 42 && checked.Inside != nil && *checked.Inside,
		"%+v, makespans %v", a, checked.Makespans)
}
