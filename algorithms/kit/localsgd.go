package kit

import (
	"fmt"
	"math"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/mtl"
)

// LocalSGDOptions are the settings of a device's local work in the methods that
// average models; their options embed them.
type LocalSGDOptions struct {
	// local passes over a client's rows per round; "fill": as many rows as the protocol allows
	Epochs float64 `toml:"epochs" word:"0: fill"`
	// rows of a mini-batch; "all": those of the client
	Batch int `toml:"batch" word:"0: all"`
	// step size eta of the local mini-batch steps
	Step float64 `toml:"step"`
	// whether every pass takes the rows in a new random order; false: mini-batches are consecutive
	// rows
	Shuffle bool `toml:"shuffle"`
	// l2 in the term l2/2 |w|^2 of every client's objective: weight decay
	L2 float64 `toml:"l2"`
	ScheduleOptions
	// rho of heavy-ball momentum: a step goes along v = rho v + gradient; v is 0 at the start of
	// every round; 0: none
	Momentum float64 `toml:"momentum"`
	// largest norm of the gradient of a step, with all its terms: a longer one is scaled to it
	Clip float64 `toml:"clip" absent:"0: no clipping"`
}

// DefaultLocalSGD returns one pass in mini-batches of 32 rows.
func DefaultLocalSGD() LocalSGDOptions {
	return LocalSGDOptions{Epochs: 1, Batch: 32, Step: 0.1, Shuffle: true,
		ScheduleOptions: ScheduleOptions{Schedule: Constant}}
}

// OneStep in place of epochs is one mini-batch, for methods whose devices send a gradient; -R is R mini-batches.
const OneStep = -1

// Validate reports everything wrong with the options.
func (o *LocalSGDOptions) Validate(c *config.Checker) { o.Check(c, 0) }

// Check reports everything wrong with the options under a proximal term mu.
func (o *LocalSGDOptions) Check(c *config.Checker, mu float64) {
	c.Require(o.Epochs >= 0 && o.Epochs <= 1e6, "epochs", o.Epochs, `must be in (0, 1e6], or "fill"`)
	c.Require(o.Batch >= 0, "batch", o.Batch, `must be positive, or "all"`)
	c.Require(o.Step > 0 && o.Step <= 1e12, "step", o.Step, "must be in (0, 1e12]")
	c.Require(o.L2 >= 0 && o.L2 <= 1e12, "l2", o.L2, "must be in [0, 1e12]")
	o.ScheduleOptions.check(c)
	c.Require(o.Momentum >= 0 && o.Momentum < 1, "momentum", o.Momentum, "must be in [0, 1)")
	c.Require(o.Clip >= 0 && o.Clip <= 1e12, "clip", o.Clip, "must be in [0, 1e12]")
	if pull, most := o.L2+mu, 2+float64(2*o.Momentum); o.Step*pull >= most {
		c.Require(false, "step", o.Step,
			fmt.Sprintf("must be below %g/(l2 + mu) = %g: local steps would overshoot more each time", most, most/pull))
	}
}

// Steps returns the rows of that many passes, at most those allowed.
func (o *LocalSGDOptions) Steps(rows, allowed int) int {
	if o.Epochs < 0 {
		return min(allowed, o.rowsOf(rows, int(-o.Epochs)))
	}
	if o.Epochs > 0 {
		return min(allowed, algorithms.EpochSteps(o.Epochs, rows))
	}
	return allowed
}

// StepFLOPs is the cost of a row of a whole mini-batch: that of its gradient, and its share of
// the update. That of a batch of all rows, whose number it does not know, is the gradient's.
func (o *LocalSGDOptions) StepFLOPs(shape mtl.Shape, slope bool) float64 {
	if o.Batch == 0 {
		return shape.RowFLOPs()
	}
	return shape.RowFLOPs() + o.UpdateFLOPs(shape, slope)/float64(o.Batch)
}

// FLOPs is the cost of so many steps of a device: the gradients of the rows, and an update of
// the model for each mini-batch, however few rows it has.
func (o *LocalSGDOptions) FLOPs(shape mtl.Shape, slope bool, rows, steps int) float64 {
	return float64(float64(steps)*shape.RowFLOPs()) +
		float64(float64(o.Updates(rows, steps))*o.UpdateFLOPs(shape, slope))
}

