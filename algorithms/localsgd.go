package algorithms

import (
	"fmt"
	"math"

	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/mtl"
)

// LocalSGDOptions are the settings of a device's local work in the methods that
// average models; their options embed them.
type LocalSGDOptions struct {
	Epochs  float64 `toml:"epochs" doc:"local passes over a client's rows per round; 0: as many rows as the protocol allows"`
	Batch   int     `toml:"batch" doc:"rows of a mini-batch; 0: all rows of the client"`
	Step    float64 `toml:"step" doc:"step size eta of the local mini-batch steps"`
	Shuffle bool    `toml:"shuffle" doc:"whether every pass takes the rows in a new random order; false: mini-batches are consecutive rows"`
	L2      float64 `toml:"l2" doc:"l2 in the term l2/2 |w|^2 of every client's objective: weight decay"`
	ScheduleOptions
	Momentum float64 `toml:"momentum" doc:"rho of heavy-ball momentum: a step goes along v = rho v + gradient; v is 0 at the start of every round; 0: none"`
	Clip     float64 `toml:"clip" doc:"largest norm of the gradient of a step, with all its terms: a longer one is scaled to it; 0: no clipping"`
}

// defaultLocalSGD returns one pass in mini-batches of 32 rows.
func defaultLocalSGD() LocalSGDOptions {
	return LocalSGDOptions{Epochs: 1, Batch: 32, Step: 0.1, Shuffle: true, ScheduleOptions: ScheduleOptions{Schedule: constant}}
}

// oneStep in place of epochs is one mini-batch: the work of methods whose devices send a gradient.
const oneStep = -1

// Validate reports everything wrong with the options.
func (o *LocalSGDOptions) Validate(c *config.Checker) { o.check(c, 0) }

// check reports everything wrong with the options under a proximal term mu.
func (o *LocalSGDOptions) check(c *config.Checker, mu float64) {
	c.Require(o.Epochs >= 0 && o.Epochs <= 1e6, "epochs", o.Epochs, "must be in [0, 1e6]")
	c.Require(o.Batch >= 0, "batch", o.Batch, "must not be negative")
	c.Require(o.Step > 0 && o.Step <= 1e12, "step", o.Step, "must be in (0, 1e12]")
	c.Require(o.L2 >= 0 && o.L2 <= 1e12, "l2", o.L2, "must be in [0, 1e12]")
	o.ScheduleOptions.check(c)
	c.Require(o.Momentum >= 0 && o.Momentum < 1, "momentum", o.Momentum, "must be in [0, 1)")
	c.Require(o.Clip >= 0 && o.Clip <= 1e12, "clip", o.Clip, "must be in [0, 1e12]")
	if pull, most := o.L2+mu, 2+float64(2*o.Momentum); o.Step*pull >= most {
		c.Require(false, "step", o.Step, fmt.Sprintf("must be below %g/(l2 + mu) = %g: local steps would overshoot more each time", most, most/pull))
	}
}

// steps returns the rows of that many passes, at most those allowed.
func (o *LocalSGDOptions) steps(rows, allowed int) int {
	if o.Epochs == oneStep {
		if o.Batch > 0 {
			rows = min(rows, o.Batch)
		}
		return min(allowed, rows)
	}
	if o.Epochs > 0 {
		return min(allowed, epochs(o.Epochs, rows))
	}
	return allowed
}

// stepFLOPs is the cost of a row of a whole mini-batch: that of its gradient, and its share of
// the update. That of a batch of all rows, whose number it does not know, is the gradient's.
func (o *LocalSGDOptions) stepFLOPs(shape mtl.Shape, slope bool) float64 {
	if o.Batch == 0 {
		return shape.RowFLOPs()
	}
	return shape.RowFLOPs() + o.updateFLOPs(shape, slope)/float64(o.Batch)
}

// flops is the cost of so many steps of a device: the gradients of the rows, and an update of
// the model for each mini-batch, however few rows it has.
func (o *LocalSGDOptions) flops(shape mtl.Shape, slope bool, rows, steps int) float64 {
	return float64(float64(steps)*shape.RowFLOPs()) + float64(float64(o.updates(rows, steps))*o.updateFLOPs(shape, slope))
}

