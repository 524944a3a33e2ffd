package experiment

import (
	"math"
	"strings"
	"testing"
	"time"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
)

const estimated = `
[data.synthetic]
clients = 3
features = 4
rows_min = 8
rows_max = 12
[run]
rounds = 500
seeds = [1, 2]
[methods.mocha]
[methods.cocoa]
`

const estimatedGrid = estimated + `
[[experiment]]
name = "tuned"
methods = ["mocha"]
[experiment.tune.mocha]
"options.epochs" = [1, 2, 3]
`

// runEstimated runs a scenario and returns its estimates, the number of reports before them, and
// the hashes of the runs.
func runEstimated(t *testing.T, text string, ask bool) (got []Estimate, before int, hashes map[string][2]uint64) {
	t.Helper()
	s := scenarioOf(t, text)
	hashes = map[string][2]uint64{}
	reports := 0
	o := Options{Workers: 1, Clock: time.Now, Progress: func(Progress) { reports++ },
		Recorder: &recordtest.Recorder{End: func(_ int, run results.Run) error {
			hashes[run.ID] = [2]uint64{run.EventHash, run.ModelHash}
			return nil
		}}}
	if ask {
		o.Estimate = func(e Estimate) { got, before = append(got, e), reports }
	}
	expect.NoError(t, Run(t.Context(), s.Experiments, o))
	return got, before, hashes
}

// estimateOf returns the estimate of a scenario, and its experiments.
func estimateOf(t *testing.T, text string) (Estimate, []scenario.Experiment) {
	t.Helper()
	s := scenarioOf(t, text)
	r := newRunner(t.Context(), nil, Options{}, mostRecorded)
	e, ok := r.estimate(r.jobs(s.Experiments))
	expect.Must(t, ok, "no estimate")
	return e, s.Experiments
}

// An estimate comes once, before anything is computed, is the same each time, and changes no result.
func TestEstimatesComeFirst(t *testing.T) {
	got, before, with := runEstimated(t, estimatedGrid, true)
	expect.Must(t, len(got) == 1 && before == 0, "estimates %v after %d reports", got, before)
	again, _ := estimateOf(t, estimatedGrid)
	expect.That(t, again == got[0], "%+v, and again %+v", got[0], again)
	_, _, without := runEstimated(t, estimatedGrid, false)
	for id, hashes := range without {
		expect.That(t, with[id] == hashes, "%s: an estimate changes its results", id)
	}
}

// The parts of an estimate are those of the plan: all groups of runs, the tuning and the optima, with
// the data prepared once.
func TestEstimatesAddUp(t *testing.T) {
	racetest.Skip(t, "compares many small runs; other tests run as much in parallel")
	limited := strings.NewReplacer("[methods.mocha]\n[methods.cocoa]", "[methods.fedavg]\n[devices]\nclock_ghz = 1e-7",
		"[run]", "[run]\nmax_time_s = 10").Replace(estimated)
	for _, text := range []string{estimated, estimatedGrid, limited} {
		e, experiments := estimateOf(t, text)
		g := newGrouping(newRunner(t.Context(), nil, Options{}, mostRecorded))
		expect.NoError(t, g.addAll(g.jobs(experiments)))
		groups, needs := g.runs, g.needs
		sum, parts := Cost{}, map[string]Cost{}
		for i := range groups {
			sum = sum.plus(groups[i].Cost)
		}
		for i := range needs {
			sum = sum.plus(needs[i].Cost)
			parts[needs[i].Kind] = parts[needs[i].Kind].plus(needs[i].Cost)
		}
		if all, _ := estimateOf(t, strings.Replace(text, "max_time_s = 10", "", 1)); text == limited &&
			sum.Seconds > all.Runs/2 {
			t.Errorf("ten seconds of rounds take %g s in a plan, all rounds %g", sum.Seconds, all.Runs)
		}
		total := e.Optima + e.Tuning + e.Runs
		expect.That(t, math.Abs(total-sum.Seconds) <= 1e-9*sum.Seconds, "%g s, the plan has %g", total, sum.Seconds)
		for kind, got := range map[string]float64{KindTuning: e.Tuning, KindOptimum: e.Optima} {
			want := parts[kind].Seconds - parts[kind].load
			expect.That(t, math.Abs(got-want) <= 1e-9, "%s: %g s, the plan has %g", kind, got, want)
		}
	}
}

