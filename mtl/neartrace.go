package mtl

import (
	"cmp"
	"math"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/linalg"
)

// Steps of NearTrace: floors of the singular values fall from a tenth of the largest by factors of ten; each has at
// most so many extrapolated updates; the last gap, relative to the objective, is small enough.
const (
	traceFloors  = 7
	traceUpdates = 100
	traceGap     = 1e-6
)

// HasTrace reports whether the regularizer is l |W|_*^2, with |W|_* the sum of the singular values of W, for which
// NearTrace finds the model of one more task.
func (p *Problem) HasTrace() bool {
	r, is := p.Regularizer.(Probabilistic)
	return is && !r.Paper && p.Exact()
}

// NearTrace sets into to the minimum of
//
//	1/n sum_i loss_i(v) + s l |[W; v]|_*^2
//
// over rows of an open task, with the models of the others, the rows of w, fixed. s = 1 for the mean loss. Without rows
// it is 0.
//
// For a floor e of the singular values the norm has a majorizer at each v: with B = (A A^T + e^2 I)^-1/2 and A = [W;
// v], an update of v is Near with strength K = 2 s l N B_nn and center -sum_t B_nt w_t/B_nn, N the sum of the floored
// values. Two updates are extrapolated (Varadhan and Roland, Scandinavian Journal of Statistics 35, 2008) where that
// lowers the objective. Without the floor updates would not leave v = 0, where the norm has a kink.
//
// gap is a duality gap relative to the objective, a certificate: for every Y with singular values of at most 1 and
// every t the norm's square is at least 2t <Y, A> - t^2.
func (p *Problem) NearTrace(task *data.Client, rows []int32, w *data.Matrix, s float64,
	into []float64) (gap, flops float64) {
	clear(into)
	if len(rows) == 0 {
		return 0, 0
	}
	l := s * p.Regularizer.(Probabilistic).strength()
	t := newTraceTask(p, task, rows, w, l)
	for k := range w.Rows {
		kernel.Axpy(1/float64(w.Rows), w.Row(k), into)
	}
	t.floor = cmp.Or(t.decompose(into).largest, 1) // before the first round W is 0
	v1, v2, far := make([]float64, len(into)), make([]float64, len(into)), make([]float64, len(into))
	for range traceFloors {
		t.floor /= 10
		for range traceUpdates {
			t.update(into, v1)
			t.update(v1, v2)
			first, second := 0.0, 0.0
			for j := range into {
				first += square(v1[j] - into[j])
				second += square(float64(v2[j]-v1[j]) - float64(v1[j]-into[j]))
			}
			best := v2
			if second > 0 {
				a := max(1, math.Sqrt(first/second))
				for j := range far {
					r := v1[j] - into[j]
					far[j] = into[j] + float64(2*a*r) + float64(a*a*(v2[j]-v1[j]-r))
				}
				if t.objective(far) <= t.objective(v2) {
					best = far
				}
			}
			moved := 0.0
			for j, x := range best {
				moved = max(moved, math.Abs(x-into[j]))
			}
			copy(into, best)
			if moved < 1e-3*t.floor {
				break
			}
		}
		if gap = t.certify(into); gap <= traceGap {
			break
		}
	}
	return gap, t.flops
}

// traceTask is the problem of a task in NearTrace.
type traceTask struct {
	*Problem
	task  *data.Client
	rows  []int32
	a     data.Matrix // [W; v]
	l     float64
	floor float64
	flops float64
}

func newTraceTask(p *Problem, task *data.Client, rows []int32, w *data.Matrix, l float64) *traceTask {
	t := &traceTask{Problem: p, task: task, rows: rows, a: data.NewMatrix(w.Rows+1, w.Cols), l: l}
	for k := range w.Rows {
		copy(t.a.Row(k), w.Row(k))
	}
	return t
}

// traceSpectrum has singular values of A, in ascending order, with one kind of vectors, of which the other follows.
type traceSpectrum struct {
	values  []float64
	vectors []float64 // a row for each value: of A A^T, or of A^T A where A has more rows than columns
	right   bool
	largest float64
}

// decompose sets v into A and decomposes A by the smaller of A A^T and A^T A.
func (t *traceTask) decompose(v []float64) traceSpectrum {
	copy(t.a.Row(t.a.Rows-1), v)
	n, right := t.a.Rows, false
	if t.a.Cols < n {
		n, right = t.a.Cols, true
	}
	gram := make([]float64, n*n)
	if right {
		for k := range t.a.Rows {
			row := t.a.Row(k)
			for i, x := range row {
				kernel.Axpy(x, row, gram[i*n:(i+1)*n])
			}
		}
	} else {
		for i := range n {
			for j := range i + 1 {
				gram[i*n+j] = kernel.Dot(t.a.Row(i), t.a.Row(j))
			}
		}
	}
	t.flops += float64(float64(n)*float64(len(t.a.Data))) + float64(10*float64(n)*float64(n)*float64(n))
	squares, ok := linalg.Eigen(n, gram, true)
	if !ok {
		return traceSpectrum{values: []float64{math.NaN()}, vectors: gram, right: right}
	}
	for i, x := range squares {
		if squares[i] = 0; x > 1e-15*squares[n-1] { // others are rounding errors
			squares[i] = math.Sqrt(x)
		}
	}
	return traceSpectrum{squares, gram, right, squares[n-1]}
}

