package calibration

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// Rounds of an hour, in which a poll of a second cannot be found, take no long search.
func TestLaunchPollOfLongRounds(t *testing.T) {
	log := changed(launchLog(1, 40, 0.9), func(a *attemptlog.Attempt) { a.Idle += 3600 })
	if l := newTable(log).findLaunchPoll(); l != nil {
		t.Errorf("found a period of %g s", l.period)
	}
	all, phases := newTable(log).launches()
	expect.That(t, phases >= len(all), "%d launches share %d phases", len(all), phases)
}

// launchLog returns the log of three clients whose training starts after a poll with the period, at a phase that each
// keeps, and a launch of 0.4 s and some noise; period 0: after a wait from 0 to 1 s that does not depend on when the
// message arrives.
func launchLog(seed uint64, rounds int, period float64) *attemptlog.Log {
	var text strings.Builder
	text.WriteString("round,client,bytes_down,bytes_up,flops,sent_s,seen_s,idle_s,receive_s,wait_s,compute_s,reply_s\n")
	s := rng.New(seed, rng.Synthetic, 1, 0)
	clocks := [3]float64{}
	for round := range rounds {
		for c := range clocks {
			idle, receive, compute, reply := 2+3*s.Float64(), 0.02, 1+float64(c), 0.1+0.2*s.Float64()
			arrived := clocks[c] + idle + receive
			wait := 0.4 + 0.05*s.Normal()
			if period > 0 {
				wait += period * (math.Ceil(arrived/period-0.3*float64(c)) + 0.3*float64(c) - arrived/period)
			} else {
				wait += s.Float64()
			}
			clocks[c] = arrived + wait + compute + reply
			fmt.Fprintf(&text, "%d,%d,1,1,1e9,%d,%d,%v,%v,%v,%v,%v\n", round, c, 20*round, 20*round+15, idle, receive,
				wait, compute, reply)
		}
	}
	return parse(text.String())
}

// A poll for launches is told from the launch by when messages arrive, within 1 % and 0.05 s. In 40 logs without one,
// none is found but by chance: with probability 0.01 in each.
func TestLaunchPoll(t *testing.T) {
	found := 0
	for seed := range uint64(40) {
		c, err := Fit(launchLog(seed, 8, 0), Options{Resamples: -1})
		expect.NoError(t, err)
		if c.Waiting.LaunchPollS.Known() {
			found++
		} else if seed == 0 {
			near(t, "launch", c.Waiting.LaunchS, 0.9, 0.1)
		}
		if seed >= 10 {
			continue
		}
		log := launchLog(seed, 8, 0.9)
		if c, err = Fit(log, Options{Resamples: 50}); err != nil {
			t.Fatal(err)
		}
		w := &c.Waiting
		near(t, "poll for launches", w.LaunchPollS, 0.9, 0.01)
		near(t, "launch", w.LaunchS, 0.4, 0.05/0.4)
		expect.That(t, w.LaunchPollS.Low <= w.LaunchPollS.Value && w.LaunchPollS.Value <= w.LaunchPollS.High,
			"%+v", w.LaunchPollS)
	}
	expect.That(t, found <= 2, "%d of 40 logs without polls have one", found)
}
