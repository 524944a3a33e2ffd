package experiment

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/results"
)

// The time for which a program was asked is that of each run, and of the first one that shares rounds with
// others. The clock here ticks at each look, which makes a second of a request.
func TestTimeOfAProgram(t *testing.T) {
	racetest.Skip(t, "counts seconds of runs one after another")
	t.Parallel()
	const sweep = "[experiment.sweep]\n\"devices.clock_ghz\" = [1.0, 2.0]\n"
	// Training and test rows in three evaluations; five clients with one mini-batch in each of two rounds.
	whole, nothing := results.ProgramTime{EvaluateS: 6, GradientS: 10}, results.ProgramTime{}
	for protocol, want := range map[string][2]results.ProgramTime{"first": {whole, whole},
		"wait-for-all": {whole, nothing}} {
		var ticks atomic.Int64
		o := Options{Workers: 1, Clock: func() time.Time { return time.Unix(ticks.Add(1), 0) }}
		set := append(slices.Clone(withClasses), "run.rounds=2", "methods.fedavg.options.batch=all",
			"federation.protocol="+protocol)
		runs := mustGather(t, parse(t, servedBy(sweep), set...), o)
		for i, of := range want {
			got := runs[i].ProgramTime
			expect.That(t, got != nil && *got == of, "%s, run %d: %+v, want %+v", protocol, i, got, of)
		}
		if runs[0].EventHash == runs[1].EventHash || runs[0].ModelHash != runs[1].ModelHash && protocol != "first" {
			t.Errorf("%s: events %x and %x, models %x and %x", protocol, runs[0].EventHash, runs[1].EventHash,
				runs[0].ModelHash, runs[1].ModelHash)
		}
	}
	inside := mustGather(t, parse(t, "[methods.fedavg]\n", append(slices.Clone(withClasses), "run.rounds=2")...),
		Options{})[0]
	expect.That(t, inside.ProgramTime == nil, "a model of fedsim has %+v", inside.ProgramTime)
}