// Each candidate of a grid is a run more, and so are those that a grid may gain. What is not
// known is said.
func TestEstimatesHaveTuning(t *testing.T) {
	plain, _ := estimateOf(t, estimated)
	three, _ := estimateOf(t, estimatedGrid)
	six, _ := estimateOf(t, strings.Replace(estimatedGrid, "[1, 2, 3]", "[0.5, 1.5, 1, 2, 3, 4]", 1))
	grows, _ := estimateOf(t, estimatedGrid+"[experiment.tuning]\nextend = 4\n")
	expect.That(t, plain.Tuning == 0 && !plain.Early && !plain.Grows && !plain.Learners, "without tuning: %+v", plain)
	expect.That(t, three.Tuning > 0 && math.Abs(six.Tuning/three.Tuning-2) <= 0.05,
		"3 candidates take %g s, 6 of the same mean %g", three.Tuning, six.Tuning)
	if one, run := three.Tuning/(3*2), three.Runs/2; one > 0.7*run { // a trial stops at the target of the tuning
		t.Errorf("a candidate takes %g s, a run under one seed %g", one, run)
	}
	if want := three.Tuning * (3 + growth) / 3; !grows.Grows || three.Grows || !three.Early ||
		math.Abs(grows.Tuning-want) > 1e-9 {
		t.Errorf("a grid that grows takes %g s, want %g: %+v", grows.Tuning, want, grows)
	}
	expect.That(t, grows.Runs == three.Runs, "the runs take %g s, with a grid that grows %g", three.Runs, grows.Runs)
	learner, _ := estimateOf(t, "[methods.x]\nalgorithm = \"external\"\nprogram.command = [\"./x\"]\n")
	expect.That(t, learner.Learners, "a learner's work is not left out: %+v", learner)
	// Of 500 rounds, each of more than a second of computing, ten fit.
	slow := strings.Replace(estimated, "[methods.mocha]\n[methods.cocoa]",
		"[methods.fedavg]\n[devices]\nclock_ghz = 1e-7", 1)
	all, _ := estimateOf(t, slow)
	few, _ := estimateOf(t, strings.Replace(slow, "[run]", "[run]\nmax_time_s = 10", 1))
	expect.That(t, few.Runs <= all.Runs/2 && few.Early, "ten seconds of rounds take %g s, all %g", few.Runs, all.Runs)
}

// A limit of time bounds the rounds by their usual length, also on a fleet and where links take the time.
func TestEstimatesOfALimitOfTime(t *testing.T) {
	for name, tables := range map[string]string{
		"fleet": "[fleet]\nname = \"phones-2017\"\n[methods.fedavg]\n",
		"links": "[network]\nprofile = \"3g\"\n[methods.fedavg]\n", "without rounds": "[methods.fedbuff]\n",
		"limited work": "[methods.mocha]\n[federation]\nprotocol = \"charged\"\n",
	} {
		all, _ := estimateOf(t, "[run]\nrounds = 100_000\n"+tables)
		few, experiments := estimateOf(t, "[run]\nmax_time_s = 4\n"+tables)
		runs := mustGather(t, experiments, Options{})
		made := float64(runs[0].Rounds[len(runs[0].Rounds)-1].Round)
		if most := all.Runs * max(0.02, 10*made/100_000); few.Runs > most {
			t.Errorf("%s: four seconds, %g rounds, take %g s of 100,000 rounds' %g, want at most %g", name, made,
				few.Runs, all.Runs, most)
		}
	}
}

// Figures count, each with its lines and its points.
func TestEstimatesOfFigures(t *testing.T) {
	seconds := func(text string) float64 {
		_, experiments := estimateOf(t, text)
		return FigureSeconds(experiments)
	}
	one := seconds(estimated)
	two :=
		seconds(estimated +
			"[[experiment]]\nname = \"a\"\n[experiment.figure]\n[[experiment.figures]]\ny = \"test_error\"\n")
	expect.That(t, one > figureTime && math.Abs(two-2*one) <= 1e-12, "a figure takes %g s, two take %g", one, two)
	more := seconds(strings.Replace(estimated, "[1, 2]", "[1, 2, 3, 4]", 1))
	expect.That(t, math.Abs(more-one-2*2*500*pointTime) <= 1e-12, "two seeds more take %g s", more-one)
}
