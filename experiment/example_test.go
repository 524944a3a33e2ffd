package experiment_test

import (
	"context"
	"fmt"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/results"
)

// Choose the epochs of MOCHA that reach a sub-optimality of 1e-2 first.
func ExampleTune() {
	scenario, err := scenario.Parse("epochs.toml", []byte(`
name = "epochs"
run.rounds = 100
methods.mocha = {}
[data.synthetic]
clients = 5
[[experiment]]
name = "tuned"
tune.mocha = { "options.epochs" = [0.1, 1, 10] }
tuning = { target = { suboptimality = 1e-2 } }
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	grids, err := experiment.Tune(context.Background(), scenario.Experiments, experiment.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, trial := range grids[0].Trials {
		fmt.Printf("%s epochs: %s, winner: %t\n", trial.Options[0].Value, results.HumanTime(trial.TimeS),
			i == grids[0].Winner)
	}
	// Output:
	// 0.1 epochs: 7.08 s, winner: false
	// 1 epochs: 1.27 s, winner: false
	// 10 epochs: 212 ms, winner: true
}
