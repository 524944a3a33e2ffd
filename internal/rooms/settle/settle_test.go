package settle

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/certainty"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

var target = results.ToSuboptimality(0.1)

// runOf returns a run with a cost, in all measures: to the target, or at its end without it.
func runOf(method string, seed uint64, cost float64, state results.State, point ...results.Setting) results.Run {
	r := results.Run{Experiment: "e", Method: method, Seed: seed, Point: point, Status: results.Done}
	r.EventHash = seed
	for i := range 2 {
		r.Rounds = append(r.Rounds, results.Round{Round: i + 1, TimeS: cost * float64(i+1) / 2, Suboptimality: 0.5,
			BytesUp: 50 * cost, EnergyJ: 5 * cost, TestError: cost / 100})
	}
	switch state {
	case results.Reached:
		r.Rounds[1].Suboptimality = 0.05
	case results.Never:
		r.Status = results.Stalled
	}
	return r
}

// jobsOf returns the jobs of runs, in the order of the first run of each.
func jobsOf(runs []results.Run) (jobs []Job) {
	for i := range runs {
		r := &runs[i]
		if !slices.ContainsFunc(jobs, func(j Job) bool {
			return j.Method == r.Method && slices.Equal(j.Point, r.Point)
		}) {
			about := results.Run{Experiment: "e", Method: r.Method, Point: r.Point}
			jobs = append(jobs, Job{Run: about, Name: r.Method})
		}
	}
	return jobs
}

// byTimeTo is the comparison of the tests, of as many seeds as they have.
func byTimeTo() Config {
	return Config{By: byTime, Target: target, Margin: 0.05, Confidence: 0.95, MaxSeeds: 100}
}

// needsOf returns the number of runs that are needed, by job.
func needsOf(r *Report, jobs int) []int {
	of := make([]int, jobs)
	r.Needs(func(job, _ int) { of[job]++ })
	return of
}

// Of three rows, nine seeds make one the first, with all three pairs at once; eight do not. Who is second is open
// without a difference between the others that all seeds have.
func TestThreeRows(t *testing.T) {
	var runs []results.Run
	for seed := range uint64(9) {
		b, c := 2.0, 3.0
		if seed%2 == 1 {
			b, c = c, b
		}
		runs = append(runs, runOf("b", seed+1, b, results.Reached), runOf("a", seed+1, 1, results.Reached),
			runOf("c", seed+1, c, results.Reached))
	}
	jobs := jobsOf(runs)
	r := expect.Value(New(byTimeTo(), jobs, runs[:8*3]))(t)
	expect.That(t, !r.Settled && slices.Equal(needsOf(r, 3), []int{9, 9, 9}), "after eight seeds: %v, needs %v",
		r.Settled, needsOf(r, 3))
	r = expect.Value(New(byTimeTo(), jobs, runs))(t)
	expect.That(t, r.Settled && slices.Equal(r.Standing.Leaders, []string{"a"}) && len(r.Seeds) == 9,
		"after nine: %v, leaders %v, seeds %v", r.Settled, r.Standing.Leaders, r.Seeds)
	for _, row := range r.Rows {
		want := [2]int{2, 3}
		if row.Label == "a" {
			want = [2]int{1, 1}
		}
		expect.That(t, [2]int{row.RankLow, row.RankHigh} == want, "rank of %s: %d to %d, want %v", row.Label,
			row.RankLow, row.RankHigh, want)
	}
	text := r.Sections().Text(80)
	for _, want := range []string{"seeds 1-9: settled: a is first (95 %, all 3 pairs at once)", "times a", "2 to 3"} {
		expect.That(t, strings.Contains(text, want), "%q is not in:\n%s", want, text)
	}
	order := byTimeTo()
	order.Order = true
	r = expect.Value(New(order, jobs, runs))(t)
	expect.That(t, !r.Settled && needsOf(r, 3)[0] > 9,
		"with order: settled %v, needs %v", r.Settled, needsOf(r, 3))
	pair := byTimeTo()
	pair.Rows = []string{"c", "b"}
	r = expect.Value(New(pair, jobs, runs))(t)
	expect.That(t, len(r.Pairs) == 1 && r.Pairs[0].A == "c" && !r.Settled && needsOf(r, 3)[1] == 0,
		"rows c and b: %+v, needs %v", r.Pairs, needsOf(r, 3))
}

