package experiment

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/results"
)

const tuned = `
seeds = [3, 1]
[devices]
clock_ghz = 0.001
[methods.mocha]
[methods.mb-sgd]
[methods.cocoa]
[[experiment]]
name = "tuned"
sweep = { "network.profile" = ["wifi", "3g"] }
[experiment.tuning]
target = { suboptimality = 0.05 }
seeds = 1
[experiment.tune.mocha]
"options.epochs" = [20, 10, 0.2, 40]
[experiment.tune.mb-sgd]
"options.step" = [1e-6, 1e-5]
"options.batch" = [2, 8]
`

// Tuning picks the candidate with the least virtual time to the target under
// the first seed, or, when none gets there, the one that ends lowest; it is
// compared with running each of them to its end.
func TestTuningPicksTheFastest(t *testing.T) {
	racetest.Skip(t, "compares many small runs; TestGrownGridsAreTheSame tunes in parallel")
	e := parse(t, tuned)
	all := mustGather(t, alone(e[0]), Options{})
	target := e[0].Tuning.Target
	var want []int // winner of each job
	i, hits, misses := 0, 0, 0
	slowerBefore, slowerAfter := false, false // a winner comes after one that reaches the target, before one
	for _, j := range e[0].Jobs {
		best, winner := math.Inf(1), 0
		low, lowest := math.Inf(1), 0
		var reached []int
		for k := range j.Candidates {
			r := all[i]
			i++
			if hit, ok := r.Reached(target); ok {
				reached = append(reached, k)
				if hit.TimeS < best {
					best, winner = hit.TimeS, k
				}
			}
			if last, _ := r.Last(); last.Suboptimality < low {
				low, lowest = last.Suboptimality, k
			}
		}
		if math.IsInf(best, 1) {
			winner = lowest
			misses++
		} else {
			hits++
			slowerBefore = slowerBefore || winner > reached[0]
			slowerAfter = slowerAfter || winner < reached[len(reached)-1]
		}
		want = append(want, winner)
	}
	expect.Must(t, hits != 0 && misses != 0, "%d jobs reach the target, %d do not: both are to be tested", hits, misses)
	if !slowerBefore || !slowerAfter {
		t.Fatalf("slower candidates that reach the target: %v before the winner, %v after it: both are to be tested",
			slowerBefore, slowerAfter)
	}
	var first map[int]results.Run
	for n, queue := range engine.Queues() {
		workers := []int{1, 2, 8}[n%3]
		runs := mustGather(t, e, Options{Workers: workers, Queue: queue})
		index := 0
		for k, j := range e[0].Jobs {
			for _, seed := range j.Seeds {
				id := j.Candidates[want[k]].WithSeed(seed).ID
				if r := runs[index]; r.ID != id || r.Seed != seed ||
					tunedTo(r) != tunedTo(results.Run{Tuning: results.Tuning{Tuned: j.Candidates[want[k]].Tuned}}) {
					t.Errorf("%d workers: run %d is %s (seed %d, tuned to %v), want %s", workers, index, r.ID,
						r.Seed, r.Tuned, id)
				}
				index++
			}
		}
		if first == nil {
			first = runs
		}
		for i, r := range runs {
			a, b := text(r), text(first[i])
			expect.That(t, a == b, "%d workers, queue %s: run %d differs", workers, queue, i)
		}
	}
	// The winner under the first seed is the candidate's own run, bit for bit:
	// neither stopping at the target nor giving up has changed it.
	i, index := 0, 0
	for k, j := range e[0].Jobs {
		a, b := text(first[index]), text(all[i+want[k]])
		expect.That(t, a == b, "run %s differs from the candidate on its own", first[index].ID)
		i += len(j.Candidates)
		index += len(j.Seeds)
	}
}

