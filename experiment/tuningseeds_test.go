package experiment

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// With tuning.seeds, a trial has the mean of the runs of its candidate under the first seeds,
// each made alone here, and the best mean wins.
func TestTrialsRunUnderSeveralSeeds(t *testing.T) {
	varied := []string{"run.seeds=[1, 2, 3]", "run.vary=split", "run.rounds=5"}
	text := strings.NewReplacer("refit = true", "seeds = 3", "[0.1, 0.001]", "[1, 0.1, 0.001]").Replace(refitted)
	tuned := func(text string, more ...string) Grid {
		t.Helper()
		var last Progress
		grids := tune(t, parse(t, text, append(varied, more...)...), Options{Progress: func(p Progress) { last = p }})
		expect.That(t, last.Done == last.Total && last.Total != 0,
			"the progress ends with %d of %d runs", last.Done, last.Total)
		return grids[0]
	}
	several := tuned(text)
	winner, best := -1, math.Inf(1)
	for i, trial := range several.Trials {
		var last, time float64
		rounds := 0
		for split := range 3 {
			alone := tuned(strings.Replace(text, "seeds = 3", "seeds = 1", 1), fmt.Sprintf("data.split_seed=%d",
				split+1))
			last, time, rounds = last+alone.Trials[i].Last, time+alone.Trials[i].TimeS, rounds+alone.Trials[i].Rounds
		}
		expect.That(t, trial.Last == last/3 && trial.TimeS == time/3 && trial.Rounds == rounds/3,
			"candidate %d: %+v, the means under the seeds are %g after %g s", i, trial, last/3, time/3)
		if trial.Last < best {
			winner, best = i, trial.Last
		}
	}
	expect.That(t, several.Winner == winner, "winner %d, want %d", several.Winner, winner)

	// A target is reached if it is under all seeds, and one candidate that cannot be faster in
	// the mean is given up.
	within := strings.Replace(text, "0.0001", "0.45", 1)
	several = tuned(within)
	for i, trial := range several.Trials {
		var time float64
		reached := true
		for split := range 3 {
			alone :=
				tuned(strings.NewReplacer("seeds = 3", "seeds = 1", "[1, 0.1, 0.001]",
					"["+trial.Options[0].Value+", 1e9]").Replace(within), fmt.Sprintf("data.split_seed=%d",
					split+1)).Trials[0]
			time, reached = time+alone.TimeS, reached && alone.Reached
		}
		expect.That(t, trial.GivenUp || trial.Reached == reached && (!reached || trial.TimeS == time/3),
			"candidate %d: %+v, under the seeds reached %v in a mean of %g s", i, trial, reached, time/3)
	}
	w := several.Trials[several.Winner]
	expect.That(t, w.Reached, "no candidate reaches the target: %+v", several.Trials)
}

// A target of a metric that clients measure has a value in every trial, by rows and over clients.
func TestTargetsByClientHaveValues(t *testing.T) {
	for _, metric := range []string{"train_loss", "validation_auc", "validation_loss_worst10",
		"validation_error_clients", "train_error"} {
		text := strings.Replace(refitted, "validation_error", metric, 1)
		grid := tune(t, parse(t, text, "run.rounds=5", `run.client_metrics=["loss", "auc"]`, "run.clients_every=1"),
			Options{})[0]
		for i, trial := range grid.Trials {
			expect.That(t, !math.IsNaN(trial.Last), "%s: trial %d has no value", metric, i)
		}
	}
}

// The seeds that a trial does not run under, since those before were too slow or missed the target, count as
// done in the progress.
func TestSkippedSeedsAreCounted(t *testing.T) {
	for _, of := range []struct {
		grid    string
		givenUp int // runs of the second trial
	}{
		{"[0.15, 200]", 1}, // slower than the best under all seeds
		{"[20, 0.01]", 1},  // ends its rounds earlier, without the target
		{"[20, 19]", 3},
	} {
		text := strings.Replace(epochsOf, "tuning.target = { suboptimality = 0.2 }",
			"tuning = { target = { suboptimality = 0.2 }, seeds = 3 }", 1) + of.grid
		var all []Progress
		runs := map[string]bool{}
		g := tune(t, parse(t, text, "run.seeds=[1, 2, 3]"), Options{Workers: 1, Progress: func(p Progress) {
			if all = append(all, p); p.Phase == "tuning" {
				runs[p.Run] = true
			}
		}})[0]
		last := all[len(all)-1]
		if n := len(runs); n != 3+of.givenUp || g.Trials[1].GivenUp != (of.givenUp < 3) {
			t.Errorf("%s: %d runs, trials %+v", of.grid, n, g.Trials)
		}
		expect.That(t, last.Done == 6 && last.Total == 6 && math.Abs(last.Share-1) <= 1e-12,
			"%s: the progress ends with %+v, want 6 of 6", of.grid, last)
	}
}