// Each measure compares its own costs. Of errors the difference counts, and of accuracies more is better.
func TestMeasures(t *testing.T) {
	var runs []results.Run
	for seed := range uint64(7) {
		a, b := runOf("a", seed+1, 1, results.Reached), runOf("b", seed+1, 2, results.Reached)
		for i := range a.Rounds {
			a.Rounds[i].BytesUp, b.Rounds[i].BytesUp = 20, 10
			a.Rounds[i].EnergyJ, b.Rounds[i].EnergyJ = 100, 101
			a.Rounds[i].TestError, b.Rounds[i].TestError = 0.25, 0.24
		}
		runs = append(runs, a, b)
	}
	for _, c := range []struct {
		by, metric string
		margin     float64
		want       certainty.Decision
		text       string
	}{
		{byTime, "", 0.05, certainty.A, "a is faster than b by at least 5 % (95 %)"},
		{byBytes, "", 0.05, certainty.B, "b sends less than a by at least 5 % (95 %)"},
		{byJoules, "", 0.05, certainty.None, "no difference above 5 % between a and b (95 %)"},
		{byJoules, "", 0.001, certainty.A, "a takes less energy than b by at least 0.1 % (95 %)"},
		{byError, "test_error", 0.005, certainty.B, "b has less error than a by at least 0.005 (95 %)"},
		{byError, "test_error", 0.02, certainty.None, "no difference above 0.02 between a and b (95 %)"},
		{byError, "test_accuracy", 0.005, certainty.B, ""},
	} {
		of := slices.Clone(runs)
		for i := range of {
			of[i].MainMetric = c.metric
		}
		x := Config{By: c.by, Margin: c.margin, Confidence: 0.95, MaxSeeds: 100}
		if c.by != byError {
			x.Target = target
		}
		r := expect.Value(New(x, jobsOf(of), of))(t)
		text := r.Sections().Text(80)
		expect.That(t, r.Settled && r.Pairs[0].Decision == c.want && strings.Contains(text, c.text),
			"by %s, %s: %s, want %s with %q:\n%s", c.by, c.metric, r.Pairs[0].Decision, c.want, c.text, text)
	}
}

// The blocks of a sweep settle alone, and only those that are open need more seeds. Named values of the swept key are
// the rows, in blocks of their methods.
func TestBlocks(t *testing.T) {
	var runs []results.Run
	for seed := range uint64(7) {
		at := func(value string) results.Setting { return results.Setting{Key: "faults.p", Value: value} }
		runs = append(runs, runOf("a", seed+1, 1, results.Reached, at("0.1")),
			runOf("b", seed+1, 2, results.Reached, at("0.1")), runOf("a", seed+1, 3, results.Reached, at("0.2")),
			runOf("b", seed+1, 2+2*float64(seed%2), results.Reached, at("0.2")))
	}
	jobs := jobsOf(runs)
	r := expect.Value(New(byTimeTo(), jobs, runs))(t)
	expect.Must(t, len(r.Blocks) == 2 && r.Standing == nil, "%d blocks", len(r.Blocks))
	expect.That(t, !r.Settled && r.Blocks[0].Reason == certainty.Decided && r.Blocks[1].Reason == "",
		"reasons %q and %q", r.Blocks[0].Reason, r.Blocks[1].Reason)
	needs := needsOf(r, 4)
	expect.That(t, needs[0] == 0 && needs[1] == 0 && needs[2] > 7 && needs[3] == needs[2], "needs %v", needs)
	leaders := r.Leaders()
	expect.That(t, len(leaders) == 2 && leaders[0].Point[0].Value == "0.1" && leaders[1].Rows == nil &&
		slices.Equal(leaders[0].Rows, []string{"a"}), "%+v", leaders)
	expect.That(t, r.Caption(leaders[0].Experiment) == "settled in 1 of 2 settings (95 % each)", "%s",
		r.Caption(leaders[0].Experiment))

	named := byTimeTo()
	named.Rows = []string{"0.2", "0.1"}
	r = expect.Value(New(named, jobs, runs))(t)
	expect.Must(t, len(r.Blocks) == 2, "%d blocks", len(r.Blocks))
	p := r.Blocks[0].Pairs[0]
	expect.That(t, p.A == "0.2" && p.B == "0.1" && p.Decision == certainty.B &&
		r.Blocks[0].Point[0] == results.Setting{Key: "method", Value: "a"}, "%+v at %v", p, r.Blocks[0].Point)
	named.Rows = []string{"0.2", "a"}
	_, err := New(named, jobs, runs)
	expect.That(t, err != nil && strings.Contains(err.Error(), "must all be methods"), "a value and a method: %v", err)
}

