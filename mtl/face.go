package mtl

import (
	"math"

	"fedsim/internal/tools/kernel"
)

// face minimizes a subproblem over the dual variables of some rows, within their bounds, while the others
// stay. On them the subproblem of a loss with a clipped step is c times the quadratic
//
//	1/2 d.(H + e I)d - r.d,  H_ij = curvature c x_i.x_j,  r_i = (y_i - z_i) - Shrink a_i,
//
// with e = Extra of the step. Newton's method goes towards its minimizer until the first variable meets a bound,
// where it stays, and continues with the others, whose factor follows from the last one. No step increases the
// subproblem. It reuses its memory.
type face struct {
	Subproblem
	clipped ClippedStep
	rows    []int32
	free    []int     // indices of rows that have met no bound
	hessian []float64 // H, both triangles
	factor  []float64 // of H + e I of the free rows, lower triangle
	step    []float64 // d of the free rows
	z, a    []float64 // of the rows
	turns   []turn    // rotations of columns of the factor
	space   []float64 // a row of the data
}

// turn is a rotation of two columns.
type turn struct{ cos, sin float64 }

// maxFace is the most rows of a face: the first Newton step takes time cubic in them.
const maxFace = 160

// choose sets the rows to those whose dual variables differ from last or lie between their bounds, and reports
// whether they can be minimized over.
func (f *face) choose(s Subproblem, last, a []float64) bool {
	f.Subproblem, f.clipped, f.rows = s, s.p.Loss.Traits().Clipped, f.rows[:0]
	if f.clipped == (ClippedStep{}) || s.p.Outputs > 1 {
		return false
	}
	for i, b := range a {
		if low, high := f.bounds(i); b != last[i] || low < b && b < high {
			if len(f.rows) == maxFace {
				return false
			}
			f.rows = append(f.rows, int32(i))
		}
	}
	return len(f.rows) > 0
}

// bounds returns the bounds of the dual variable of a row of the data.
func (f *face) bounds(row int) (low, high float64) {
	if math.Signbit(f.p.Train.Clients[f.k].Y[row]) {
		return -f.clipped.High, -f.clipped.Low
	}
	return f.clipped.Low, f.clipped.High
}

// minimize changes the dual variables a of the rows. u is w + curvature c X^T (a - before) at the start, and
// stays.
func (f *face) minimize(a, u []float64) {
	f.measure(a, u)
	if f.factorize() {
		for len(f.free) > 0 && !f.advance() {
		}
	}
	for i, row := range f.rows {
		a[row] = f.a[i]
	}
}

// measure computes the quadratic.
func (f *face) measure(a, u []float64) {
	task := f.open()
	defer task.Close()
	n := len(f.rows)
	f.hessian, f.factor, f.step = sized(f.hessian, n*n), sized(f.factor, n*n), sized(f.step, n)
	f.z, f.a, f.space = sized(f.z, n), sized(f.a, n), sized(f.space, task.X.Cols)
	f.free = f.free[:0]
	for i, row := range f.rows {
		f.free = append(f.free, i)
		f.z[i], f.a[i] = task.X.Dot(int(row), u), a[row]
		x := task.X.Values(int(row), f.space)
		for j, other := range f.rows[:i+1] {
			h := float64(f.scaled * task.X.Dot(int(other), x))
			f.hessian[i*n+j], f.hessian[j*n+i] = h, h
		}
	}
}

// sized returns a slice of n values, of which nothing is known.
func sized(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}

// factorize computes the factor, and reports whether there is one.
func (f *face) factorize() bool {
	const ridge = 1e-10 // relative to the curvature of a row: rows may depend on each other
	n := len(f.rows)
	for i := range n {
		l, h := f.factor[i*n:][:i+1], f.hessian[i*n:][:i+1]
		for j := range i {
			r := f.factor[j*n:][:j+1]
			l[j] = (h[j] - kernel.Dot(l[:j], r[:j])) / r[j]
		}
		pivot := h[i] + float64(ridge*h[i]) + f.clipped.Extra - kernel.SquaredNorm(l[:i])
		if !(pivot > 0) || math.IsInf(pivot, 1) {
			return false
		}
		l[i] = math.Sqrt(pivot)
	}
	return true
}

// newton sets the step of the free rows to that of Newton's method.
func (f *face) newton() {
	n, y := len(f.rows), f.p.Train.Clients[f.k].Y
	f.step = f.step[:len(f.free)]
	for i, at := range f.free {
		l := f.factor[i*n:][:i+1]
		residual := (y[f.rows[at]] - f.z[at]) - float64(f.clipped.Shrink*f.a[at])
		f.step[i] = (residual - kernel.Dot(l[:i], f.step[:i])) / l[i]
	}
	for i := len(f.free) - 1; i >= 0; i-- {
		l := f.factor[i*n:][:i+1]
		f.step[i] /= l[i]
		kernel.Axpy(-f.step[i], l[:i], f.step[:i])
	}
}

// remove takes a free row out of the factor: the rows that follow move up, and rotations of two columns each
// make it triangular again.
func (f *face) remove(first int) {
	n := len(f.rows)
	f.turns = f.turns[:0]
	for i := first; i+1 < len(f.free); i++ {
		l := f.factor[i*n:][:i+2]
		copy(l, f.factor[(i+1)*n:])
		for k, t := range f.turns {
			x, y := l[first+k], l[first+k+1]
			l[first+k] = float64(t.cos*x) + float64(t.sin*y)
			l[first+k+1] = float64(t.cos*y) - float64(t.sin*x)
		}
		x, y := l[i], l[i+1]
		l[i] = math.Sqrt(float64(x*x) + float64(y*y))
		f.turns = append(f.turns, turn{x / l[i], y / l[i]})
	}
	f.free = append(f.free[:first], f.free[first+1:]...)
}

// advance takes the step and reports true, or takes its part up to the first bound, where that variable stays.
func (f *face) advance() (whole bool) {
	f.newton()
	share, first, bound := 1.0, -1, 0.0
	for i, at := range f.free {
		to, high := f.bounds(int(f.rows[at]))
		if f.step[i] > 0 {
			to = high
		}
		if room := to - f.a[at]; math.Abs(float64(share*f.step[i])) > math.Abs(room) {
			share, first, bound = room/f.step[i], i, to
		}
	}
	n := len(f.rows)
	for i, at := range f.free {
		d := float64(share * f.step[i])
		low, high := f.bounds(int(f.rows[at]))
		f.a[at] = clip(f.a[at]+d, low, high)
		kernel.Axpy(d, f.hessian[at*n:][:n], f.z)
	}
	if first < 0 {
		return true
	}
	f.a[f.free[first]] = bound
	f.remove(first)
	return false
}