// UpdateFLOPs is the cost of the update that ends a mini-batch: 5 operations a value of the
// model, 2 more with a linear term in the objective, 2 more with momentum and 3 more with
// clipping.
func (o *LocalSGDOptions) UpdateFLOPs(shape mtl.Shape, slope bool) float64 {
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

// BatchTraffic is how many values of memory a mini-batch reads and writes beside those of its
// rows: those of its gradient, and those of the update. This reads the gradient, the model and the
// center of the proximal term and writes the model. A linear term is read, the velocity of momentum
// is read and written, and clipping reads the gradient once more.
func (o *LocalSGDOptions) BatchTraffic(shape mtl.Shape, slope bool) float64 {
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

// Updates returns how many updates the first steps of a device make.
func (o *LocalSGDOptions) Updates(rows, steps int) int {
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

// LocalOptions are the options of a method that embed LocalSGDOptions.
type LocalOptions interface {
	algorithms.Options
	Local() *LocalSGDOptions
}

// Local returns the options, of options that embed them.
func (o *LocalSGDOptions) Local() *LocalSGDOptions { return o }

// Register registers a method whose options are LocalOptions: its demands are those of
// the local steps, and so is its workload, if its description has no other.
func Register(f algorithms.Factory) {
	describe := f.Describe
	f.Describe = func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
		d, local := describe(o, shape), o.(LocalOptions).Local()
		if d.Work.Steps == nil {
			of := d.Work
			d.Work = local.Workload(shape, false)
			d.Work.Kept, d.Work.Stored, d.Work.StoredEach, d.Work.Server = of.Kept, of.Stored, of.StoredEach, of.Server
		}
		d.Work.Epochs, d.Needs.Budget = max(0, local.Epochs), local.Epochs == 0
		d.State, d.Inspected = algorithms.Yes, true
		return d
	}
	algorithms.Register(f)
}

// Workload is the work of a method whose devices make the local steps alone.
func (o *LocalSGDOptions) Workload(shape mtl.Shape, slope bool) algorithms.Workload {
	return algorithms.Workload{
		StepFLOPs: o.StepFLOPs(shape, slope), Steps: o.Steps,
		FLOPs:   func(rows, steps int) float64 { return o.FLOPs(shape, slope, rows, steps) },
		Batches: o.Updates, BatchSteps: o.rowsOf, StepValues: shape.RowTraffic(),
		BatchValues: o.BatchTraffic(shape, slope),
	}
}

// Times is the work of a method with so many gradients and updates in the place of each.
func (o *LocalSGDOptions) Times(factor int, shape mtl.Shape) algorithms.Workload {
	w := o.Workload(shape, false)
	w.StepFLOPs *= float64(factor)
	w.FLOPs = func(rows, steps int) float64 { return float64(float64(factor) * o.FLOPs(shape, false, rows, steps)) }
	w.Batches = func(rows, steps int) int { return factor * o.Updates(rows, steps) }
	w.StepValues *= float64(factor)
	return w
}

// Pull adds mu/2 |u - center|^2 + <slope, u> to the objective of a device's local steps.
type Pull struct {
	Mu     float64
	Center []float64 // may be the start of the steps
	Slope  []float64 // nil: none
	// Moves are the values that move, in order; nil: all. Clipping and momentum act on them alone.
	Moves []Span
	// Gradient sets g to so many times the gradient of a step as the mini-batch has rows; nil: to
	// that of the loss.
	Gradient func(r algorithms.Request, batch MiniBatch, u, g []float64)
}

// Span is the values of a model from From on, before To.
type Span struct{ From, To int }

// MiniBatch is the rows of a step.
type MiniBatch struct {
	Client *data.Client
	Rows   []int32
	Step   float64 // step size
}

// LocalSGD makes the mini-batch steps of devices. A device k with n_k rows has the
// objective
//
//	F_k(w) = 1/n_k sum_i loss_ki(w) + l2/2 |w|^2.
//
// The loss is averaged over rows whatever problem.loss_scaling says.
type LocalSGD struct {
	algorithms.Described
	Problem *mtl.Problem
	Options LocalSGDOptions
	Scratch []Scratch // by worker
}

// Scratch is a worker's own space, so that a solve allocates nothing but the first
// changes.
type Scratch struct {
	order    mtl.Order
	Gradient *mtl.Gradient
	U, G     []float64
	V        []float64 // the velocity; nil without momentum
	Space    []float64 // for Slots.At
}

// NewLocalSGD returns the local work of the devices of a run.
func NewLocalSGD(s algorithms.Setup, o LocalSGDOptions) LocalSGD {
	p := s.Problem
	l := LocalSGD{Described: algorithms.Described{About: s.Description}, Problem: p, Options: o,
		Scratch: make([]Scratch, s.Workers)}
	for i := range l.Scratch {
		l.Scratch[i] = Scratch{Gradient: p.NewGradient(), U: make([]float64, p.Values()),
			G: make([]float64, p.Values()), Space: algorithms.SpaceOf(p, p.Values())}
		if o.Momentum > 0 {
			l.Scratch[i].V = make([]float64, p.Values())
		}
	}
	return l
}

// FLOPs returns the cost of so many steps of a device, as the description has it.
func (l *LocalSGD) FLOPs(device, steps int) float64 {
	return l.About.Work.Of(l.Problem.Train.Clients[device].X.Rows, steps)
}

// Descend makes the device's mini-batch steps on F_k(u) and the pull from a start, and
// returns u and how many rows they took. u is valid until the worker's next call.
// Mini-batches are drawn without replacement until a pass is over, or are the next rows; the
// last of a pass, and the last of all, may be smaller. It ends early when the run is halted.
func (l *LocalSGD) Descend(r algorithms.Request, start []float64, p Pull) (u []float64, steps int) {
	task := l.Problem.Train.Open(r.Device)
	defer task.Close()
	rows := task.X.Rows
	steps = l.Options.Steps(rows, r.Steps)
	batch := l.Options.Batch
	if batch == 0 {
		batch = rows
	}
	s := &l.Scratch[r.Worker]
	s.order.Reset(rows, r.Stream)
	s.Gradient.For(r.Device, r.Stream)
	next := s.order.Take
	if !l.Options.Shuffle {
		next = s.order.InOrder
	}
	copy(s.U, start)
	clear(s.V)
	step := l.Options.At(r.Round, l.Options.Step)
	values := l.Problem.Values()
	unchecked, check := 0, r.Halt.Steps(values)
	if l.Problem.Given.Values > 0 { // the request for a gradient takes far longer than the check
		values, check = max(values, int(min(l.Problem.RowFLOPs()*float64(batch), math.MaxInt32))), 1
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
		if p.Gradient != nil {
			p.Gradient(r, MiniBatch{task.Client, drawn, step}, s.U, s.G)
		} else {
			s.Gradient.Sum(task.Client, drawn, s.U, 1, s.G)
		}
		l.TakeStep(s, step, len(drawn), p)
		s.Gradient.Settle(s.U)
	}
	return s.U, steps
}

// TakeStep takes the step u -= step (g/rows + l2 u + mu (u - center) + slope) on the gradient g
// of a mini-batch's loss. The slope comes last.
func (l *LocalSGD) TakeStep(s *Scratch, step float64, rows int, p Pull) {
	if s.V != nil || l.Options.Clip > 0 {
		l.shapedUpdate(s, step, rows, p)
		return
	}
	keep, center := 1-float64(step*(l.Options.L2+p.Mu)), p.Center
	if p.Mu == 0 {
		center = s.U // which is read anyway
	}
	if p.Moves == nil {
		kernel.Descend(keep, step*p.Mu, step/float64(rows), s.U, center, s.G)
	}
	for _, m := range p.Moves {
		kernel.Descend(keep, step*p.Mu, step/float64(rows), s.U[m.From:m.To], center[m.From:m.To], s.G[m.From:m.To])
	}
	if p.Slope != nil {
		kernel.Axpy(-step, p.Slope, s.U)
	}
}

// shapedUpdate is update with clipping and momentum. It forms the gradient (1/rows g +
// (l2 + mu) u) - mu center + slope, in this order, scales it by c = min(1, clip/norm), and
// takes the step along v = rho v + c gradient, or along the scaled gradient.
func (l *LocalSGD) shapedUpdate(s *Scratch, step float64, rows int, p Pull) {
	kernel.Descend(1/float64(rows), l.Options.L2+p.Mu, p.Mu, s.G, s.U, p.Center)
	if p.Slope != nil {
		kernel.Axpy(1, p.Slope, s.G)
	}
	clear(s.G[len(l.Problem.Trained(s.G)):]) // values without a gradient are in no norm
	if p.Moves != nil {                      // nor those that do not move
		at := 0
		for _, m := range p.Moves {
			clear(s.G[at:m.From])
			at = m.To
		}
		clear(s.G[at:])
	}
	scale := 1.0
	if l.Options.Clip > 0 {
		if norm := math.Sqrt(kernel.SquaredNorm(s.G)); norm > l.Options.Clip {
			scale = l.Options.Clip / norm
		}
	}
	if s.V == nil {
		kernel.Axpy(-float64(step*scale), s.G, s.U)
		return
	}
	kernel.Descend(l.Options.Momentum, scale, 0, s.V, s.G, s.G)
	kernel.Axpy(-step, s.V, s.U)
}

// RowsOf returns n_k.
func (l *LocalSGD) RowsOf(device int) float64 {
	return float64(l.Problem.Train.Clients[device].X.Rows)
}
