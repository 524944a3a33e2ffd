package algorithms

import (
	"fmt"

	"fedsim/config"
	"fedsim/internal/kernel"
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

// localOptions are the options of a method that embed LocalSGDOptions.
type localOptions interface {
	Options
	local() *LocalSGDOptions
}

func (o *LocalSGDOptions) local() *LocalSGDOptions { return o }

// registerLocal registers a method whose options are localOptions: its demands are those of
// the local steps, and so is its workload, if it has no other.
func registerLocal(f Factory) {
	f.Needs = func(o Options) Needs { return Needs{Budget: o.(localOptions).local().Epochs == 0} }
	if f.Workload == nil {
		f.Workload = func(o Options, shape mtl.Shape) Workload {
			local := o.(localOptions).local()
			return Workload{StepFLOPs: local.stepFLOPs(shape), Steps: local.steps}
		}
	}
	f.Epochs = func(o Options) float64 { return o.(localOptions).local().Epochs }
	Register(f)
}

// pull adds mu/2 |u - center|^2 + <slope, u> to the objective of a device's local steps.
type pull struct {
	mu     float64
	center []float64 // may be the start of the steps
	slope  []float64 // nil: none
}

// localSGD makes the mini-batch steps of devices. A device k with n_k rows has the
// objective
//
//	F_k(w) = 1/n_k sum_i loss_ki(w) + l2/2 |w|^2.
//
// The loss is averaged over rows whatever problem.loss_scaling says.
type localSGD struct {
	problem *mtl.Problem
	opts    LocalSGDOptions
	scratch []sgdScratch // by worker
}

// sgdScratch is a worker's own space, so that a solve allocates nothing but the first
// changes.
type sgdScratch struct {
	order    mtl.Order
	gradient *mtl.Gradient
	u, g     []float64
}

func newLocalSGD(s Setup, o LocalSGDOptions) localSGD {
	p := s.Problem
	l := localSGD{problem: p, opts: o, scratch: make([]sgdScratch, s.Workers)}
	for i := range l.scratch {
		l.scratch[i] = sgdScratch{gradient: p.NewGradient(), u: make([]float64, p.Values()), g: make([]float64, p.Values())}
	}
	return l
}

// StepFLOPs returns the cost of one row.
func (l *localSGD) StepFLOPs() float64 { return l.opts.stepFLOPs(l.problem.Shape()) }

// descend makes the device's mini-batch steps on F_k(u) and the pull from a start, and
// returns u and how many rows they took. u is valid until the worker's next call.
// Mini-batches are drawn without replacement until a pass is over, or are the next rows; the
// last of a pass, and the last of all, may be smaller.
func (l *localSGD) descend(r Request, start []float64, p pull) (u []float64, steps int) {
	task := l.problem.Train.Open(r.Device)
	defer task.Close()
	rows := task.X.Rows
	steps = l.opts.steps(rows, r.Steps)
	batch := l.opts.Batch
	if batch == 0 {
		batch = rows
	}
	s := &l.scratch[r.Worker]
	s.order.Reset(rows, r.Stream)
	next := s.order.Take
	if !l.opts.Shuffle {
		next = s.order.InOrder
	}
	copy(s.u, start)
	for left := steps; left > 0; {
		drawn := next(min(batch, left))
		left -= len(drawn)
		clear(s.g)
		s.gradient.Add(task.Task, drawn, s.u, 1, s.g)
		l.update(s.u, s.g, len(drawn), p)
	}
	return s.u, steps
}

// update takes the step u -= step (g/rows + l2 u + mu (u - center) + slope) on the gradient g
// of a mini-batch's loss. The slope comes last.
func (l *localSGD) update(u, g []float64, rows int, p pull) {
	keep := 1 - float64(l.opts.Step*(l.opts.L2+p.mu))
	kernel.Descend(keep, l.opts.Step*p.mu, l.opts.Step/float64(rows), u, p.center, g)
	if p.slope != nil {
		kernel.Axpy(-l.opts.Step, p.slope, u)
	}
}

// rows returns n_k.
func (l *localSGD) rows(device int) float64 {
	return float64(l.problem.Train.Tasks[device].X.Rows)
}
