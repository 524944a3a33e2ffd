package algorithms_test

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/mtl"
)

// descent is gradient descent on the mean loss of one model: devices send the gradients of their
// rows, and the server takes a step along their mean. A method is one file like this one, whose init
// function registers the factory.
type descent struct {
	algorithms.Described
	problem   *mtl.Problem
	step      float64
	w         data.Matrix // one row
	gradients data.Matrix // tentative, by device
	taken     []int       // devices
}

type descentOptions struct {
	Step float64 `toml:"step" doc:"step size of the server"`
}

func (o *descentOptions) Validate(c *config.Checker) {
	c.Require(o.Step > 0, "step", o.Step, "must be positive")
}

var descentFactory = algorithms.Factory{
	Name: "descent", Summary: "gradient descent", Reference: "Cauchy, 1847",
	Options: func() algorithms.Options { return &descentOptions{Step: 1} },
	Describe: func(_ algorithms.Options, shape mtl.Shape) algorithms.Description {
		return algorithms.Description{Model: algorithms.OneModel, Work: algorithms.Workload{
			StepFLOPs: shape.RowFLOPs(), Steps: func(rows, allowed int) int { return min(rows, allowed) },
		}}
	},
	New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
		p := s.Problem
		return &descent{
			Described: algorithms.Described{About: s.Description}, problem: p, step: o.(*descentOptions).Step,
			w: data.NewMatrix(1, p.Values()), gradients: data.NewMatrix(p.Clients(), p.Values()),
		}, nil
	},
}

func (d *descent) Begin() (algorithms.Sent, error) {
	d.taken = d.taken[:0]
	return algorithms.Sent{Size: d.w.Cols}, nil
}

func (d *descent) Solve(r algorithms.Request) algorithms.Response {
	task := &d.problem.Train.Clients[r.Device]
	steps := d.About.Work.Steps(task.X.Rows, r.Steps)
	var order mtl.Order
	order.Reset(task.X.Rows, r.Stream)
	g := d.gradients.Row(r.Device)
	clear(g)
	d.problem.NewGradient().Sum(task, order.Take(steps), d.w.Row(0), 1/float64(steps), g)
	return algorithms.Response{Steps: steps, FLOPs: d.About.Work.Of(task.X.Rows, steps), Values: len(g)}
}

func (d *descent) Commit(device int, _ float64) { d.taken = append(d.taken, device) }
func (d *descent) Discard(int)                  {}
func (d *descent) Model() algorithms.Model      { return algorithms.Model{W: &d.w} }

func (d *descent) End() (flops float64, err error) {
	for _, k := range d.taken {
		d.gradients.Axpy(-d.step/float64(len(d.taken)), k, d.w.Row(0))
	}
	return 2 * float64(len(d.taken)*d.w.Cols), nil
}

// A user-defined method runs for three rounds; its factory describes it before the run.
func Example_method() {
	x := data.NewMatrix(2, 1) // two rows of one feature
	x.Row(0)[0], x.Row(1)[0] = 1, -1
	rows := data.Client{X: x, Y: []float64{1, -1}}
	set := &data.Set{Features: 1, Clients: []data.Client{rows, rows}}
	problem, err := mtl.NewProblem(mtl.Defaults(), data.Split{Train: set, Test: set})
	if err != nil {
		panic(err)
	}
	options := descentFactory.Options()
	about := descentFactory.Describe(options, problem.Shape)
	fmt.Printf("one model: %v, %g FLOPs for both rows\n", about.Model == algorithms.OneModel, about.Work.Of(2, 2))
	run, err := descentFactory.Start(algorithms.Setup{Problem: problem, Shape: problem.Shape, Workers: 1}, options)
	if err != nil {
		panic(err)
	}
	for range 3 {
		_, _ = run.Begin() // this method does not fail
		for device := range problem.Clients() {
			run.Solve(algorithms.Request{Device: device, Steps: algorithms.NoLimit})
			run.Commit(device, 1)
		}
		_, _ = run.End()
	}
	fmt.Printf("w = %g\n", run.Model().W.Row(0))
	// Output:
	// one model: true, 8 FLOPs for both rows
	// w = [1]
}
