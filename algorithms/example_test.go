package algorithms_test

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/mtl"
)

// Fifty rounds of MOCHA without a simulation: every device responds in every round.
func Example() {
	x := data.NewMatrix(2, 1) // two rows of one feature
	x.Row(0)[0], x.Row(1)[0] = 1, -1
	rows := data.Client{X: x, Y: []float64{1, -1}}
	set := &data.Set{Features: 1, Clients: []data.Client{rows, rows}}
	problem, err := mtl.NewProblem(mtl.Defaults(), data.Split{Train: set, Test: set})
	if err != nil {
		panic(err)
	}
	coupling, err := problem.Regularizer.Start(nil, problem.Tasks())
	if err != nil {
		panic(err)
	}

	mocha, _ := algorithms.Lookup("mocha")
	run, err := mocha.Start(algorithms.Setup{Problem: problem, Shape: problem.Shape, Coupling: coupling, Workers: 1},
		mocha.Options())
	if err != nil {
		panic(err)
	}
	for range 50 {
		_, _ = run.Begin() // it does not fail
		for device := range problem.Clients() {
			run.Solve(algorithms.Request{Device: device, Steps: algorithms.NoLimit})
			run.Commit(device, 1)
		}
		_, _ = run.End()
	}
	model := run.Model()
	now := problem.Evaluate(nil, coupling, model.W, model.V, model.Duals)
	fmt.Printf("objective %.4f, test error %g, gap below 1e-6: %v\n", now.Primal, now.TestError, now.Gap < 1e-6)
	// Output: objective 0.0200, test error 0, gap below 1e-6: true
}
