package command

import (
	"testing"
	"time"

	"fedsim/internal/tools/expect"
)

func TestRemaining(t *testing.T) {
	start := time.Unix(1e9, 0)
	type seen struct {
		share  float64
		atS    int
		before float64
	}
	for _, c := range []struct {
		name  string
		notes []seen
		want  string
	}{
		{"nothing is done", []seen{{0, 0, 0}, {0, 60, 0}}, ""},
		{"a constant rate", []seen{{0, 0, 0}, {0.25, 10, 0}, {0.5, 20, 0}}, ", about 20s left"},
		// 50 s of preparation do not count: a tenth took 10 s.
		{"preparation", []seen{{0, 0, 0}, {0.001, 50, 0}, {0.101, 60, 0}}, ", about 1m30s left"},
		{"too small a share", []seen{{0, 0, 0}, {0.001, 1, 0}, {0.009, 100, 0}}, ""},
		{"too short a time", []seen{{0, 0, 0}, {0.001, 1, 0}, {0.5, 3, 0}}, ""},
		{"the end", []seen{{0, 0, 0}, {0.5, 10, 0}, {1, 20, 0}}, ""},
		// The runs end and a table starts: only the table counts.
		{"a share that restarts", []seen{{0, 0, 0}, {0.5, 10, 0}, {1, 20, 0}, {0.1, 30, 0}, {0.2, 40, 0}},
			", about 1m20s left"},
		// Half was done before the run was resumed: a tenth took 10 s.
		{"a resumed run", []seen{{0, 0, 0}, {0.5, 1, 0.49}, {0.59, 10, 0.49}, {0.61, 11, 0.5}}, ", about 39s left"},
		{"hours", []seen{{0.01, 0, 0}, {0.02, 60, 0}, {0.03, 120, 0}}, ", about 1h37m0s left"},
	} {
		var r remaining
		var now time.Time
		for _, n := range c.notes {
			now = start.Add(time.Duration(n.atS) * time.Second)
			r.note(n.share, n.before, now)
		}
		got := r.text(now)
		expect.That(t, got == c.want, "%s: %q, must be %q", c.name, got, c.want)
	}
}
