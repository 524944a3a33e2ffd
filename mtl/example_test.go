package mtl_test

import (
	"context"
	"fmt"
	"log"

	"fedsim/data"
	"fedsim/mtl"
)

// Two tasks with two rows each, coupled through a known relationship. The duality gap
// certifies the result: the optimum lies between Primal - Gap and Primal.
func Example() {
	task := func(name string, x, y []float64) data.Client {
		return data.Client{Name: name, X: data.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: x}, Y: y}
	}
	train := &data.Set{Name: "example", Features: 2, Clients: []data.Client{
		task("a", []float64{1, 2, -1, 0}, []float64{1, -1}),
		task("b", []float64{2, 1, 0, -1}, []float64{1, -1}),
	}}
	config := mtl.Defaults()
	config.Loss, config.Regularizer = mtl.LossSquared, mtl.RegMean
	config.Lambda1, config.Lambda2 = 1, 0.1
	problem, err := mtl.NewProblem(config, data.Split{Train: train, Test: &data.Set{Features: 2}})
	if err != nil {
		log.Fatal(err)
	}
	coupling, err := problem.Regularizer.Start(nil, problem.Tasks())
	if err != nil {
		log.Fatal(err)
	}
	optimum := problem.Solver(nil, 1e-9, 1000).Optimize(context.Background(), coupling, nil)
	fmt.Printf("P = %.4f, relative gap below 1e-9: %t\n", optimum.Primal, optimum.RelativeGap <= 1e-9)
	fmt.Printf("w_a = %.3f, w_b = %.3f\n", optimum.W.Row(0), optimum.W.Row(1))
	// Output:
	// P = 0.2330, relative gap below 1e-9: true
	// w_a = [0.455 0.313], w_b = [0.313 0.455]
}