// Tune reports the same winners as a run, and the result of each trial: when it reached
// the target, or that it was given up.
func TestTuneShowsItsTrials(t *testing.T) {
	e := parse(t, tuned)
	runs := mustGather(t, e, Options{})
	all := mustGather(t, alone(e[0]), Options{})
	var first []Grid
	for _, workers := range []int{1, 2, 8} {
		grids := tune(t, e, Options{Workers: workers, Clock: time.Now})
		if first == nil {
			first = grids
		}
		expect.That(t, reflect.DeepEqual(grids, first), "%d workers: other trials", workers)
		if len(grids) != 4 { // cocoa is not tuned
			t.Fatalf("%d grids, want 4", len(grids))
		}
		i, index, g, given := 0, 0, 0, 0
		for _, j := range e[0].Jobs {
			if len(j.Candidates) > 1 {
				grid := grids[g]
				g++
				if grid.Experiment != "tuned" || grid.Target != results.ToSuboptimality(0.05) ||
					grid.Method != j.Candidates[0].Label || len(grid.Trials) != len(j.Candidates) {
					t.Fatalf("%+v", grid)
				}
				if win := grid.Trials[grid.Winner]; tunedTo(
					results.Run{Tuning: results.Tuning{Tuned: win.Options}}) != tunedTo(runs[index]) {
					t.Errorf("%s: Tune chooses %v, Run %v", grid.Method, win.Options, runs[index].Tuned)
				}
				for k, trial := range grid.Trials {
					r := all[i+k]
					hit, ok := r.Reached(results.ToSuboptimality(0.05))
					last, _ := r.Last()
					switch {
					case trial.GivenUp:
						given++
						if trial.Reached || trial.TimeS < grid.Trials[grid.Winner].TimeS ||
							ok && hit.TimeS < grid.Trials[grid.Winner].TimeS {
							t.Errorf("%s %v was given up: %+v; on its own it reaches the target at %g s", grid.Method,
								trial.Options, trial, hit.TimeS)
						}
					case trial.Reached:
						expect.That(t, ok && trial.Rounds == hit.Round && trial.TimeS == hit.TimeS,
							"%s: %+v, want the target in round %d at %g s", grid.Method, trial, hit.Round, hit.TimeS)
					default:
						if trial.Rounds != last.Round || trial.TimeS != last.TimeS || trial.Last != last.Suboptimality {
							t.Errorf("%s: %+v, want %g after round %d", grid.Method, trial, last.Suboptimality,
								last.Round)
						}
					}
				}
			}
			i += len(j.Candidates)
			index += len(j.Seeds)
		}
		expect.That(t, given != 0, "no trial was given up")
	}
}

// Once the user has stopped it, nothing more is prepared, least of all for
// candidates that will never run.
func TestTuningPreparesNothingAfterTheEnd(t *testing.T) {
	e := parse(t, `
[methods.mocha]
[[experiment]]
name = "x"
sweep = { "problem.lambda" = [0.1, 0.2, 0.3, 0.4] }
[experiment.tune.mocha]
"options.epochs" = [1, 2]
`)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	n := 0
	r := newRunner(ctx, cancel, Options{Workers: 1, Clock: time.Now, Progress: func(p Progress) {
		if p.Phase == "preparing" {
			n++
			cancel(context.Canceled)
		}
	}}, mostRecorded)
	r.choose(r.jobs(e))
	expect.That(t, n == 1, "%d problems were prepared, the user stopped during the first", n)
	expect.That(t, errors.Is(context.Cause(ctx), context.Canceled), "%v", context.Cause(ctx))
}

// epochsOf is a tuning of the epochs, whose grid follows.
const epochsOf = `
[methods.mocha]
[devices]
clock_ghz = 1e-6
[[experiment]]
name = "x"
tuning.target = { suboptimality = 0.2 }
[experiment.tune.mocha]
"options.epochs" = `

// Of two candidates that do the same the first wins: 0.999 epochs of up to 30
// rows are rounded up to one.
func TestTiesGoToTheFirst(t *testing.T) {
	for _, grid := range []string{"[1, 0.999, 5]", "[0.999, 1, 5]"} {
		grids := tune(t, parse(t, epochsOf+grid), Options{Clock: time.Now})
		first, second := grids[0].Trials[0], grids[0].Trials[1]
		expect.That(t, first.Reached && second.Reached && first.TimeS == second.TimeS && grids[0].Winner == 0,
			"%s: %+v", grid, grids[0])
	}
}

// A candidate that has reached the target is not beaten by one that ends its
// rounds earlier without.
func TestReachingTheTargetComesFirst(t *testing.T) {
	for _, grid := range []string{"[20, 0.01]", "[0.01, 20]"} {
		grids := tune(t, parse(t, epochsOf+grid), Options{Clock: time.Now})
		g := grids[0]
		fast, slow := g.Trials[1-g.Winner], g.Trials[g.Winner]
		expect.That(t, slow.Reached && !fast.Reached && !fast.GivenUp && fast.Rounds == 30 && fast.TimeS < slow.TimeS,
			"%s: %+v", grid, g)
	}
}
