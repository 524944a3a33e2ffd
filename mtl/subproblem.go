package mtl

import (
	"fedsim/data"
	"fedsim/internal/tools/kernel"
)

// Subproblem is the objective of client k of task t, minimized over its change da of the dual variables a
// (eq. subproblem),
//
//	c sum_i loss*(-a_i - da_i) + <w_t, dv> + curvature/2 |dv|^2,  dv = c X^T da,
//
// with curvature = sigma' M_tt.
type Subproblem struct {
	p         *Problem
	k         int // the device
	curvature float64
	scaled    float64 // curvature c
}

// Subproblem returns that of a device.
func (p *Problem) Subproblem(device int, curvature float64) Subproblem {
	return Subproblem{p, device, curvature, float64(curvature * p.Scale[device])}
}

// open opens the rows of the device.
func (s Subproblem) open() data.Opened { return s.p.Train.Open(s.k) }

// SDCA takes steps coordinate steps. It changes a in place to a + da, and u = w_t + curvature dv
// with it. A step visits a row: the coordinates of its outputs, in order. The result has the same
// bits as the same number of calls of Step. SDCA is faster: the axpy of a coordinate and the dot
// product of the next are one pass over u, and it draws and prefetches rows ahead. It takes one
// draw a step, returns the number of coordinates that changed, and does not allocate.
func (s Subproblem) SDCA(a, u []float64, order *Order, steps int) (moved int) {
	p, task := s.p, s.open()
	defer task.Close()
	x, y, norms := &task.X, task.Y, p.Norms[s.k]
	if step := p.Loss.Traits().Clipped; step != (ClippedStep{}) && p.Outputs == 1 && x.Dense() {
		ascent := kernel.Ascent{
			X: x.Data, X32: x.Single, Stride: x.Stride, Cols: x.Cols, Y: y, Norms: norms, A: a, U: u,
			Scale: s.scaled, Least: leastCurvature, Step: step, Far: p.exceedsCache,
		}
		for steps > 0 {
			from, to := order.pass(steps)
			moved += ascent.Walk(order.rows, &order.stream, from, to)
			steps -= to - from
		}
		return moved
	}
	most := steps
	if p.Outputs > 1 {
		most = tile
	}
	for steps > 0 {
		rows := order.Take(min(most, steps))
		steps -= len(rows)
		for c := range p.Outputs {
			moved += p.ascend(x, y, norms, a, p.block(u, c), c, s.scaled, rows)
		}
	}
	return moved
}

// tile is the number of rows that SDCA visits for one output after the other. The outputs
// share no coordinate and no weight, so their order does not matter. Few rows stay in the
// first two caches.
const tile = 16

// ascend takes the coordinate steps of an output on some rows; u are the weights of the
// output.
func (p *Problem) ascend(x *data.Matrix, y, norms, a, u []float64, output int, scaled float64,
	rows []int32) (moved int) {
	loss, beyond := p.Loss, p.exceedsCache
	last, delta := 0, 0.0
	for s, row := range rows {
		i := int(row)
		near, far := i, -1
		if s+1 < len(rows) {
			near = int(rows[s+1])
		}
		if beyond && s+4 < len(rows) {
			far = int(rows[s+4])
		}
		z := x.Step(delta, last, u, i, near, far)
		q := scaled * norms[i]
		if q < leastCurvature {
			q = leastCurvature
		}
		j := i*p.Outputs + output
		b := loss.Step(a[j], p.Target(y[i], output), z, q)
		delta = scaled * (b - a[j])
		if b != a[j] {
			a[j] = b
			moved++
		}
		last = i
	}
	if delta != 0 {
		x.Axpy(delta, last, u)
	}
	return moved
}

// Coordinate returns the exact minimizer b of the coordinate of row i and an output, for its dual
// variable a and the score z of the output.
func (s Subproblem) Coordinate(i, output int, a, z float64) float64 {
	p := s.p
	q := float64(s.scaled * p.Norms[s.k][i])
	return p.Loss.Step(a, p.Target(p.Train.Clients[s.k].Y[i], output), z, max(q, leastCurvature))
}

// Step takes one step of SDCA on row i, and returns the number of coordinates that changed.
func (s Subproblem) Step(a, u []float64, i int) (moved int) {
	p, task := s.p, s.open()
	defer task.Close()
	for c := range p.Outputs {
		old, weights := &a[i*p.Outputs+c], p.block(u, c)
		b := s.Coordinate(i, c, *old, task.X.Dot(i, weights))
		if b == *old {
			continue
		}
		task.X.Axpy(s.scaled*(b-*old), i, weights)
		*old = b
		moved++
	}
	return moved
}

// leastCurvature replaces the curvature of a row of zeros. Such a row does not affect w, but
// the duality gap closes only when its dual variable has the optimal value.
const leastCurvature = 1e-300

// SubproblemValue is the value of a subproblem at a + da.
type SubproblemValue struct {
	Value float64 // without the constant c(alpha)
	Gap   float64 // the duality gap: an upper bound on Value minus the minimum
}

// Evaluate evaluates the subproblem at a + da (a and u after SDCA from u = w). By Fenchel and Young the gap is the sum
// over rows of loss(x.u) + loss*(-a) + a x.u, each term of which is at least zero. dv is scratch space of
// Values.
func (s Subproblem) Evaluate(a, u, w, dv []float64) (at SubproblemValue) {
	p, task := s.p, s.open()
	defer task.Close()
	for j, aj := range a {
		i, c := p.coordinate(j)
		y := p.Target(task.Y[i], c)
		z := task.X.Dot(i, p.block(u, c))
		conjugate := p.Loss.Conjugate(aj, y)
		at.Value += conjugate
		at.Gap += p.Loss.Value(z, y) + conjugate + float64(aj*z)
	}
	at.Value = float64(at.Value * p.Scale[s.k])
	at.Gap = float64(at.Gap * p.Scale[s.k])
	DeltaV(dv, u, w, s.curvature)
	at.Value += kernel.Dot(w, dv) + float64(0.5*s.curvature*kernel.Dot(dv, dv))
	return at
}

// Theta returns theta_t^h of a local solve (eq. localSolutionQuality2a),
//
//	theta = (G(da) - G(da*)) / (G(0) - G(da*)),  da = after - before,
//
// where G is the subproblem: before and after hold the dual variables at the start of the round
// and as the solver left them (before gamma scales the update), w is w_t. 0 is
// an exact solution, 1 no progress, more than 1 a solver that made it worse.
// LocalOptimum documents its accuracy.
func (s Subproblem) Theta(before, after, w []float64) float64 {
	var o LocalOptimum
	o.Reset(s, before, w)
	return o.Theta(after)
}

// DeltaV sets dv = (u - w)/curvature: the change of v_t for u = w + curvature dv.
func DeltaV(dv, u, w []float64, curvature float64) {
	for j := range dv {
		dv[j] = (u[j] - w[j]) / curvature
	}
}
