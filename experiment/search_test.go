package experiment

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// growing has grids that their winners leave on either side, with neighbors that their
// methods refuse, on two networks.
const growing = `
seeds = [3, 1]
[devices]
clock_ghz = 0.001
[methods.mocha]
[methods.cocoa]
[methods.mb-sdca]
[methods.mb-sgd]
[[experiment]]
name = "growing"
sweep = { "network.profile" = ["wifi", "3g"] }
[experiment.tuning]
target = { suboptimality = 0.05 }
extend = 6
seeds = 1
[experiment.tune.mocha]
"options.epochs" = [16, 32]
[experiment.tune.cocoa]
"options.theta" = [0.3, 0.5]
[experiment.tune.mb-sdca]
"options.batch" = [2, 4]
"options.beta" = [1.5, 2]
[experiment.tune.mb-sgd]
"options.step" = [10, 100]
`

func tuneAll(t testing.TB, e []scenario.Experiment, o Options) []Grid {
	t.Helper()
	o.Clock = time.Now
	grids := tune(t, e, o)
	return grids
}

// A grid that grows ends with a winner that beats, in a separate run, the values
// next to it in every option; where there is none it says why.
func TestGridsGrowUntilTheirWinnerIsInside(t *testing.T) {
	e := parse(t, growing)
	grids := tuneAll(t, e, Options{})
	grown := map[results.Side]int{}
	for i := range grids {
		g := &grids[i]
		win := &g.Trials[g.Winner]
		job := &e[0].Jobs[i]
		if len(g.Trials) > g.Listed {
			t.Logf("%s %v: %v of %d, edges %v", g.Method, g.Point, win.Options, len(g.Trials), g.Edges)
		}
		for option, o := range job.Options {
			if o.Values == nil || win.Options[option].Value == "0" {
				continue
			}
			x := number(t, win.Options[option].Value)
			if x < o.Values[0] {
				grown[results.Lowest]++
			} else if x > o.Values[len(o.Values)-1] {
				grown[results.Highest]++
			}
			for _, side := range sides {
				beside := math.Inf(1)
				var neighbor *Trial
				for k := range g.Trials {
					y := number(t, g.Trials[k].Options[option].Value)
					if onlyDiffers(g.Trials[k].Options, win.Options, option) && (y > x) == (side == results.Highest) &&
						math.Abs(y-x) < beside && y != 0 {
						beside, neighbor = math.Abs(y-x), &g.Trials[k]
					}
				}
				edge := edgeOf(g.Edges, o.Key, side)
				if (neighbor == nil) != (edge != nil) {
					t.Errorf("%s: %v has the neighbor %v on the %s side, the edge %v", g.Method, win.Options, neighbor,
						side, edge)
				}
				expect.That(t, edge == nil || edge.Reason != "" && edge.Value == win.Options[option].Value,
					"%s: edge %+v of %v", g.Method, edge, win.Options)
				if neighbor == nil {
					continue
				}
				run := expect.Value(job.Find(idOf(job, neighbor), neighbor.Options, 3))(t)
				one := e[0]
				one.Jobs = []scenario.Job{{Candidates: []scenario.RunSpec{run}, Seeds: []uint64{3}}}
				r := mustGather(t, []scenario.Experiment{one}, Options{})[0]
				hit, ok := r.Reached(g.Target)
				last, _ := r.Last()
				if win.Reached && ok && hit.TimeS < win.TimeS || !win.Reached && (ok || last.Suboptimality < win.Last) {
					t.Errorf("%s: %v beats the winner %v", g.Method, neighbor.Options, win.Options)
				}
			}
		}
	}
	expect.That(t, grown[results.Lowest] != 0 && grown[results.Highest] != 0,
		"winners beyond their grid: %v, want some on both sides", grown)
}

