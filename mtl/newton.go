package mtl

import (
	"context"
	"math"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
)

// newton is the central solver for twice differentiable losses under a quadratic R: Newton's
// method on P, with each linear system solved by conjugate gradients (Nocedal and Wright,
// Numerical Optimization, 2006, algorithm 7.1) under the preconditioner M. It stores
// W = U M with its U, so that W M^-1 is never computed.
//
// The dual variables a = -grad loss at the scores of W certify W. By Fenchel and Young
// loss(z) + loss*(-a) + a z = 0 for every row, so that with V of these a and
// G = U - V, the gradient of P,
//
//	P(W) + D(a) = R(W) + R*(V) - <W, V> = 1/2 |W - V M|^2 in the norm of M^-1
//	            = 1/2 tr(G M G^T),
//
// which bounds P(W) - P*: R is 1-strongly convex with respect to M^-1.
type newton struct {
	p     *Problem
	c     Coupling
	pool  *Pool
	units []unit
	parts data.Matrix // a row for each unit; no rows when each task has one unit
	first []int       // index of the first unit of each task, and the number of units

	u, w  data.Matrix
	alpha [][]float64
	v     data.Matrix
	g     data.Matrix // U - V
	mg    data.Matrix // G M
	loss  float64     // sum of c_t times the losses
	gap   float64     // 1/2 tr(G M G^T)

	sweeps int       // passes over all rows
	losses []float64 // by unit
	spaces [][]float64
}

// unit is a range of rows of a device: the work of one worker at a time.
type unit struct{ device, from, to int }

// unitRows is the most rows of a unit.
const unitRows = 2048

func newNewton(p *Problem, pool *Pool, c Coupling, start *Duals) *newton {
	n := &newton{
		p: p, c: c, pool: pool,
		u: p.NewWeights(), w: p.NewWeights(), v: p.NewWeights(), g: p.NewWeights(), mg: p.NewWeights(),
		alpha: p.NewBlocks(), first: make([]int, p.Tasks()+1), spaces: make([][]float64, pool.Size()),
	}
	for t, own := range p.devices() {
		for _, k := range own {
			ranges := cut(p.Train.Clients[k].X.Rows, unitRows)
			for i := range ranges.count {
				from, to := ranges.at(i)
				n.units = append(n.units, unit{k, from, to})
			}
		}
		n.first[t+1] = len(n.units)
	}
	if len(n.units) > p.Tasks() {
		n.parts = data.NewMatrix(len(n.units), p.Values())
	}
	for i := range n.spaces {
		n.spaces[i] = make([]float64, p.Outputs)
	}
	n.losses = make([]float64, len(n.units))
	if start != nil {
		duals := &Duals{Alpha: start.Alpha, V: n.u}
		p.RecomputeV(pool, duals)
		c.Primal(&n.w, &n.u)
	}
	n.evaluate()
	return n
}

// sum sets row t of a matrix to the sum over the rows of task t of c x_i s_i, where f sets s
// to a row's factors by output.
func (n *newton) sum(into *data.Matrix, f func(task *data.Client, i, index int, device int, s []float64)) {
	n.sweeps++
	p := n.p
	n.pool.For(len(n.units), func(index, worker int) {
		of, s := n.units[index], n.spaces[worker]
		task := p.Train.Open(of.device)
		defer task.Close()
		row := n.parts
		at := index
		if row.Rows == 0 {
			row, at = *into, p.TaskOf(of.device)
		}
		sum := row.Row(at)
		clear(sum)
		for i := of.from; i < of.to; i++ {
			f(task.Client, i, index, of.device, s)
			for c, factor := range s {
				if factor != 0 {
					task.X.Axpy(p.Scale[of.device]*factor, i, p.block(sum, c))
				}
			}
		}
	})
	if n.parts.Rows == 0 {
		return
	}
	n.pool.For(p.Tasks(), func(t, _ int) {
		sum := into.Row(t)
		clear(sum)
		for i := n.first[t]; i < n.first[t+1]; i++ {
			kernel.Axpy(1, n.parts.Row(i), sum)
		}
	})
}

// evaluate computes the loss, the dual variables, G and the gap at W.
func (n *newton) evaluate() {
	clear(n.losses)
	p := n.p
	n.sum(&n.v, func(task *data.Client, i, index, device int, s []float64) {
		p.scores(s, &task.X, i, n.w.Row(p.TaskOf(device)))
		n.losses[index] += p.loss(s, task.Y[i])
		p.slopes(s, task.Y[i])
		a := n.alpha[device][i*len(s) : (i+1)*len(s)]
		for c, slope := range s {
			s[c] = -slope
			a[c] = -slope
		}
	})
	n.loss = 0
	for i, of := range n.units {
		n.loss += float64(p.Scale[of.device] * n.losses[i])
	}
	copy(n.g.Data, n.u.Data)
	kernel.Axpy(-1, n.v.Data, n.g.Data)
	n.c.Primal(&n.mg, &n.g)
	n.gap = 0.5 * dot(&n.mg, &n.g)
}