// norm returns the sum of the floored singular values of A; of all min(rows, columns), and the floor for the others.
func (t *traceTask) norm(s *traceSpectrum, floor float64) (sum float64) {
	for _, x := range s.values {
		sum += hypotenuse(x, floor)
	}
	return sum + float64(float64(t.a.Rows-len(s.values))*floor)
}

// last returns B_nn and sets slope to the last row of B A.
func (t *traceTask) last(s *traceSpectrum, slope []float64) (own float64) {
	clear(slope)
	v, n := t.a.Row(t.a.Rows-1), len(s.values)
	rest := 1.0 // the part of the last unit vector that no value has
	for k, x := range s.values {
		vector, floored := s.vectors[k*n:(k+1)*n], hypotenuse(x, t.floor)
		if s.right {
			along := kernel.Dot(v, vector)
			kernel.Axpy(along/floored, vector, slope)
			if x > 0 {
				share := square(along / x)
				own += share / floored
				rest -= share
			}
			continue
		}
		of := vector[n-1]
		own += square(of) / floored
		rest -= square(of)
		for i, u := range vector {
			kernel.Axpy(of*u/floored, t.a.Row(i), slope)
		}
	}
	if s.right {
		own += max(0, rest) / t.floor
	}
	return own
}

// update sets next to the minimum of the majorizer at v.
func (t *traceTask) update(v, next []float64) (strength, near float64, center []float64) {
	s := t.decompose(v)
	center = make([]float64, len(v))
	own := t.last(&s, center)
	for j, x := range v {
		center[j] = x - center[j]/own
	}
	strength = 2 * t.l * t.norm(&s, t.floor) * own
	near, steps := t.Near(t.task, t.rows, center, strength, next)
	t.flops += float64(float64(steps) * StepFLOPs(t.Features))
	return strength, near, center
}

// loss returns the mean loss of the rows.
func (t *traceTask) loss(v []float64) (sum float64) {
	for c := range t.Outputs {
		w := t.block(v, c)
		for _, i := range t.rows {
			sum += t.Loss.Value(t.task.X.Dot(int(i), w), t.Target(t.task.Y[i], c)) / float64(len(t.rows))
		}
	}
	return sum
}

// objective returns the objective with floored values.
func (t *traceTask) objective(v []float64) float64 {
	s := t.decompose(v)
	return t.loss(v) + float64(t.l*square(t.norm(&s, t.floor)))
}

// certify makes an update of v in place, and returns the gap of the result.
func (t *traceTask) certify(v []float64) float64 {
	next := make([]float64, len(v))
	strength, gap, center := t.update(v, next)
	copy(v, next)
	s := t.decompose(v)
	norm, rows := t.norm(&s, 0), t.a.Rows
	primal := t.loss(v) + float64(t.l*square(norm))
	scale := 2 * t.l * norm // t of the bound
	y, n := data.NewMatrix(rows, t.a.Cols), len(s.values)
	for k, x := range s.values { // B A, with the singular values x/floored
		vector, floored := s.vectors[k*n:(k+1)*n], hypotenuse(x, t.floor)
		if s.right {
			for i := range rows {
				kernel.Axpy(kernel.Dot(t.a.Row(i), vector)/floored, vector, y.Row(i))
			}
			continue
		}
		along := make([]float64, t.a.Cols)
		for i, u := range vector {
			kernel.Axpy(u/floored, t.a.Row(i), along)
		}
		for i, u := range vector {
			kernel.Axpy(u, along, y.Row(i))
		}
	}
	inner := 0.0
	for i := range rows - 1 {
		inner += kernel.Dot(y.Row(i), t.a.Row(i))
	}
	slope := y.Row(rows - 1) // minus the gradient of the loss at the dual variables
	for j := range slope {
		slope[j] = strength * (v[j] - center[j])
	}
	gap -= kernel.Dot(slope, v)
	kernel.Scale(1/scale, slope, slope)
	of := &traceTask{Problem: t.Problem, a: y}
	size := of.decompose(slope).largest // Y over this has values of at most 1
	gap += float64(t.l*square(norm)) - float64(scale*inner) + square(scale*size)/(4*t.l)
	return gap / primal
}

// hypotenuse returns the square root of a^2 + b^2, with the same bits everywhere. Neither is near the ends of float64.
func hypotenuse(a, b float64) float64 { return math.Sqrt(float64(a*a) + float64(b*b)) }
