package mtl

import (
	"context"
	"math"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/rng"
)

// Joint is a regularizer that is jointly convex in W and Omega. Its minimum over Omega,
//
//	r(W) = min over Omega of R(W, Omega),
//
// is a function of the singular values of W.
type Joint interface {
	Regularizer
	// Reduced returns r(W) for a W of these singular values.
	Reduced(singular []float64) float64
	// ReducedConjugate returns r*(V), the conjugate of r, for a V of these singular
	// values, in descending order.
	ReducedConjugate(singular []float64) float64
	// Proximal replaces y, in descending order, by the singular values s that minimize
	// r + rho/2 |s - y|^2.
	Proximal(y []float64, rho float64)
}

// JointOptimum minimizes P over W and Omega together, without a floor on the eigenvalues of
// Omega. It is the alternating direction method of
// multipliers (Boyd et al., Foundations and Trends in Machine Learning 3(1), 2011) on
//
//	min sum_t c_t sum_i loss(w_t . x_ti, y_ti) + r(Z)  subject to W = Z:
//
// every task is solved by itself with SDCA, then the singular values of W give Z.
// The dual variables certify the result. They are feasible times any t in [0, 1],
// and loss*(0) = 0 for every loss here, so that
//
//	P* >= t A - t^2 r*(V),  A = -sum_t c_t sum_i loss*(-a_i).
//
// It ends at the relative gap, or after the sweeps. The loss must be of one score. The optimum's
// W is the best Z. If ctx ends first, JointOptimum returns ctx's error.
func (s Solver) JointOptimum(ctx context.Context, r Joint) (*Optimum, error) {
	p := s.p
	start, err := r.Start(s.pool, p.Tasks())
	if err != nil {
		return nil, err
	}
	o := &Optimum{Duals: p.NewDuals(), W: p.NewWeights()}
	o.Primal, o.Dual = math.Inf(1), math.Inf(1)
	by := newSplitting(p, s.pool, r, o.Duals, start.Convexity())
	for {
		if err := by.step(); err != nil {
			return nil, err
		}
		o.Sweeps += splittingPasses
		primal, lower, err := by.measure()
		if err != nil {
			return nil, err
		}
		if primal < o.Primal {
			o.Primal = primal
			copy(o.W.Data, by.z.Data)
		}
		o.Dual = min(o.Dual, -lower)
		o.Gap = o.Primal + o.Dual
		o.RelativeGap = o.Gap / o.scale()
		if o.RelativeGap <= s.gap || o.Sweeps >= s.sweeps || ctx.Err() != nil {
			return o, ctx.Err()
		}
		by.balance()
	}
}

// splittingPasses is the number of passes of a task over its rows in a step. Steps need no
// exact solutions: each starts at the dual variables of the last.
const splittingPasses = 5

// splitting is the state of JointOptimum: W, Z and the multipliers of W = Z, divided by
// rho.
type splitting struct {
	p       *Problem
	pool    *Pool
	r       Joint
	duals   *Duals
	rho     float64
	w, z, u data.Matrix
	last    data.Matrix // Z before the last step
	values  []float64   // singular values of Z
	devices [][]int     // of each task
	orders  []Order     // by worker
	steps   int
	fits    []fit       // by device
	y       data.Matrix // W + U
}

func newSplitting(p *Problem, pool *Pool, r Joint, duals *Duals, rho float64) *splitting {
	return &splitting{
		p: p, pool: pool, r: r, duals: duals, rho: rho,
		w: p.NewWeights(), z: p.NewWeights(), u: p.NewWeights(), last: p.NewWeights(), y: p.NewWeights(),
		devices: p.devices(), orders: make([]Order, pool.Size()), fits: make([]fit, p.Clients()),
	}
}

// step updates W, Z and the multipliers.
func (s *splitting) step() error {
	s.pool.For(len(s.devices), func(t, worker int) { s.task(t, &s.orders[worker]) })
	s.steps++
	copy(s.last.Data, s.z.Data)
	copy(s.y.Data, s.w.Data)
	kernel.Axpy(1, s.u.Data, s.y.Data)
	spectrum, err := spectrumOf(s.pool, &s.y)
	if err != nil {
		return err
	}
	s.values = append(s.values[:0], spectrum.values...)
	s.r.Proximal(s.values, s.rho)
	spectrum.rescale(&s.z, &s.y, s.values)
	copy(s.u.Data, s.y.Data)
	kernel.Axpy(-1, s.z.Data, s.u.Data)
	return nil
}

// task minimizes the losses of task t plus rho/2 |w - (z - u)|^2 over w, which is
// z - u + V/rho.
func (s *splitting) task(t int, order *Order) {
	w, v := s.w.Row(t), s.duals.V.Row(t)
	clear(v)
	for _, k := range s.devices[t] {
		s.p.AddV(k, v, s.duals.Alpha[k])
	}
	copy(w, s.z.Row(t))
	kernel.Axpy(-1, s.u.Row(t), w)
	kernel.Axpy(1/s.rho, v, w)
	for pass := range splittingPasses {
		for _, k := range s.devices[t] {
			n := s.p.Train.Clients[k].X.Rows
			order.Reset(n, rng.New(0, rng.Reference, k, s.steps*splittingPasses+pass))
			s.p.Subproblem(k, 1/s.rho).SDCA(s.duals.Alpha[k], w, order, n)
		}
	}
}

// measure returns the objective at Z and the lower bound of the dual variables.
func (s *splitting) measure() (primal, lower float64, err error) {
	p := s.p
	p.RecomputeV(s.pool, s.duals)
	s.pool.For(len(s.fits), func(k, _ int) {
		task := p.Train.Open(k)
		defer task.Close()
		s.fits[k] = p.fit(task.Client, s.z.Row(p.TaskOf(k)), s.duals.Alpha[k])
	})
	primal = s.r.Reduced(s.values)
	var gain float64
	for k := range s.fits {
		primal += float64(p.Scale[k] * s.fits[k].loss)
		gain -= float64(p.Scale[k] * s.fits[k].conjugate)
	}
	v, err := spectrumOf(s.pool, &s.duals.V)
	if err != nil {
		return 0, 0, err
	}
	cost := s.r.ReducedConjugate(v.values)
	t := 1.0
	if gain < 2*cost {
		t = max(0, gain/(2*cost))
	}
	return primal, float64(t*gain) - float64(t*t*cost), nil
}

// balance changes rho when one of the residuals, W - Z relative to Z and the change of Z
// relative to the multipliers, is more than three times the other. It stops after 200 steps:
// the method converges for a fixed rho.
func (s *splitting) balance() {
	if s.steps > 200 {
		return
	}
	var primal, dual, z, u float64
	for i, x := range s.z.Data {
		primal += square(s.w.Data[i] - x)
		dual += square(x - s.last.Data[i])
		z += square(x)
		u += square(s.u.Data[i])
	}
	const step = 1.5
	switch {
	case primal*u > 9*dual*z:
		s.rho *= step
		kernel.Scale(1/step, s.u.Data, s.u.Data)
	case dual*z > 9*primal*u:
		s.rho /= step
		kernel.Scale(step, s.u.Data, s.u.Data)
	}
}