// updateFLOPs is the cost of the update that ends a mini-batch: 5 operations a value of the
// model, 2 more with a linear term in the objective, 2 more with momentum and 3 more with
// clipping.
func (o *LocalSGDOptions) updateFLOPs(shape mtl.Shape, slope bool) float64 {
	update := 5.0
	if slope {
		update += 2
	}
	if o.Momentum > 0 {
		update += 2
	}
	if o.Clip > 0 {
		update += 3
	}
	return float64(update * float64(shape.Values()))
}

// batchTraffic is how many values of memory a mini-batch reads and writes beside those of its
// rows: those of its gradient, and those of the update. This reads the gradient, the model and the
// center of the proximal term and writes the model. A linear term is read, the velocity of momentum
// is read and written, and clipping reads the gradient once more.
func (o *LocalSGDOptions) batchTraffic(shape mtl.Shape, slope bool) float64 {
	update := 4.0
	if slope {
		update++
	}
	if o.Momentum > 0 {
		update += 2
	}
	if o.Clip > 0 {
		update++
	}
	return shape.BatchTraffic() + float64(update*float64(shape.Values()))
}

// updates returns how many updates the first steps of a device make.
func (o *LocalSGDOptions) updates(rows, steps int) int {
	if steps == 0 {
		return 0
	}
	batch := o.Batch
	if batch == 0 {
		batch = rows
	}
	batches := func(n int) int { return (n + batch - 1) / batch }
	return steps/rows*batches(rows) + batches(steps%rows)
}

// rowsOf returns the rows of the first mini-batches of a device.
func (o *LocalSGDOptions) rowsOf(rows, updates int) int {
	batch := o.Batch
	if batch == 0 {
		batch = rows
	}
	pass := (rows + batch - 1) / batch
	return updates/pass*rows + min(rows, updates%pass*batch)
}

// localOptions are the options of a method that embed LocalSGDOptions.
type localOptions interface {
	Options
	local() *LocalSGDOptions
}

func (o *LocalSGDOptions) local() *LocalSGDOptions { return o }

// registerLocal registers a method whose options are localOptions: its demands are those of
// the local steps, and so is its workload, if its description has no other.
func registerLocal(f Factory) {
	describe := f.Describe
	f.Describe = func(o Options, shape mtl.Shape) Description {
		d, local := describe(o, shape), o.(localOptions).local()
		if d.Work.Steps == nil {
			kept := d.Work.Kept
			d.Work = local.workload(shape, false)
			d.Work.Kept = kept
		}
		d.Work.Epochs, d.Needs.Budget = max(0, local.Epochs), local.Epochs == 0
		d.State, d.Inspected = Yes, true
		return d
	}
	Register(f)
}

// workload is the work of a method whose devices make the local steps alone.
func (o *LocalSGDOptions) workload(shape mtl.Shape, slope bool) Workload {
	return Workload{
		StepFLOPs: o.stepFLOPs(shape, slope), Steps: o.steps,
		FLOPs:   func(rows, steps int) float64 { return o.flops(shape, slope, rows, steps) },
		Batches: o.updates, BatchSteps: o.rowsOf, StepValues: shape.RowTraffic(), BatchValues: o.batchTraffic(shape, slope),
	}
}

// times is the work of a method with so many gradients and updates in the place of each.
func (o *LocalSGDOptions) times(factor int, shape mtl.Shape) Workload {
	w := o.workload(shape, false)
	w.StepFLOPs *= float64(factor)
	w.FLOPs = func(rows, steps int) float64 { return float64(float64(factor) * o.flops(shape, false, rows, steps)) }
	w.Batches = func(rows, steps int) int { return factor * o.updates(rows, steps) }
	w.StepValues *= float64(factor)
	return w
}

// pull adds mu/2 |u - center|^2 + <slope, u> to the objective of a device's local steps.
type pull struct {
	mu     float64
	center []float64 // may be the start of the steps
	slope  []float64 // nil: none
	// gradient sets g to so many times the gradient of a step as the mini-batch has rows; nil: to
	// that of the loss.
	gradient func(r Request, batch minibatch, u, g []float64)
}

// minibatch is the rows of a step.
type minibatch struct {
	task *data.Client
	rows []int32
	step float64 // step size
}

// localSGD makes the mini-batch steps of devices. A device k with n_k rows has the
// objective
//
//	F_k(w) = 1/n_k sum_i loss_ki(w) + l2/2 |w|^2.
//
// The loss is averaged over rows whatever problem.loss_scaling says.
type localSGD struct {
	Described
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
	v        []float64 // the velocity; nil without momentum
	space    []float64 // for slots.at
}

