package algorithms

import (
	"fedsim/data"
	"fedsim/internal/kernel"
	"fedsim/mtl"
)

// Dual is the state that dual methods share, to be embedded: the dual variables
// on the devices, V and W on the server, and the tentative work of the open
// round beside them. A method adds Needs, StepFLOPs and Solve, in which it fills
// Next and Delta of its device.
type Dual struct {
	Problem  *mtl.Problem
	Coupling mtl.Coupling
	Duals    *mtl.Duals  // what both sides have agreed on
	W        data.Matrix // V M, broadcast at Begin
	Next     [][]float64 // tentative dual variables, by device
	Delta    data.Matrix // tentative change of V, one row a device

	rule       string
	sigmaPrime float64
	scratch    []scratch
}

// scratch is a worker's own space, so that a solve allocates nothing.
type scratch struct {
	order mtl.Order
	u     []float64
}

// NewDual returns the state at alpha = 0.
func NewDual(s Setup) Dual {
	d := Dual{
		Problem: s.Problem, Coupling: s.Coupling, Duals: s.Problem.NewDuals(),
		W: s.Problem.NewWeights(), Next: s.Problem.NewBlocks(), Delta: s.Problem.NewWeights(),
		rule:       s.Problem.Config.SigmaPrime,
		sigmaPrime: s.Coupling.SigmaPrime(s.Problem.Config.SigmaPrime),
		scratch:    make([]scratch, s.Workers),
	}
	for i := range d.scratch {
		d.scratch[i].u = make([]float64, s.Problem.Features())
	}
	return d
}

// Curvature returns sigma' M_tt, the quadratic term of the device's subproblem.
func (d *Dual) Curvature(device int) float64 { return d.sigmaPrime * d.Coupling.Diag(device) }

// Begin opens a round: each device is sent its w_t.
func (d *Dual) Begin() int { return d.Problem.Features() }

// Commit makes the device's tentative dual variables and its change of V final.
func (d *Dual) Commit(device int) {
	copy(d.Duals.Alpha[device], d.Next[device])
	kernel.Axpy(1, d.Delta.Row(device), d.Duals.V.Row(device))
}

// Discard leaves both sides as they were; the tentative work is overwritten by
// the device's next solve.
func (d *Dual) Discard(int) {}

// End brings W = V M up to date.
func (d *Dual) End() float64 {
	d.Coupling.Multiply(&d.W, &d.Duals.V)
	return d.Coupling.FLOPs(d.Problem.Features())
}

// Model returns W, V and the dual variables.
func (d *Dual) Model() Model { return Model{W: &d.W, Z: &d.Duals.V, Duals: d.Duals.Alpha} }

// Recouple keeps the dual variables and recomputes V and W = V M from them: w is
// a function of alpha, and the W of the old coupling is not a point of the new
// problem.
func (d *Dual) Recouple(c mtl.Coupling) {
	d.Coupling = c
	d.sigmaPrime = c.SigmaPrime(d.rule)
	d.Problem.Recompute(d.Duals)
	c.Multiply(&d.W, &d.Duals.V)
}

// start copies the device's dual variables to Next and returns the scratch
// space of the worker, with u = w_t and a fresh order of the rows.
func (d *Dual) start(r Request) *scratch {
	s := &d.scratch[r.Worker]
	copy(d.Next[r.Device], d.Duals.Alpha[r.Device])
	copy(s.u, d.W.Row(r.Device))
	s.order.Reset(len(d.Next[r.Device]), r.Stream)
	return s
}

// finish derives the tentative change of V from u = w_t + curvature dv.
func (d *Dual) finish(r Request, s *scratch) {
	mtl.Change(d.Delta.Row(r.Device), s.u, d.W.Row(r.Device), d.Curvature(r.Device))
}

// sdca takes steps of SDCA on the device's subproblem and returns their FLOPs.
func (d *Dual) sdca(r Request, s *scratch, steps int) float64 {
	moved := d.Problem.SDCA(r.Device, d.Next[r.Device], s.u, d.Curvature(r.Device), &s.order, steps)
	return float64(moved)*d.Problem.StepFLOPs() + float64(steps-moved)*d.Problem.IdleStepFLOPs()
}