// The same grids grow, however many workers there are, and with interruptions.
func TestGrownGridsAreTheSame(t *testing.T) {
	e := parse(t, growing)
	first := tuneAll(t, e, Options{Workers: 1})
	for _, workers := range []int{2, 8} {
		expect.That(t, reflect.DeepEqual(tuneAll(t, e, Options{Workers: workers}), first),
			"%d workers: other trials", workers)
	}
	want := mustGather(t, e, Options{})
	for i, r := range want {
		g := first[i/2] // two seeds
		if tunedTo(r) != tunedTo(results.Run{Tuning: results.Tuning{Tuned: g.Trials[g.Winner].Options}}) ||
			!reflect.DeepEqual(r.Edges, g.Edges) {
			t.Errorf("run %s with edges %v, tune chooses %v with %v", r.ID, r.Edges, g.Trials[g.Winner].Options,
				g.Edges)
		}
		at, ok := Places(e)(r.ID)
		expect.That(t, ok && at == i, "the place of %s is %d, want %d", r.ID, at, i)
	}
	for _, patience := range []int{60, 150, 400} {
		// A trial that is interrupted begins again, so two that run at the same time need more and more.
		more := func() int { patience++; return patience }
		same(t, want, resumed(t, t.Context(), e, more, Options{Workers: 2}))
	}
}

// Added candidates are counted: in the end all are done, and the share never falls.
func TestGrowthIsCounted(t *testing.T) {
	e := parse(t, growing)
	share, last := 0.0, Progress{}
	grids := tuneAll(t, e, Options{Workers: 2, Progress: func(p Progress) {
		expect.That(t, p.Share >= share, "the share falls from %g to %g", share, p.Share)
		share, last = p.Share, p
	}})
	trials := 0
	for i := range grids {
		trials += len(grids[i].Trials)
	}
	expect.That(t, last.Done == trials && last.Total == trials && math.Abs(share-1) <= 1e-9,
		"%+v, want %d of %d", last, trials, trials)
}

// Without extend, and where the limit is reached, a winner at an edge is called so.
func TestEdgesAreNamed(t *testing.T) {
	for _, limit := range []int{0, 1} {
		grids := tuneAll(t, parse(t, growing, fmt.Sprintf("experiment.growing.tuning.extend=%d", limit)), Options{})
		edge := edgeOf(grids[0].Edges, "options.epochs", results.Lowest)
		value := []string{"16", "8"}[limit]
		expect.That(t, edge != nil && edge.Value == value && edge.Reason == "",
			"extend = %d: %+v", limit, grids[0].Edges)
	}
}

// A neighbor that the method refuses is no error: the last value that it takes is tried
// instead, and where the winner is that value, the range of the option ends.
func TestRangesEndWhereMethodsRefuse(t *testing.T) {
	g := tuneAll(t, parse(t, `
[methods.mb-sdca]
options.batch = 2
[[experiment]]
name = "x"
tuning = { target = { suboptimality = 0.01 }, extend = 4 }
[experiment.tune.mb-sdca]
"options.beta" = [1.5, 1.9]
`), Options{})[0]
	// 1.9 * 1.9/1.5 = 2.41 is more than the batch.
	win := g.Trials[g.Winner]
	expect.Must(t, win.Options[0].Value == "2" && len(g.Trials) == 3, "%+v", g)
	want := []results.Edge{{Key: "options.beta", Value: "2", Side: results.Highest, Reason: "must be in [1, batch]"}}
	expect.That(t, reflect.DeepEqual(g.Edges, want), "edges %+v, want %+v", g.Edges, want)
}

// The trials of a grid that grew are refused when there are more of them than it takes.
func TestTrialsTooManyAreRefused(t *testing.T) {
	full := &checkpointtest.Store{}
	o := Options{Checkpoints: checkpoint.Policy{Store: full, Clock: time.Now}}
	mustGather(t, parse(t, growing), o)
	_, err := gather(t.Context(), parse(t, growing, "experiment.growing.tuning.extend=0"), o)
	expect.That(t, err != nil && strings.Contains(err.Error(), "trials"), "%v", err)
}

func number(t testing.TB, text string) float64 {
	t.Helper()
	x := toFloat(text)
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return x
}

func onlyDiffers(a, b []results.Setting, option int) bool {
	for i := range a {
		if (a[i] == b[i]) == (i == option) {
			return false
		}
	}
	return true
}

func edgeOf(edges []results.Edge, key string, side results.Side) *results.Edge {
	for i := range edges {
		if edges[i].Key == key && edges[i].Side == side {
			return &edges[i]
		}
	}
	return nil
}

// idOf is the ID of a trial's run under the first seed.
func idOf(job *scenario.Job, x *Trial) string {
	run := job.Candidates[0]
	run.Tuned = x.Options
	return run.WithSeed(run.Seed).ID
}