func newLocalSGD(s Setup, o LocalSGDOptions) localSGD {
	p := s.Problem
	l := localSGD{Described: Described{s.Description}, problem: p, opts: o, scratch: make([]sgdScratch, s.Workers)}
	for i := range l.scratch {
		l.scratch[i] = sgdScratch{gradient: p.NewGradient(), u: make([]float64, p.Values()), g: make([]float64, p.Values()), space: spaceOf(p, p.Values())}
		if o.Momentum > 0 {
			l.scratch[i].v = make([]float64, p.Values())
		}
	}
	return l
}

// flops returns the cost of so many steps of a device, as the description has it.
func (l *localSGD) flops(device, steps int) float64 {
	return l.About.Work.Of(l.problem.Train.Clients[device].X.Rows, steps)
}

// descend makes the device's mini-batch steps on F_k(u) and the pull from a start, and
// returns u and how many rows they took. u is valid until the worker's next call.
// Mini-batches are drawn without replacement until a pass is over, or are the next rows; the
// last of a pass, and the last of all, may be smaller. It ends early when the run is halted.
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
	s.gradient.For(r.Device, r.Stream)
	next := s.order.Take
	if !l.opts.Shuffle {
		next = s.order.InOrder
	}
	copy(s.u, start)
	clear(s.v)
	step := l.opts.at(r.Round, l.opts.Step)
	values := l.problem.Values()
	unchecked, check := 0, r.Halt.Steps(values)
	if l.problem.Given.Values > 0 { // the request for a gradient takes far longer than the check
		values, check = max(values, int(min(l.problem.RowFLOPs()*float64(batch), math.MaxInt32))), 1
	}
	for left := steps; left > 0; {
		drawn := next(min(batch, left))
		left -= len(drawn)
		if unchecked += len(drawn); unchecked >= check {
			if r.Halt.After(unchecked, values) {
				break
			}
			unchecked = 0
		}
		if p.gradient != nil {
			p.gradient(r, minibatch{task.Client, drawn, step}, s.u, s.g)
		} else {
			s.gradient.Sum(task.Client, drawn, s.u, 1, s.g)
		}
		l.update(s, step, len(drawn), p)
		s.gradient.Settle(s.u)
	}
	return s.u, steps
}

// update takes the step u -= step (g/rows + l2 u + mu (u - center) + slope) on the gradient g
// of a mini-batch's loss. The slope comes last.
func (l *localSGD) update(s *sgdScratch, step float64, rows int, p pull) {
	if s.v != nil || l.opts.Clip > 0 {
		l.shapedUpdate(s, step, rows, p)
		return
	}
	keep, center := 1-float64(step*(l.opts.L2+p.mu)), p.center
	if p.mu == 0 {
		center = s.u // which is read anyway
	}
	kernel.Descend(keep, step*p.mu, step/float64(rows), s.u, center, s.g)
	if p.slope != nil {
		kernel.Axpy(-step, p.slope, s.u)
	}
}

// shapedUpdate is update with clipping and momentum. It forms the gradient (1/rows g +
// (l2 + mu) u) - mu center + slope, in this order, scales it by c = min(1, clip/norm), and
// takes the step along v = rho v + c gradient, or along the scaled gradient.
func (l *localSGD) shapedUpdate(s *sgdScratch, step float64, rows int, p pull) {
	kernel.Descend(1/float64(rows), l.opts.L2+p.mu, p.mu, s.g, s.u, p.center)
	if p.slope != nil {
		kernel.Axpy(1, p.slope, s.g)
	}
	clear(s.g[len(l.problem.Trained(s.g)):]) // values without a gradient are in no norm
	scale := 1.0
	if l.opts.Clip > 0 {
		if norm := math.Sqrt(kernel.SquaredNorm(s.g)); norm > l.opts.Clip {
			scale = l.opts.Clip / norm
		}
	}
	if s.v == nil {
		kernel.Axpy(-float64(step*scale), s.g, s.u)
		return
	}
	kernel.Descend(l.opts.Momentum, scale, 0, s.v, s.g, s.g)
	kernel.Axpy(-step, s.v, s.u)
}

// rows returns n_k.
func (l *localSGD) rows(device int) float64 {
	return float64(l.problem.Train.Clients[device].X.Rows)
}
