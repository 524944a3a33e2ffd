package verify

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
	"fedsim/results/rundir"
)

// run returns a run of three rounds.
func run() *results.Run {
	r := &results.Run{ID: "a/mocha/seed=1", Status: results.Done}
	r.EventHash, r.ModelHash = 1, 2
	for i := range 3 {
		round := results.Round{Round: i, TimeS: float64(i), Primal: math.NaN(), Participants: 5}
		round.Metrics = []results.NamedValue{{Name: "depth", Value: float64(i)}}
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

// The first difference is named by its round and column; equal runs have none, and unknown values are equal.
func TestDiffer(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*results.Run)
		want   string
	}{
		{"nothing", func(*results.Run) {}, ""},
		{"another unknown value", func(r *results.Run) {
			r.Rounds[1].Primal = math.Float64frombits(math.Float64bits(math.NaN()) ^ 1)
		}, ""},
		{"a bit of a time", func(r *results.Run) {
			r.Rounds[1].TimeS, r.Rounds[2].TimeS = math.Nextafter(1, 2), 9
		}, "run a/mocha/seed=1, round 1: time_s: 1.0000000000000002 here, 1 claimed"},
		{"the sign of zero", func(r *results.Run) { r.Rounds[0].TimeS = math.Copysign(0, -1) },
			"run a/mocha/seed=1, round 0: time_s: -0 here, 0 claimed"},
		{"a count", func(r *results.Run) { r.Rounds[2].Participants = 4 },
			"run a/mocha/seed=1, round 2: participants: 4 here, 5 claimed"},
		{"a named metric", func(r *results.Run) { r.Rounds[2].Metrics[0].Value = 7 },
			"run a/mocha/seed=1, round 2: depth: 7 here, 2 claimed"},
		{"a metric that is absent", func(r *results.Run) { r.Rounds[2].Metrics = nil },
			"run a/mocha/seed=1, round 2: named metrics: 0 here, 1 claimed"},
		{"a round less", func(r *results.Run) { r.Rounds = r.Rounds[:2] },
			"run a/mocha/seed=1: rounds: 2 here, 3 claimed"},
		{"another end", func(r *results.Run) { r.Status = results.Stalled },
			"run a/mocha/seed=1: status: stalled here, done claimed"},
		{"events", func(r *results.Run) { r.EventHash = 3 },
			"run a/mocha/seed=1: event_hash: 0000000000000003 here, 0000000000000001 claimed"},
		{"the model", func(r *results.Run) { r.ModelHash = 3 },
			"run a/mocha/seed=1: model_hash: 0000000000000003 here, 0000000000000002 claimed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, said := run(), ""
			test.change(found)
			if d := Differ(run(), found); d != nil {
				said = d.String()
			}
			expect.That(t, said == test.want, "got  %q\nwant %q", said, test.want)
		})
	}
}

// Runs that are missing or too many differ; a sample lacks runs.
func TestRunsThatAreMissing(t *testing.T) {
	second := run()
	second.ID = "a/mocha/seed=2"
	c := Claim{Claim: rundir.Claim{}, Runs: []results.Run{*run(), *second}}
	expect.That(t, c.differ(c.Runs, false) == nil, "equal runs differ")
	expect.That(t, c.differ(c.Runs[1:], true) == nil, "a sample of equal runs differs")
	expect.That(t, c.differ(c.Runs[1:], false) != nil, "a missing run is not noticed")
	expect.That(t, c.differ(append(c.Runs, *second), false) != nil, "a run too many is not noticed")
	c.Runs[1].Rounds = c.Runs[1].Rounds[:1]
	expect.That(t, c.differ([]results.Run{*run(), *second}, true) != nil, "a difference in the sample is not noticed")
}