// primal returns P(W).
func (n *newton) primal() float64 { return n.loss + n.c.Value(&n.w, &n.u) }

// curve sets into = D M^-1 + c X^T H X D, the Hessian of P times D, where e = D M^-1.
func (n *newton) curve(into, d, e *data.Matrix) {
	p := n.p
	n.sum(into, func(task *data.Client, i, _, device int, s []float64) {
		p.scores(s, &task.X, i, d.Row(p.TaskOf(device)))
		p.curve(s, n.alpha[device][i*len(s):(i+1)*len(s)], task.Y[i])
	})
	kernel.Axpy(1, e.Data, into.Data)
}

// step solves the Newton system up to a residual with 1/2 tr(r M r^T) <= accuracy, and moves
// W. It reports whether P got smaller.
func (n *newton) step(ctx context.Context, accuracy float64, sweeps int) bool {
	p := n.p
	s, t := p.NewWeights(), p.NewWeights() // the step of W and that of U
	r, z := p.NewWeights(), p.NewWeights()
	d, e, h := p.NewWeights(), p.NewWeights(), p.NewWeights()
	kernel.Axpy(-1, n.g.Data, r.Data)
	kernel.Axpy(-1, n.mg.Data, z.Data)
	copy(d.Data, z.Data)
	copy(e.Data, r.Data)
	size := dot(&r, &z)
	for size > 2*accuracy && n.sweeps < sweeps && ctx.Err() == nil {
		n.curve(&h, &d, &e)
		rate := size / dot(&d, &h)
		kernel.Axpy(rate, d.Data, s.Data)
		kernel.Axpy(rate, e.Data, t.Data)
		kernel.Axpy(-rate, h.Data, r.Data)
		n.c.Primal(&z, &r)
		before := size
		size = dot(&r, &z)
		kernel.Scale(size/before, d.Data, d.Data)
		kernel.Axpy(1, z.Data, d.Data)
		kernel.Scale(size/before, e.Data, e.Data)
		kernel.Axpy(1, r.Data, e.Data)
	}
	before, gap, slope := n.primal(), n.gap, dot(&n.g, &s)
	rate := 1.0
	kernel.Axpy(1, s.Data, n.w.Data)
	kernel.Axpy(1, t.Data, n.u.Data)
	for n.evaluate(); n.sweeps < sweeps; n.evaluate() {
		const rounding = 1e-14
		if n.gap < gap && n.primal() <= before+float64(rounding*math.Abs(before)) ||
			n.primal() <= before+float64(1e-4*rate*slope) {
			return true
		}
		if rate < 1e-9 {
			break
		}
		kernel.Axpy(-rate/2, s.Data, n.w.Data)
		kernel.Axpy(-rate/2, t.Data, n.u.Data)
		rate /= 2
	}
	return false
}

// quadratic reports whether R is 1/2 tr(W M^-1 W^T) and a constant.
func quadratic(c Coupling) bool {
	if s, is := c.(Shifted); is {
		c = s.Coupling
	}
	_, is := c.(*sparse)
	return !is
}

// newton is Optimize by Newton's method. A pass over all rows counts as a sweep.
func (s Solver) newton(ctx context.Context, c Coupling, start *Duals) *Optimum {
	p := s.p
	n := newNewton(p, s.pool, c, start)
	zero := p.NewWeights()
	o := &Optimum{Constant: c.Value(&zero, nil)}
	for {
		o.Primal = n.primal()
		target := s.gap * o.scale()
		if n.gap <= target || n.sweeps >= s.sweeps || ctx.Err() != nil {
			break
		}
		// The accuracy of a step grows with progress, which makes the last steps converge
		// faster than linearly (Nocedal and Wright, theorem 7.2). One step solves a quadratic loss.
		forcing := 0.0
		if p.Loss == nil || !p.Loss.Traits().Quadratic {
			forcing = min(0.1, n.gap/o.scale())
		}
		if !n.step(ctx, max(target/4, forcing*n.gap), s.sweeps) {
			break
		}
	}
	o.Duals, o.W, o.Sweeps = &Duals{Alpha: n.alpha, V: n.v}, n.w, n.sweeps
	o.Objective = p.Evaluate(s.pool, c, &o.W, &n.u, nil)
	o.Gap = n.gap
	o.Dual = o.Gap - o.Primal
	o.RelativeGap = o.Gap / o.scale()
	return o
}
