package algorithms

import (
	"math"

	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// MbSGDOptions are the settings of mini-batch SGD.
type MbSGDOptions struct {
	// rows b of a client's mini-batch (at most its rows); "fill": as many as the protocol allows
	Batch int `toml:"batch" word:"0: fill"`
	// first step size eta_0; the inverse of the strong convexity of R is the classical choice for
	// linear models
	Step float64 `toml:"step" absent:"0: 1/strong convexity of R"`
	// round h takes the step eta_0/(1 + h/delay): 1 is the classical 1/(1+h), larger decays later
	Delay   float64 `toml:"delay"`
	Project bool    `toml:"-"` // scale W back whenever R(W) exceeds P(0), which the optimum never does
}

// Validate reports everything wrong with the options.
func (o *MbSGDOptions) Validate(c *config.Checker) {
	c.Require(o.Batch >= 0, "batch", o.Batch, `must be positive, or "fill"`)
	c.Require(o.Step >= 0 && o.Step <= 1e12, "step", o.Step, "must be in [0, 1e12]")
	c.Require(o.Delay > 0 && o.Delay <= 1e12, "delay", o.Delay, "must be in (0, 1e12]")
}

// mbSGD is mini-batch stochastic sub-gradient descent on P: devices send the
// sub-gradient of their loss on a mini-batch, the server adds the gradient of
// the regularizer and takes a step. A task without a response keeps its weights, also
// with respect to the regularizer: a lost update never happened. The projection, where
// it applies, scales the weights of all tasks.
type mbSGD struct {
	Described
	problem  *mtl.Problem
	coupling mtl.Coupling
	opts     MbSGDOptions
	step     float64 // eta_0
	round    int
	w, z     data.Matrix // W and the gradient of R there
	gradient data.Matrix // of the loss, one row a device
	shown    data.Matrix // W as devices decode it; without a link, nothing
	arrived  []bool      // by device
	heard    []bool      // by task: a device of it responded
	orders   []mtl.Order // by worker
	losses   []*mtl.Gradient
	most     float64 // P(0), an upper bound on R at the optimum
	Link     *Link   // nil: messages are not compressed
}

var _ Stateful = (*mbSGD)(nil)

func init() {
	Register(Factory{
		Name:      "mb-sgd",
		Summary:   "mini-batch sub-gradient descent on the primal; step eta_0/(1+h)",
		Reference: "Shalev-Shwartz, Singer, Srebro: Pegasos, ICML 2007",
		Options:   func() Options { return &MbSGDOptions{Batch: 32, Delay: 1, Project: true} },
		Describe: func(o Options, shape mtl.Shape) Description {
			opts := o.(*MbSGDOptions)
			return Description{
				MinimizesP: true, Needs: Needs{Budget: opts.Batch == 0}, Messages: Messages{Coded: true},
				State: Yes, Inspected: true,
				Work: Workload{
					StepFLOPs: shape.RowFLOPs(), AuthorUnits: 4,
					StepValues: shape.RowTraffic(), BatchValues: shape.BatchTraffic(), Batches: oneBatch,
					Steps: func(rows, allowed int) int { return batchSize(opts.Batch, allowed, rows) },
				},
			}
		},
		New: func(s Setup, o Options) (Algorithm, error) {
			p := s.Problem
			m := &mbSGD{
				Described: Described{s.Description},
				problem:   p, opts: *o.(*MbSGDOptions),
				w: p.NewWeights(), z: p.NewWeights(),
				gradient: data.NewMatrix(p.Clients(), p.Values()), arrived: make([]bool, p.Clients()),
				heard: make([]bool, p.Tasks()), orders: make([]mtl.Order, s.Workers),
				losses: make([]*mtl.Gradient, s.Workers), most: p.StartLoss(),
				Link: NewLink(s, 1, 1, p.Values(), false),
			}
			for t := range m.w.Rows {
				p.Initial(s.Seed, m.w.Row(t))
			}
			for i := range m.losses {
				m.losses[i] = p.NewGradient()
			}
			if m.Link != nil {
				m.shown = p.NewWeights()
			}
			m.Link.Describe(&m.About)
			m.SetCoupling(s.Coupling)
			return m, nil
		},
	})
}

// Begin opens a round: each device is sent its w_t.
func (m *mbSGD) Begin() (Sent, error) {
	clear(m.arrived)
	if m.Link == nil {
		return Sent{Size: m.problem.Values()}, nil
	}
	copy(m.shown.Data, m.w.Data)
	bytes := 0
	for t := range m.shown.Rows {
		bytes = m.Link.Show(m.shown.Row(t))
	}
	return m.Link.Sent(bytes), nil
}

// Solve computes the sub-gradient of c_t sum_i loss on a mini-batch drawn
// without replacement, scaled up to all rows.
func (m *mbSGD) Solve(r Request) Response {
	p, t := m.problem, r.Device
	task := p.Train.Open(t)
	defer task.Close()
	n := task.X.Rows
	b := batchSize(m.opts.Batch, r.Steps, n)
	order := &m.orders[r.Worker]
	order.Reset(n, r.Stream)
	g, w := m.gradient.Row(t), m.w.Row(p.TaskOf(t))
	if m.Link != nil {
		w = m.shown.Row(p.TaskOf(t))
	}
	scale := p.Scale[t] * float64(n) / float64(b)
	m.losses[r.Worker].For(t, r.Stream)
	m.losses[r.Worker].Sum(task.Client, order.Take(b), w, scale, g)
	response := Response{Steps: b, FLOPs: float64(b) * p.RowFLOPs()}
	m.Link.Finish(r, g, &response)
	return response
}

// Commit records that the device's gradient has arrived.
func (m *mbSGD) Commit(device int, _ float64) {
	m.arrived[device] = true
	m.Link.Commit(device)
}

// Discard leaves the device's gradient out of the step.
func (m *mbSGD) Discard(device int) {
	m.arrived[device] = false
	m.Link.Discard(device)
}

// End takes the step on the tasks whose gradients arrived.
func (m *mbSGD) End() (float64, error) {
	eta := m.step / (1 + float64(m.round)/m.opts.Delay)
	m.round++
	clear(m.heard)
	for k, ok := range m.arrived {
		if ok {
			t := m.problem.TaskOf(k)
			m.heard[t] = true
			kernel.Axpy(-eta, m.gradient.Row(k), m.w.Row(t))
		}
	}
	for t, ok := range m.heard {
		if ok {
			kernel.Axpy(-eta, m.z.Row(t), m.w.Row(t))
		}
	}
	m.coupling.Gradient(&m.z, &m.w)
	if m.opts.Project {
		m.project()
	}
	return m.coupling.FLOPs(m.problem.Values()) + m.Link.Take(), nil
}

// project scales W onto the ball R(W) <= P(0), which contains the optimum because
// R(W*) <= P(W*) <= P(0). The quadratic part of R stands for R.
func (m *mbSGD) project() {
	r := 0.0
	for t := range m.w.Rows {
		r += float64(0.5 * kernel.Dot(m.w.Row(t), m.z.Row(t)))
	}
	if r <= m.most {
		return
	}
	shrink := math.Sqrt(m.most / r)
	for i := range m.w.Data {
		m.w.Data[i] *= shrink
	}
	m.coupling.Gradient(&m.z, &m.w)
}

// Model returns W; there are no dual variables.
func (m *mbSGD) Model() Model { return Model{W: &m.w} }

// State codes W, the gradients under way and the number of rounds.
func (m *mbSGD) State(c *state.Coder) {
	c.Int(&m.round)
	CodeRows(c, &m.w)
	CodeRows(c, &m.gradient)
	if m.Link != nil {
		CodeRows(c, &m.shown)
		m.Link.State(c)
	}
	if c.Reads() {
		m.coupling.Gradient(&m.z, &m.w)
	}
}

// SetCoupling keeps W and restarts the step sizes: another coupling is another
// problem.
func (m *mbSGD) SetCoupling(c mtl.Coupling) {
	m.coupling = c
	m.round = 0
	m.step = m.opts.Step
	if m.step == 0 {
		m.step = 1 / c.Convexity()
	}
	c.Gradient(&m.z, &m.w)
}
