package command

import (
	"testing"
	"time"
)

func TestRemaining(t *testing.T) {
	start := time.Unix(1e9, 0)
	type seen struct {
		share float64
		atS   int
	}
	for _, c := range []struct {
		name  string
		notes []seen
		want  string
	}{
		{"nothing is done", []seen{{0, 0}, {0, 60}}, ""},
		{"an even pace", []seen{{0, 0}, {0.25, 10}, {0.5, 20}}, ", about 20s left"},
		// 50 s of preparation are not taken for the pace of the runs: a tenth took 10 s.
		{"what comes before", []seen{{0, 0}, {0.001, 50}, {0.101, 60}}, ", about 1m30s left"},
		{"a share too small to tell", []seen{{0, 0}, {0.001, 1}, {0.009, 100}}, ""},
		{"a time too short to tell", []seen{{0, 0}, {0.001, 1}, {0.5, 3}}, ""},
		{"the end", []seen{{0, 0}, {0.5, 10}, {1, 20}}, ""},
		// The runs are over and a table begins: its own pace counts.
		{"a share that begins anew", []seen{{0, 0}, {0.5, 10}, {1, 20}, {0.1, 30}, {0.2, 40}}, ", about 1m20s left"},
		{"hours", []seen{{0.01, 0}, {0.02, 60}, {0.03, 120}}, ", about 1h37m0s left"},
	} {
		var r remaining
		var now time.Time
		for _, n := range c.notes {
			now = start.Add(time.Duration(n.atS) * time.Second)
			r.note(n.share, now)
		}
		if got := r.text(now); got != c.want {
			t.Errorf("%s: %q, must be %q", c.name, got, c.want)
		}
	}
}
