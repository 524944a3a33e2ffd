package experiment

import (
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
)

var sameBits = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })

// A recorder receives each round of each run as the results have it, but no trials:
// also rounds without evaluation, recorded runs, timing mode and asynchronous runs. A
// resumed run repeats its rounds from the first.
func TestRoundsAreObserved(t *testing.T) {
	e := parse(t, eventful, "run.eval_every=3")
	var mu sync.Mutex
	told := map[int][]results.Round{}
	watch := func(index int, run results.Run) func(results.Round) {
		mu.Lock()
		defer mu.Unlock()
		expect.That(t, run.ID != "" && run.Algorithm != "" && run.Seed != 0, "told of %+v", run)
		told[index] = nil
		return func(r results.Round) {
			mu.Lock()
			defer mu.Unlock()
			told[index] = append(told[index], r)
		}
	}
	check := func(runs map[int]results.Run) {
		t.Helper()
		expect.That(t, len(told) == len(runs), "told of %d runs of %d", len(told), len(runs))
		for i, r := range runs {
			d := cmp.Diff(r.Rounds, told[i], sameBits)
			expect.That(t, d == "", "%s: %s", r.ID, d)
		}
		clear(told)
	}
	check(mustGather(t, e, Options{Workers: 2, Recorder: &recordtest.Recorder{Rounds: watch}}))
	patience := 20
	longer := func() int { patience += 20; return patience }
	check(resumed(t, t.Context(), e, longer, Options{Workers: 2, Recorder: &recordtest.Recorder{Rounds: watch}}))
}
