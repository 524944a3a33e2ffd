package calibration

import (
	"slices"
	"strings"
	"testing"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/expect"
)

// A run within the sizes and the work that were fitted has no word. Beyond them are named what lies there, and what the
// log did not identify of it.
func TestRunsBeyondTheCalibrated(t *testing.T) {
	w := draw(5)
	base, long, large, fine := calibrationRuns[0], calibrationRuns[1], calibrationRuns[2], calibrationRuns[3]
	for name, c := range map[string]struct {
		log             *attemptlog.Log
		run             work
		beyond, missing []string
	}{
		"the same": {w.log(1, 2, base), base, nil, nil},
		"between":  {w.log(1, 2, calibrationRuns...), work{"", 1.5e5, 2, 16, 4e5, 1e5}, nil, nil},
		"more epochs": {w.log(1, 2, base), long, []string{"steps", "FLOP"},
			[]string{"task_overhead_s", "step_overhead_s"}},
		"larger": {w.log(1, 2, base, long), large, []string{"bytes down", "bytes up", "FLOP a step"},
			[]string{"burst_bytes", "step_overhead_s"}},
		"smaller batches": {w.log(1, 2, base, long, large), fine, []string{"rows a batch"}, nil},
		"identified, farther": {w.log(1, 2, calibrationRuns...), work{"", 4e5, 1, 32, 3e5, 1e5},
			[]string{"bytes down", "bytes up"}, nil},
	} {
		got := expect.Value(Fit(c.log, Options{Resamples: -1}))(t)
		beyond, missing := got.Beyond(w.log(2, 1, c.run).Runs[0])
		for _, want := range c.beyond {
			if !slices.ContainsFunc(beyond,
				func(s string) bool { return strings.Contains(s, " "+want+" (calibrated: ") }) {
				t.Errorf("%s: %q lacks %s", name, beyond, want)
			}
		}
		for _, want := range c.missing {
			expect.That(t, slices.Contains(missing, want), "%s: %q lacks %s", name, missing, want)
		}
		expect.That(t, (c.beyond != nil || len(beyond) == 0) && (c.missing != nil || len(missing) == 0),
			"%s: beyond %q, missing %q", name, beyond, missing)
	}
}
