package mtl

import (
	"fedsim/data"
	"fedsim/internal/kernel"
)

// Order visits the rows of a task in random permutations, one after the other. Each visit
// takes one draw.
type Order struct {
	rows   []int32
	next   int
	stream Stream
}

// Reset starts a new permutation of n rows with draws from s. It allocates only when n is
// larger than in all earlier calls.
func (o *Order) Reset(n int, s Stream) {
	o.resize(n)
	for i := range o.rows {
		o.rows[i] = int32(i)
	}
	o.next, o.stream = 0, s
}

// ResetTo starts a new permutation of the given rows, which it copies.
func (o *Order) ResetTo(rows []int32, s Stream) {
	o.resize(len(rows))
	copy(o.rows, rows)
	o.next, o.stream = 0, s
}

func (o *Order) resize(n int) {
	if cap(o.rows) < n {
		o.rows = make([]int32, n)
	}
	o.rows = o.rows[:n]
}

// Next returns the next row.
func (o *Order) Next() int { return int(o.Take(1)[0]) }

// Take returns up to most next rows of the current permutation. They are valid until the
// next draw.
func (o *Order) Take(most int) []int32 {
	from, to := o.pass(most)
	o.stream.Draw(o.rows, from, to)
	return o.rows[from:to]
}

// InOrder is Take without draws: rows in their order.
func (o *Order) InOrder(most int) []int32 {
	from, to := o.pass(most)
	return o.rows[from:to]
}

// pass advances past the positions of the rows that Take returns. The caller must draw them.
func (o *Order) pass(most int) (from, to int) {
	from, to = o.next, min(o.next+most, len(o.rows))
	if o.next = to; to == len(o.rows) {
		o.next = 0
	}
	return from, to
}

// SDCA takes steps coordinate steps on the subproblem of a device k (eq.
// subproblem),
//
//	min over da of c sum_i loss*(-a_i - da_i) + <w_t, dv> + curvature/2 |dv|^2,  dv = c X^T da
//
// where curvature = sigma' M_tt of its task t. It changes a in place to a + da, and u =
// w_t + curvature dv with it. A step visits a row: the coordinates of its outputs, in order.
// The result has the same bits as the same number of calls of
// SDCAStep. SDCA is faster: the axpy of a coordinate and the dot product of the next are one
// pass over u, and it draws and prefetches rows ahead. It takes one draw a step, returns the
// number of coordinates that changed, and does not allocate.
func (p *Problem) SDCA(k int, a, u []float64, curvature float64, order *Order, steps int) (moved int) {
	task := p.Train.Open(k)
	defer task.Close()
	x, y, norms := &task.X, task.Y, p.Norms[k]
	scaled := float64(curvature * p.Scale[k])
	if step := p.Loss.Traits().Clipped; step != (ClippedStep{}) && p.outputs == 1 && x.Dense() {
		ascent := kernel.Ascent{
			X: x.Data, X32: x.Single, Stride: x.Stride, Cols: x.Cols, Y: y, Norms: norms, A: a, U: u,
			Scale: scaled, Least: leastCurvature, Step: step, Far: p.exceedsCache,
		}
		for steps > 0 {
			from, to := order.pass(steps)
			moved += ascent.Walk(order.rows, &order.stream, from, to)
			steps -= to - from
		}
		return moved
	}
	most := steps
	if p.outputs > 1 {
		most = tile
	}
	for steps > 0 {
		rows := order.Take(min(most, steps))
		steps -= len(rows)
		for c := range p.outputs {
			moved += p.ascend(x, y, norms, a, p.block(u, c), c, scaled, rows)
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
func (p *Problem) ascend(x *data.Matrix, y, norms, a, u []float64, output int, scaled float64, rows []int32) (moved int) {
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
		j := i*p.outputs + output
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

// CoordinateStep returns the exact minimizer b of the coordinate of row i and an output of a
// device's subproblem, for its dual variable a and the score z of the output.
func (p *Problem) CoordinateStep(k, i, output int, a, z, curvature float64) float64 {
	q := float64(float64(curvature*p.Scale[k]) * p.Norms[k][i])
	return p.Loss.Step(a, p.Target(p.Train.Tasks[k].Y[i], output), z, max(q, leastCurvature))
}

// SDCAStep takes one step of SDCA on row i, and returns the number of coordinates that
// changed.
func (p *Problem) SDCAStep(k int, a, u []float64, curvature float64, i int) (moved int) {
	task := p.Train.Open(k)
	defer task.Close()
	for c := range p.outputs {
		old, weights := &a[i*p.outputs+c], p.block(u, c)
		b := p.CoordinateStep(k, i, c, *old, task.X.Dot(i, weights), curvature)
		if b == *old {
			continue
		}
		task.X.Axpy(float64(curvature*p.Scale[k])*(b-*old), i, weights)
		*old = b
		moved++
	}
	return moved
}

// leastCurvature replaces the curvature of a row of zeros. Such a row does not affect w, but
// the duality gap closes only when its dual variable has the optimal value.
const leastCurvature = 1e-300

// Subproblem is the value of a device's subproblem at a + da.
type Subproblem struct {
	Value float64 // objective of the subproblem without its constant c(alpha)
	Gap   float64 // its duality gap: an upper bound on Value minus the minimum
}

// EvaluateSubproblem evaluates the subproblem of device k at a + da (a and u after SDCA from
// u = w). By Fenchel and Young the gap is the sum over rows of
// loss(x.u) + loss*(-a) + a x.u, each term of which is at least zero. dv is
// scratch space of Values.
func (p *Problem) EvaluateSubproblem(k int, a, u, w, dv []float64, curvature float64) Subproblem {
	task := p.Train.Open(k)
	defer task.Close()
	var s Subproblem
	for j, aj := range a {
		i, c := p.coordinate(j)
		y := p.Target(task.Y[i], c)
		z := task.X.Dot(i, p.block(u, c))
		conjugate := p.Loss.Conjugate(aj, y)
		s.Value += conjugate
		s.Gap += p.Loss.Value(z, y) + conjugate + float64(aj*z)
	}
	s.Value = float64(s.Value * p.Scale[k])
	s.Gap = float64(s.Gap * p.Scale[k])
	DeltaV(dv, u, w, curvature)
	s.Value += kernel.Dot(w, dv) + float64(0.5*curvature*kernel.Dot(dv, dv))
	return s
}

// DeltaV sets dv = (u - w)/curvature: the change of v_t for u = w + curvature dv.
func DeltaV(dv, u, w []float64, curvature float64) {
	for j := range dv {
		dv[j] = (u[j] - w[j]) / curvature
	}
}
