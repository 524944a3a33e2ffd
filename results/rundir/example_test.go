package rundir_test

import (
	"fmt"
	"log"

	"fedsim/results"
	"fedsim/results/rundir"
)

// The time to the first target of each run in a run directory.
func Example() {
	r, err := rundir.Read("testdata/example")
	if err != nil {
		log.Fatal(err)
	}
	target := r.Manifest.Targets[0]
	for _, run := range r.Runs {
		if cost := run.CostTo(target); cost.Reached {
			fmt.Printf("%s, seed %d: %s in %s\n", run.Method, run.Seed, target, results.HumanTime(cost.TimeS))
		}
	}
	// Output:
	// mocha, seed 1: suboptimality 0.5 in 140 ms
	// mocha, seed 2: suboptimality 0.5 in 70.2 ms
}
