package results_test

import (
	"fmt"

	"fedsim/results"
)

// The cost of reaching a test error of 10 %.
func Example() {
	run := results.Run{Method: "MOCHA", Rounds: []results.Round{
		{Round: 0, TestError: 0.5},
		{Round: 1, TestError: 0.2, TimeS: 30, BytesUp: 1e6},
		{Round: 2, TestError: 0.1, TimeS: 60, BytesUp: 1e6},
	}}
	target := results.Target{Metric: "test_error", Value: 0.1}
	if cost := run.CostTo(target); cost.Reached {
		fmt.Printf("%s reached %s in %.0f rounds, %s and %s\n", run.Method, target.Text(run),
			cost.Rounds, results.HumanTime(cost.TimeS), results.Scaled(cost.Bytes, "B"))
	}
	// Output: MOCHA reached test error by rows 10 % in 2 rounds, 60.0 s and 2.00 MB
}
