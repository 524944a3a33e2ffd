package mtl

import (
	"math"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
)

// Exact reports whether Near solves the problems of the model: it is linear, and the loss is of one score.
func (l *RowLoss) Exact() bool { return l.linear() && l.Loss != nil }

// The end of the coordinate steps of Near: passes, and the largest change of a dual variable in a pass.
const (
	nearPasses = 10_000
	nearChange = 1e-15
)

// Near sets into to the minimum of
//
//	1/n sum_i loss_i(v) + strength/2 |v - center|^2
//
// over rows of an open task, with strength > 0, by coordinate steps on the dual: v = center + sum_i a_i x_i/(n
// strength).
// gap is the duality gap, a certificate; steps are those of all outputs.
func (l *RowLoss) Near(task *data.Client, rows []int32, center []float64, strength float64,
	into []float64) (gap float64, steps int) {
	copy(into, center)
	scale := 1 / (strength * float64(len(rows)))
	a, space := make([]float64, len(rows)), make([]float64, task.X.Cols)
	for c := range l.Outputs {
		clear(a)
		v := l.block(into, c)
		for range nearPasses {
			most := 0.0
			for k, i := range rows {
				norm := task.X.SquaredNorm(int(i), space)
				if norm == 0 {
					continue
				}
				b := l.Loss.Step(a[k], l.Target(task.Y[i], c), task.X.Dot(int(i), v), norm*scale)
				task.X.Axpy((b-a[k])*scale, int(i), v)
				most = max(most, math.Abs(b-a[k]))
				a[k] = b
				steps++
			}
			if most <= nearChange {
				break
			}
		}
		for k, i := range rows {
			z, y := task.X.Dot(int(i), v), l.Target(task.Y[i], c)
			gap += (l.Loss.Value(z, y) + l.Loss.Conjugate(a[k], y) + float64(a[k]*z)) / float64(len(rows))
		}
	}
	return gap, steps
}

// ErrorOf returns the error of a model on the rows of a task, which is not one of the problem's: the share of wrong
// predictions, or the root mean square error of real targets; NaN without rows.
func (p *Problem) ErrorOf(task *data.Client, w []float64) float64 {
	f := p.fit(task, w, nil)
	return p.errorOf(f)
}

// Newcomer is a new client with some of its training rows, or none, and space of the worker that computes.
type Newcomer struct {
	Client   *data.Client
	Rows     []int32
	Steps    int // of gradient descent, where a method has no other way to a model
	Problem  *Problem
	Gradient *Gradient
	G        []float64
}

// Descend takes gradient steps of a size from w, in place, on the mean loss of all rows + l2/2 |w|^2 +
// strength/2 |w - center|^2, and returns the FLOPs. moves clears the gradient of values that stay; nil: there are none.
func (n *Newcomer) Descend(w []float64, steps int, step, l2, strength float64, center []float64,
	moves func(g []float64)) (flops float64) {
	if len(n.Rows) == 0 {
		return 0
	}
	for range steps {
		n.Gradient.Sum(n.Client, n.Rows, w, 1/float64(len(n.Rows)), n.G)
		kernel.Axpy(l2, w, n.G)
		if strength > 0 {
			kernel.Axpy(strength, w, n.G)
			kernel.Axpy(-strength, center, n.G)
		}
		if moves != nil {
			moves(n.G)
		}
		kernel.Axpy(-step, n.G, w)
		flops += float64(float64(len(n.Rows))*n.Problem.RowFLOPs()) + float64(5*float64(len(w)))
	}
	return flops
}

// Near sets into to the minimum of the mean loss of all rows + strength/2 |v - center|^2, exactly where
// RowLoss.Exact says so, otherwise by Steps gradient steps of a size from the center, and returns the FLOPs.
func (n *Newcomer) Near(center []float64, strength, step float64, into []float64) (flops float64) {
	if len(n.Rows) > 0 && strength > 0 && n.Problem.Exact() {
		_, steps := n.Problem.Near(n.Client, n.Rows, center, strength, into)
		return float64(float64(steps) * StepFLOPs(n.Problem.Features))
	}
	copy(into, center)
	return n.Descend(into, n.Steps, step, 0, strength, center, nil)
}

// NewTask returns the problem of one more task with the models of the others, the rows of w, fixed: its loss +
// strength/2 |v - center|^2, with strength = (M^-1)_nn and center = -1/strength sum_t (M^-1)_nt w_t of the coupling M
// of all. With tied false the others do not matter. See HasNewTask.
func (p *Problem) NewTask(w *data.Matrix) (center []float64, strength float64, tied bool) {
	m := float64(w.Rows)
	center = make([]float64, p.Values())
	switch r := p.Regularizer.(type) {
	case Independent:
		strength = r.Lambda * (m + 1)
	case MeanRegularized:
		strength, tied = 2*(float64(r.Lambda1*(m/(m+1)))+r.Lambda2), true
		for t := range w.Rows {
			kernel.Axpy(r.Lambda1/(float64(r.Lambda1*m)+float64(r.Lambda2*(m+1))), w.Row(t), center)
		}
	}
	return center, strength, tied
}

// HasNewTask reports whether the coupling with one more task is known.
func (p *Problem) HasNewTask() bool {
	switch r := p.Regularizer.(type) {
	case Independent:
		return true
	case MeanRegularized:
		return r.Omega == nil && r.Clusters == nil
	}
	return false
}
