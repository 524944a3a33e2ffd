package algorithms

import (
	"fmt"

	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/kernel"
	"fedsim/internal/state"
	"fedsim/mtl"
)

// LocalSGDOptions are the settings of a device's local work in the methods that
// average models; their options embed them.
type LocalSGDOptions struct {
	Epochs  float64 `toml:"epochs" doc:"local passes over a device's rows per round; 0: as many rows as the protocol allows"`
	Batch   int     `toml:"batch" doc:"rows of a mini-batch; 0: all rows of the device"`
	Step    float64 `toml:"step" doc:"step size eta of the local mini-batch steps"`
	Shuffle bool    `toml:"shuffle" doc:"whether every pass takes the rows in a new random order; false: mini-batches are consecutive rows"`
	L2      float64 `toml:"l2" doc:"l2 in the term l2/2 |w|^2 of every device's objective"`
}

// defaultLocalSGD returns one pass in mini-batches of 32 rows.
func defaultLocalSGD() LocalSGDOptions {
	return LocalSGDOptions{Epochs: 1, Batch: 32, Step: 0.1, Shuffle: true}
}

// Validate reports everything wrong with the options.
func (o *LocalSGDOptions) Validate(c *config.Checker) { o.check(c, 0) }

// check reports everything wrong with the options under a proximal term mu.
func (o *LocalSGDOptions) check(c *config.Checker, mu float64) {
	c.Require(o.Epochs >= 0 && o.Epochs <= 1e6, "epochs", o.Epochs, "must be in [0, 1e6]")
	c.Require(o.Batch >= 0, "batch", o.Batch, "must not be negative")
	c.Require(o.Step > 0 && o.Step <= 1e12, "step", o.Step, "must be in (0, 1e12]")
	c.Require(o.L2 >= 0 && o.L2 <= 1e12, "l2", o.L2, "must be in [0, 1e12]")
	if pull := o.L2 + mu; o.Step*pull >= 2 {
		c.Require(false, "step", o.Step, fmt.Sprintf("must be below 2/(l2 + mu) = %g: local steps would overshoot more each time", 2/pull))
	}
}

// needs returns that steps must be limited when no number of epochs is set.
func (o *LocalSGDOptions) needs() Needs { return Needs{Budget: o.Epochs == 0} }

// steps returns the rows of that many passes, at most those allowed.
func (o *LocalSGDOptions) steps(rows, allowed int) int {
	if o.Epochs > 0 {
		return min(allowed, epochs(o.Epochs, rows))
	}
	return allowed
}

// stepFLOPs is the cost of a row: that of its gradient, and its share of the update of the
// model that ends a mini-batch, 5 operations a value. A smaller mini-batch pays for the
// shares of its rows. A batch of all rows pays for no update.
func (o *LocalSGDOptions) stepFLOPs(shape mtl.Shape) float64 {
	if o.Batch == 0 {
		return shape.RowFLOPs()
	}
	return shape.RowFLOPs() + float64(5*float64(shape.Values())/float64(o.Batch))
}

func (o *LocalSGDOptions) workload(shape mtl.Shape) Workload {
	return Workload{StepFLOPs: o.stepFLOPs(shape), Steps: o.steps}
}

// globalModel is the state that methods with one model w for all tasks share. A
// device k with n_k rows, whose objective is
//
//	F_k(w) = 1/n_k sum_i loss_ki(w) + l2/2 |w|^2,
//
// makes mini-batch steps on F_k(w) + mu/2 |w - w_k|^2 from the w_k it was sent. The
// loss is averaged over rows whatever problem.loss_scaling says, and averages of
// models are weighted by n_k: together the devices minimize the mean loss of all
// rows, f(w) = sum_k n_k/n F_k(w), which does not depend on the coupling. So
// W = w 1^T does not reach the optimum P* of a problem whose tasks differ; compare such
// methods by their errors.
type globalModel struct {
	problem *mtl.Problem
	opts    LocalSGDOptions
	mu      float64
	w       data.Matrix // one row
	changes *slots      // tentative changes of w
	scratch []sgdScratch
}

