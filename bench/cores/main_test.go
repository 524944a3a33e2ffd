package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"fedsim/results"
	"fedsim/results/rundir"
)

// All work runs with one and two workers and has a row.
func TestCompare(t *testing.T) {
	if testing.Short() {
		t.Skip("builds fedsim")
	}
	var out bytes.Buffer
	if err := compare(&out, 1, 2, 2); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "| 10 short runs") || !strings.Contains(out.String(), "| merge") {
		t.Errorf("the plan is missing in\n%s", out.String())
	}
	for _, w := range works {
		if !strings.Contains(out.String(), w.name) {
			t.Errorf("the row of %s is missing in\n%s", w.name, out.String())
		}
	}
}

// The time of a single run does not include the preparation of its data.
func TestSpent(t *testing.T) {
	start := time.Unix(100, 0)
	end := start.Add(5 * time.Second)
	r := &rundir.Results{Manifest: rundir.Manifest{Clock: &rundir.Clock{Started: start, Finished: &end}},
		Runs: []results.Run{{Clocked: results.Clocked{WallS: 3}}}}
	if s, err := spent(r); s != 3 || err != nil {
		t.Errorf("a single run: %g s, %v", s, err)
	}
	r.Runs = append(r.Runs, results.Run{Clocked: results.Clocked{WallS: 4}})
	if s, err := spent(r); s != 5 || err != nil {
		t.Errorf("two runs: %g s, %v", s, err)
	}
	r.Manifest.Clock.Finished = nil
	if _, err := spent(r); err == nil {
		t.Error("an unfinished run has a time")
	}
}

func TestMedian(t *testing.T) {
	if m := median([]float64{3, 1, 2}); m != 2 {
		t.Errorf("the median of 1, 2, 3 is %g", m)
	}
}
