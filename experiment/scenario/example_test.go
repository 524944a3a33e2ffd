package scenario_test

import (
	"fmt"

	"fedsim/experiment/scenario"
)

// The runs of a shipped scenario with other seeds.
func Example() {
	scenario, err := scenario.Load("deadline", []string{"run.seeds=[1, 2]"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, experiment := range scenario.Experiments {
		for _, job := range experiment.Jobs {
			for _, seed := range job.Seeds {
				run := job.Candidates[0].WithSeed(seed)
				fmt.Println(run.ID, "over", run.Settings.Network.Profile)
			}
		}
	}
	// Output:
	// deadline/mocha/options.epochs=1/seed=1 over lte
	// deadline/mocha/options.epochs=1/seed=2 over lte
	// deadline/cocoa/options.theta=0.7/seed=1 over lte
	// deadline/cocoa/options.theta=0.7/seed=2 over lte
}