// sgdScratch is a worker's own space, so that a solve allocates nothing but the first
// changes.
type sgdScratch struct {
	order    mtl.Order
	gradient *mtl.Gradient
	u, g     []float64
}

func newGlobalModel(s Setup, o LocalSGDOptions, mu float64) globalModel {
	p := s.Problem
	m := globalModel{
		problem: p, opts: o, mu: mu, w: data.NewMatrix(1, p.Values()),
		changes: newSlots(p.Devices(), p.Values()), scratch: make([]sgdScratch, s.Workers),
	}
	p.Initial(s.Seed, m.weights())
	for i := range m.scratch {
		m.scratch[i] = sgdScratch{gradient: p.NewGradient(), u: make([]float64, p.Values()), g: make([]float64, p.Values())}
	}
	return m
}

// weights returns w.
func (m *globalModel) weights() []float64 { return m.w.Row(0) }

// StepFLOPs returns the cost of one row.
func (m *globalModel) StepFLOPs() float64 { return m.opts.stepFLOPs(m.problem.Shape()) }

// solve makes the device's mini-batch steps from w_k and leaves its change of it.
// Mini-batches are drawn without replacement until a pass is over, or are the next rows; the
// last of a pass, and the last of all, may be smaller.
func (m *globalModel) solve(r Request, from []float64) Work {
	task := m.problem.Train.Open(r.Device)
	defer task.Close()
	rows := task.X.Rows
	steps, batch := m.opts.steps(rows, r.Steps), m.opts.Batch
	if batch == 0 {
		batch = rows
	}
	s := &m.scratch[r.Worker]
	s.order.Reset(rows, r.Stream)
	next := s.order.Take
	if !m.opts.Shuffle {
		next = s.order.InOrder
	}
	copy(s.u, from)
	for left := steps; left > 0; {
		drawn := next(min(batch, left))
		left -= len(drawn)
		clear(s.g)
		s.gradient.Add(task.Task, drawn, s.u, 1, s.g)
		m.update(s.u, s.g, from, len(drawn))
	}
	change := m.changes.take(r.Device)
	for j := range change {
		change[j] = s.u[j] - from[j]
	}
	return Work{Steps: steps, FLOPs: float64(steps) * m.StepFLOPs(), Values: len(change)}
}

// update takes the step u -= step (g/rows + l2 u + mu (u - from)) on the
// gradient g of a mini-batch's loss.
func (m *globalModel) update(u, g, from []float64, rows int) {
	keep := 1 - float64(m.opts.Step*(m.opts.L2+m.mu))
	kernel.Descend(keep, m.opts.Step*m.mu, m.opts.Step/float64(rows), u, from, g)
}

// rows returns n_k.
func (m *globalModel) rows(device int) float64 {
	return float64(m.problem.Train.Tasks[device].X.Rows)
}

// Discard forgets the device's change.
func (m *globalModel) Discard(device int) { m.changes.release(device) }

// Model returns w, the model of every task, as the one row of W; there are no dual variables.
func (m *globalModel) Model() Model { return Model{W: &m.w} }

// State codes w and the changes of it.
func (m *globalModel) State(c *state.Coder) {
	c.Float64s(m.weights())
	m.changes.state(c)
}

// SetCoupling changes nothing: the objective does not depend on the coupling.
func (m *globalModel) SetCoupling(mtl.Coupling) {}

// average gathers weighted changes of a model.
type average struct {
	sum    []float64
	weight float64 // of the changes in sum; 0: there are none
	flops  float64 // of adding them
}

func newAverage(d int) average { return average{sum: make([]float64, d)} }

func (a *average) reset() {
	clear(a.sum)
	a.weight, a.flops = 0, 0
}

// add adds damping times a change, with the given weight.
func (a *average) add(change []float64, weight, damping float64) {
	kernel.Axpy(weight*damping, change, a.sum)
	a.weight += weight
	a.flops += 2 * float64(len(change))
}

// apply adds step times the average to w and returns the FLOPs of the average and the
// step.
func (a *average) apply(w []float64, step float64) float64 {
	if a.weight == 0 {
		return 0
	}
	kernel.Axpy(step/a.weight, a.sum, w)
	return a.flops + 2*float64(len(w))
}
