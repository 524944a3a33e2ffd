// Package fedavgprox is federated averaging with a proximal term, written outside of
// fedsim. Device k, which was sent the model w_sent and has n_k rows, makes steps of
// mini-batch gradient descent on
//
//	1/n_k sum_i loss(w . x_ki, y_ki) + mu/2 |w - w_sent|^2
//
// and the server adds to its model the mean of the devices' changes, weighted by n_k
// (Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith: Federated Optimization in Heterogeneous
// Networks, MLSys 2020). fedsim has the same method under the name fedprox; a test here
// shows that both have the same bits.
package fedavgprox

import (
	"math"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/mtl"
)

// Options are decoded strictly from the options of the method's table, over the factory's
// defaults.
type Options struct {
	Epochs float64 `toml:"epochs" doc:"local passes over a client's rows in a round"`
	Batch  int     `toml:"batch" doc:"rows of a mini-batch"`
	Step   float64 `toml:"step" doc:"step size of the local steps"`
	Mu     float64 `toml:"mu" doc:"mu of the proximal term mu/2 |w - w_sent|^2; 0: plain federated averaging"`
}

// Validate reports everything wrong with the options.
func (o *Options) Validate(c *config.Checker) {
	c.Require(o.Epochs > 0 && o.Epochs <= 1e6, "epochs", o.Epochs, "must be in (0, 1e6]")
	c.Require(o.Batch >= 1, "batch", o.Batch, "must be at least 1")
	c.Require(o.Step > 0 && o.Step <= 1e12, "step", o.Step, "must be in (0, 1e12]")
	c.Require(o.Mu >= 0 && o.Mu*o.Step < 2, "mu", o.Mu, "must be in [0, 2/step): local steps would overshoot more each time")
}

func init() {
	algorithms.Register(algorithms.Factory{
		Name:      "fedavg-prox",
		Summary:   "federated averaging with a proximal term, from another module",
		Reference: "Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith: Federated Optimization in Heterogeneous Networks, MLSys 2020",
		Options:   func() algorithms.Options { return &Options{Epochs: 1, Batch: 32, Step: 0.1, Mu: 0.1} },
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			return algorithms.Description{Model: algorithms.OneModel, Work: o.(*Options).workload(shape), State: algorithms.Yes}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return newMethod(s, *o.(*Options)), nil
		},
	})
}

// workload is the work of devices, which is known in advance: a gradient for each row, and an
// update of the d values of the model, 5d, for each mini-batch, however few rows it has.
func (o *Options) workload(shape mtl.Shape) algorithms.Workload {
	row, update := shape.RowFLOPs(), 5*float64(shape.Values())
	return algorithms.Workload{
		StepFLOPs: row + update/float64(o.Batch),
		Steps: func(rows, allowed int) int {
			return min(allowed, int(math.Ceil(o.Epochs*float64(rows))))
		},
		FLOPs: func(rows, steps int) float64 {
			batches := func(n int) int { return (n + o.Batch - 1) / o.Batch }
			updates := steps/rows*batches(rows) + batches(steps%rows)
			return float64(float64(steps)*row) + float64(float64(updates)*update)
		},
	}
}

// method is one run: the server's model w, and the work of its devices.
type method struct {
	algorithms.Described
	opts    Options
	problem *mtl.Problem
	w       []float64
	model   data.Matrix // w for every task: the model that the run evaluates
	change  data.Matrix // of w, tentative, one row a device
	sum     data.Matrix // of the changes taken in this round, weighted; one row
	rows    float64     // of the devices they come from
	taken   int         // devices
	local   []local     // by worker, so that a solve allocates nothing
}

type local struct {
	order    mtl.Order
	gradient *mtl.Gradient
	u, g     []float64
}

// The method is Stateful: an interrupted run can be resumed, where one of another method starts
// over.
var _ algorithms.Stateful = (*method)(nil)

func newMethod(s algorithms.Setup, o Options) *method {
	d := s.Problem.Values()
	m := &method{
		Described: algorithms.Described{About: s.Description}, opts: o, problem: s.Problem, w: make([]float64, d), model: s.Problem.NewWeights(),
		change: data.NewMatrix(s.Problem.Clients(), d), sum: data.NewMatrix(1, d), local: make([]local, s.Workers),
	}
	for i := range m.local {
		m.local[i] = local{gradient: s.Problem.NewGradient(), u: make([]float64, d), g: make([]float64, d)}
	}
	s.Problem.Initial(s.Seed, m.w)
	return m
}

// Begin opens a round: each device is sent w.
func (m *method) Begin() (algorithms.Sent, error) {
	clear(m.sum.Row(0))
	m.rows, m.taken = 0, 0
	return algorithms.Sent{Size: len(m.w)}, nil
}

// Solve makes a device's steps and leaves its change of w. Other devices solve at the
// same time: it reads w, and writes to the row of its device and the space of its worker.
func (m *method) Solve(r algorithms.Request) algorithms.Work {
	task := m.problem.Train.Open(r.Device)
	defer task.Close()
	steps := m.About.Work.Steps(task.X.Rows, r.Steps)
	l := &m.local[r.Worker]
	l.order.Reset(task.X.Rows, r.Stream)
	l.gradient.For(r.Device, r.Stream) // for models outside of fedsim
	copy(l.u, m.w)
	for left := steps; left > 0; {
		batch := l.order.Take(min(m.opts.Batch, left))
		left -= len(batch)
		l.gradient.Sum(task.Client, batch, l.u, 1, l.g)
		m.step(l.u, l.g, len(batch))
	}
	change := m.change.Row(r.Device)
	for j := range change {
		change[j] = l.u[j] - m.w[j]
	}
	return algorithms.Work{Steps: steps, FLOPs: m.About.Work.Of(task.X.Rows, steps), Values: len(change)}
}

// step takes u -= step (g/rows + mu (u - w)). Products are converted before they are
// added, so that no processor fuses them and all have the same bits.
func (m *method) step(u, g []float64, rows int) {
	pull, rate := m.opts.Step*m.opts.Mu, m.opts.Step/float64(rows)
	keep := 1 - pull
	for j := range u {
		u[j] = float64(keep*u[j]) + float64(pull*m.w[j]) - float64(rate*g[j])
	}
}

// Commit adds a device's change to the mean.
func (m *method) Commit(device int, _ float64) {
	rows := float64(m.problem.Train.Clients[device].X.Rows)
	m.change.Axpy(rows, device, m.sum.Row(0))
	m.rows += rows
	m.taken++
}

// Discard leaves the device out of the mean.
func (m *method) Discard(int) {}

// End adds the mean to w: an axpy for each device and one for w.
func (m *method) End() (flops float64, err error) {
	if m.taken == 0 {
		return 0, nil
	}
	m.sum.Axpy(1/m.rows, 0, m.w)
	return 2 * float64(m.taken+1) * float64(len(m.w)), nil
}

// Model returns w as the weights of every task.
func (m *method) Model() algorithms.Model {
	for t := range m.model.Rows {
		copy(m.model.Row(t), m.w)
	}
	return algorithms.Model{W: &m.model}
}

// State codes w and the devices' changes of it: all that another instance needs.
func (m *method) State(c *algorithms.Coder) {
	c.Float64s(m.w)
	for k := range m.change.Rows {
		c.Float64s(m.change.Row(k))
	}
}
