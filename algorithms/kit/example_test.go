package kit_test

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/data"
	"fedsim/mtl"
)

// cautious is federated averaging whose server adds half of the mean of the changes.
type cautious struct{ kit.GlobalModel }

func (c *cautious) End() (flops float64, err error) {
	return c.Round.Apply(c.Weights(), 0.5) + c.Link.Take(), nil
}

type options struct{ kit.AverageOptions }

func init() {
	kit.Register(algorithms.Factory{
		Name: "cautious", Summary: "federated averaging with half a step of the server",
		Options:  func() algorithms.Options { return &options{kit.DefaultAverage(kit.ByRows)} },
		Describe: kit.Averaging,
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return &cautious{kit.NewGlobalModel(s, o.(*options).AverageOptions, 0)}, nil
		},
	})
}

// A method that varies federated averaging embeds kit.GlobalModel and overrides the methods that differ.
func Example() {
	x := data.NewMatrix(2, 1) // two rows of one feature
	x.Row(0)[0], x.Row(1)[0] = 1, -1
	rows := data.Client{X: x, Y: []float64{1, -1}}
	set := &data.Set{Features: 1, Clients: []data.Client{rows, rows}}
	problem, err := mtl.NewProblem(mtl.Defaults(), data.Split{Train: set, Test: set})
	if err != nil {
		panic(err)
	}
	method, _ := algorithms.Lookup("cautious")
	run, err := method.Start(algorithms.Setup{Problem: problem, Shape: problem.Shape, Workers: 1}, method.Options())
	if err != nil {
		panic(err)
	}
	for range 3 {
		_, _ = run.Begin() // it does not fail
		for device := range problem.Clients() {
			run.Solve(algorithms.Request{Device: device, Steps: algorithms.NoLimit})
			run.Commit(device, 1)
		}
		_, _ = run.End()
		fmt.Printf("%.3f\n", run.Model().W.Row(0))
	}
	// Output:
	// [0.050]
	// [0.100]
	// [0.150]
}