// A row that never reaches the target loses to one that does. Runs that ended count for what is known of them alone,
// and nothing is claimed of two rows that never reach it.
func TestCensoredRows(t *testing.T) {
	const reached, ended, never = results.Reached, results.Ended, results.Never
	for _, c := range []struct {
		a, b      float64
		as, bs    results.State
		want      certainty.Decision
		low, high float64
		text      string
	}{
		{1, 2, reached, never, certainty.A, math.Inf(1), math.Inf(1), "b never reaches it"},
		{2, 1, never, reached, certainty.B, 0, 0, "a never reaches it"},
		{1, 2, reached, ended, certainty.A, 2, math.Inf(1), "b takes at least 2 times as long as a"},
		{2, 1, ended, reached, certainty.B, 0, 0.5, "b takes at most 0.5 times as long as a"},
		{2, 1, reached, ended, certainty.Open, 0.5, math.Inf(1), "more seeds cannot help"},
		{1, 2, ended, ended, certainty.Open, 0, math.Inf(1), "more seeds cannot help"},
		{1, 2, never, ended, certainty.Open, 0, math.Inf(1), "more seeds cannot help"},
		{1, 2, never, never, certainty.Open, 0, math.Inf(1), "more seeds cannot help"},
	} {
		var runs []results.Run
		for seed := range uint64(7) {
			runs = append(runs, runOf("a", seed+1, c.a, c.as), runOf("b", seed+1, c.b, c.bs))
		}
		r := expect.Value(New(byTimeTo(), jobsOf(runs), runs))(t)
		p, text := r.Pairs[0], r.Sections().Text(80)
		settled := c.want != certainty.Open
		expect.That(t, p.Decision == c.want && p.Low == c.low && p.High == c.high && r.Settled == settled,
			"%v %v against %v %v: %s in [%v, %v], want %s in [%v, %v]", c.a, c.as, c.b, c.bs, p.Decision, p.Low, p.High,
			c.want, c.low, c.high)
		expect.That(t, strings.Contains(text, c.text), "%q is not in:\n%s", c.text, text)
	}
}

// The seeds that a comparison would need are those of the test if all seeds favor one row, more if some do not, and
// none if half do not.
func TestNeeded(t *testing.T) {
	for _, c := range []struct {
		against, of uint64
		want        string
	}{
		{0, 3, "which row is first to primal sub-optimality 1e-01, by 5 % (95 %): " +
			"about 7 seeds, if others are like these 3"},
		{1, 6, "about 20 seeds"}, {2, 4, "no number of seeds is enough if others are like these 4"},
		{0, 7, "the 7 seeds are enough"}, {0, 1, ""},
	} {
		var runs []results.Run
		for seed := range c.of {
			b := 2.0
			if seed < c.against {
				b = 0.5
			}
			runs = append(runs, runOf("a", seed+1, 1, results.Reached), runOf("b", seed+1, b, results.Reached))
		}
		text := strings.Join(strings.Fields(Needed(byTimeTo(), jobsOf(runs), runs).Text(80)), " ")
		expect.That(t, strings.Contains(text, c.want) && (text == "") == (c.want == ""), "%d of %d seeds: %q, want %q",
			c.against, c.of, text, c.want)
	}
	var alone []results.Run
	for seed := range uint64(3) {
		alone = append(alone, runOf("a", seed+1, 1, results.Reached))
	}
	expect.That(t, Needed(byTimeTo(), jobsOf(alone), alone) == nil, "one row needs seeds")
}

// Seeds that chose options do not count, nor does a seed after one that is not finished in every row.
func TestSeedsThatCount(t *testing.T) {
	var runs []results.Run
	for seed := range uint64(9) {
		b := 2.0
		if seed < 2 { // they would leave the pair open
			b = 0.5
		}
		runs = append(runs, runOf("a", seed+1, 1, results.Reached), runOf("b", seed+1, b, results.Reached))
	}
	jobs := jobsOf(runs)
	jobs[1].Tuned, jobs[1].TunedTo = 2, results.ToSuboptimality(0.01)
	r := expect.Value(New(byTimeTo(), jobs, runs))(t)
	expect.That(t, r.Settled && r.Seeds[0] == 3 && len(r.Seeds) == 7 && r.TuningSeeds == 2, "seeds %v", r.Seeds)
	text := r.Sections().Text(80)
	const note = "tuned under seeds 1-2 (not counted), to primal sub-optimality 1e-02"
	expect.That(t, strings.Contains(text, note), "%s", text)
	for _, status := range []results.Status{results.Interrupted, ""} {
		broken := slices.Clone(runs)
		broken[2*4].Status = status // seed 5 of a
		r = expect.Value(New(byTimeTo(), jobs, broken))(t)
		expect.That(t, !r.Settled && len(r.Seeds) == 0 && slices.Equal(needsOf(r, 2), []int{7, 7}),
			"status %q: seeds %v, needs %v", status, r.Seeds, needsOf(r, 2))
	}
}

// The number of seeds that is expected is rounded, and not below the next one after which more can be decided.
func TestRateIsNotBelowNext(t *testing.T) {
	for n := uint64(100); n < 103; n++ {
		for against := n / 4; against < n/2; against++ {
			var runs []results.Run
			for seed := range n {
				b := 2.0
				if seed < 2*against && seed%2 == 0 { // so that nothing is decided before
					b = 0.5
				}
				runs = append(runs, runOf("a", seed+1, 1, results.Reached), runOf("b", seed+1, b, results.Reached))
			}
			c := byTimeTo()
			c.MaxSeeds = int(n)
			r := expect.Value(New(c, jobsOf(runs), runs))(t)
			_, text, found := strings.Cut(r.Sections().Text(80), "at this rate about ")
			about := 0
			_, _ = fmt.Sscan(text, &about)
			expect.That(t, !found || about >= r.Next, "%d of %d seeds oppose: about %d seeds, next %d", against, n,
				about, r.Next)
		}
	}
}
