package experiment

import (
	"context"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
)

// All jobs run under their first seed before any runs under its second, so that a study that
// is interrupted has every point once. Results keep their places.
func TestSeedsAreTheOutermostAxis(t *testing.T) {
	e := parse(t, several)
	var order []uint64
	runs, err := gather(t.Context(), e,
		Options{Workers: 1, Recorder: &recordtest.Recorder{Rounds: func(_ int, run results.Run) func(results.Round) {
			order = append(order, run.Seed)
			return func(results.Round) {}
		}}})
	expect.NoError(t, err)
	want := slices.Concat(slices.Repeat([]uint64{5}, 6), slices.Repeat([]uint64{2}, 6), slices.Repeat([]uint64{9}, 6))
	expect.That(t, slices.Equal(order, want), "seeds run in the order %v, want %v", order, want)
	ctx, cancel := context.WithCancel(t.Context())
	started := 0
	stopped, err := gather(ctx, e,
		Options{Workers: 1, Recorder: &recordtest.Recorder{Rounds: func(int, results.Run) func(results.Round) {
			if started++; started == 7 {
				cancel()
			}
			return func(results.Round) {}
		}}})
	expect.Must(t, Interrupted(err), "error %v", err)
	for i := range e[0].Jobs {
		if r := stopped[3*i]; r.Status != results.Done || text(r) != text(runs[3*i]) {
			t.Errorf("job %d has no finished run after an interruption under the second seed", i)
		}
	}
}

// Runs that wait for the same recording come after the first of it. Several seeds come together
// if there are more workers than recordings of a seed.
func TestRunsThatShareARecordingComeLater(t *testing.T) {
	e := parse(t, several)
	for _, c := range []struct{ workers, together int }{{1, 1}, {3, 1}, {4, 2}, {6, 2}, {7, 3}} {
		r := newRunner(t.Context(), func(error) {}, Options{Workers: c.workers}, mostRecorded)
		jobs := r.jobs(e)
		r.choose(jobs)
		var got, want []string
		for _, x := range r.order(jobs) {
			got = append(got, x.job.winner.WithSeed(x.job.Seeds[x.seed]).ID)
		}
		for wave := 0; wave < 3; wave += c.together {
			for _, half := range [][]int{{0, 1, 4}, {2, 3, 5}} { // a drop probability or link, and the other one
				for k := wave; k < min(wave+c.together, 3); k++ {
					for _, i := range half {
						want = append(want, jobs[i].winner.WithSeed(jobs[i].Seeds[k]).ID)
					}
				}
			}
		}
		expect.That(t, slices.Equal(got, want), "%d workers: %q, want %q", c.workers, got, want)
	}
}
