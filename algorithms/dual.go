package algorithms

import (
	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/parallel"
	"fedsim/mtl"
)

// Dual is the state that dual methods share, to be embedded: the dual variables
// on the devices, V and W on the server, and the tentative work of the open
// round beside them. A method adds Solve, in which it fills Next and Delta of its device, and
// describes itself with OfDual.
type Dual struct {
	Described
	Problem  *mtl.Problem
	Coupling mtl.Coupling
	Duals    *mtl.Duals  // committed, on both sides
	W        data.Matrix // grad R*(V), broadcast at Begin
	Next     [][]float64 // tentative dual variables, by device
	Delta    data.Matrix // tentative change of its task's row of V, one row a device

	pool       *parallel.Pool
	sigmaPrime []float64 // by task
	scratch    []DualScratch
	coded      *codedDual // nil: messages are not compressed
}

// DualScratch is a worker's own space, so that a solve allocates nothing.
type DualScratch struct {
	order mtl.Order
	u     []float64
	rows  data.Batch
	z     [mtl.BlockRows]float64
}

// OfDual adds to a description the abilities of a method that embeds Dual.
func OfDual(d Description) Description {
	d.MinimizesP, d.Needs.Dual, d.State, d.Inspected, d.Theta = true, true, Yes, true, true
	return d
}

// NewDual returns the state at alpha = 0.
func NewDual(s Setup) Dual {
	d := Dual{
		Described: Described{s.Description},
		Problem:   s.Problem, Coupling: s.Coupling, Duals: s.Problem.NewDuals(),
		W: s.Problem.NewWeights(), Next: s.Problem.NewBlocks(),
		Delta:      data.NewMatrix(s.Problem.Clients(), s.Problem.Values()),
		sigmaPrime: s.Problem.SigmaPrime(s.Coupling),
		scratch:    make([]DualScratch, s.Workers),
		pool:       s.Pool,
	}
	for i := range d.scratch {
		d.scratch[i].u = make([]float64, s.Problem.Values())
	}
	d.coded = newCodedDual(s)
	d.Link().Describe(&d.About)
	return d
}

// Curvature returns sigma'_t M_tt of the device's task t, the quadratic term of
// its subproblem.
func (d *Dual) Curvature(device int) float64 {
	t := d.Problem.TaskOf(device)
	return d.sigmaPrime[t] * d.Coupling.Diag(t)
}

// Weights returns w_t of the device's task, as Begin has broadcast it.
func (d *Dual) Weights(device int) []float64 {
	if d.coded != nil {
		return d.coded.starts.Row(device)
	}
	return d.W.Row(d.Problem.TaskOf(device))
}

// Begin opens a round: each device is sent its w_t.
func (d *Dual) Begin() (Sent, error) {
	if d.coded != nil {
		return d.Link().Sent(d.coded.begin(d)), nil
	}
	return Sent{Size: d.Problem.Values()}, nil
}

// Commit makes the device's tentative dual variables and its change of V final,
// both scaled by the aggregation parameter gamma. Devices that share a task add
// to the same row (remark 4).
func (d *Dual) Commit(device int, _ float64) {
	gamma := d.Problem.Config.Gamma
	d.MoveBy(device, gamma)
	t := d.Problem.TaskOf(device)
	kernel.Axpy(gamma, d.Delta.Row(device), d.Duals.V.Row(t))
	if c := d.coded; c != nil {
		kernel.Axpy(gamma, c.delta.Row(device), c.v.Row(t))
		c.link.Commit(device)
	}
}

// MoveBy moves the device's dual variables by a share gamma towards the tentative ones.
// The convex combination stays in the domain of the conjugate, rounding included.
func (d *Dual) MoveBy(device int, gamma float64) {
	alpha := d.Duals.Alpha[device]
	if gamma == 1 {
		copy(alpha, d.Next[device])
		return
	}
	for i, next := range d.Next[device] {
		alpha[i] = float64((1-gamma)*alpha[i]) + float64(gamma*next)
	}
}

// Discard leaves both sides as they were; the tentative work is overwritten by
// the device's next solve.
func (d *Dual) Discard(device int) { d.Link().Discard(device) }

// received returns the server's copy of V.
func (d *Dual) received() *data.Matrix {
	if d.lossy() {
		return &d.coded.v
	}
	return &d.Duals.V
}

// End brings W = grad R*(V) up to date.
func (d *Dual) End() (float64, error) {
	d.Coupling.Primal(&d.W, d.received())
	return d.Coupling.FLOPs(d.Problem.Values()) + d.Link().Take(), nil
}

// Model returns W, V and the dual variables.
func (d *Dual) Model() Model {
	m := Model{W: &d.W, V: &d.Duals.V, Duals: d.Duals.Alpha}
	if d.lossy() {
		m.Sent = &d.coded.v
	}
	return m
}

// State names the dual variables, V and the tentative work; W follows from V.
func (d *Dual) State(c *Coder) {
	for k := range d.Duals.Alpha {
		c.Float64s(d.Duals.Alpha[k])
		c.Float64s(d.Next[k])
	}
	CodeRows(c, &d.Duals.V)
	CodeRows(c, &d.Delta)
	if d.coded != nil {
		d.coded.state(c)
	}
	if c.Reads() {
		d.Coupling.Primal(&d.W, d.received())
	}
}

// SetCoupling keeps the dual variables and recomputes V and W = grad R*(V) from them: w is
// a function of alpha, and the W of the old coupling is not a point of the new
// problem.
func (d *Dual) SetCoupling(c mtl.Coupling) {
	d.Coupling = c
	d.sigmaPrime = d.Problem.SigmaPrime(c)
	d.Problem.RecomputeV(d.pool, d.Duals)
	c.Primal(&d.W, d.received())
}

// RowsOf returns the number of training rows of a device.
func (d *Dual) RowsOf(device int) int { return d.Problem.Train.Clients[device].X.Rows }

// StartSolve copies the device's dual variables to Next and returns the scratch
// space of the worker, with u = w, the weights the device was sent, and a fresh
// order of the rows.
func (d *Dual) StartSolve(r Request, w []float64) *DualScratch {
	s := &d.scratch[r.Worker]
	copy(d.Next[r.Device], d.Duals.Alpha[r.Device])
	copy(s.u, w)
	s.order.Reset(d.RowsOf(r.Device), r.Stream)
	return s
}

// SetDelta derives the tentative change of V from u = w + curvature dv.
func (d *Dual) SetDelta(r Request, s *DualScratch, w []float64, curvature float64) {
	mtl.DeltaV(d.Delta.Row(r.Device), s.u, w, curvature)
}

// Leave adds the message of the device's change of V to the work.
func (d *Dual) Leave(r Request, response Response) Response {
	dv := d.Delta.Row(r.Device)
	if d.coded == nil {
		response.Values += len(dv)
		return response
	}
	coded := d.coded.delta.Row(r.Device)
	copy(coded, dv)
	d.coded.link.Finish(r, coded, &response)
	return response
}

// SDCA takes steps of SDCA on the device's subproblem and returns their FLOPs. It ends early
// when the run is halted.
func (d *Dual) SDCA(r Request, s *DualScratch, curvature float64, steps int) float64 {
	moved, values := 0, d.Problem.Values()
	subproblem := d.Problem.Subproblem(r.Device, curvature)
	for left := steps; left > 0; {
		some := min(left, r.Halt.Steps(values))
		left -= some
		moved += subproblem.SDCA(d.Next[r.Device], s.u, &s.order, some)
		if r.Halt.After(some, values) {
			break
		}
	}
	return d.Problem.SDCAFLOPs(steps, moved)
}
