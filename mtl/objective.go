package mtl

import (
	"math"

	"fedsim/data"
	"fedsim/internal/invariants"
	"fedsim/internal/kernel"
	"fedsim/internal/parallel"
)

// Objective is the value of a problem at one point. Dual and Gap are NaN for a
// point without dual variables.
type Objective struct {
	Primal, Dual, Gap     float64
	TrainError, TestError float64 // mean over tasks of the share of wrong signs; NaN without rows
}

// Evaluate returns P(W), D(a), their gap and the errors. z holds Z = W M^-1 (for
// a dual method that is V itself), so that R(W) = 1/2 <Z, W>; duals is nil for a
// primal method. Tasks are evaluated in parallel and summed in task order.
func (p *Problem) Evaluate(pool *parallel.Pool, w, z *data.Matrix, duals [][]float64) Objective {
	type part struct{ loss, conjugate, reg, train, test float64 }
	parts := make([]part, p.Tasks())
	pool.For(p.Tasks(), func(t, _ int) {
		q := &parts[t]
		task := &p.Train.Tasks[t]
		q.loss, q.train = p.losses(task, w.Row(t))
		q.loss *= p.Scale[t]
		q.reg = 0.5 * kernel.Dot(w.Row(t), z.Row(t))
		_, q.test = p.losses(&p.Test.Tasks[t], w.Row(t))
		if duals != nil {
			sum := 0.0
			for i, a := range duals[t] {
				sum += p.Loss.Conjugate(a, task.Y[i])
			}
			q.conjugate = p.Scale[t] * sum
		}
	})
	var o Objective
	var loss, conjugate, reg float64
	tested := 0
	for t := range parts {
		loss += parts[t].loss
		conjugate += parts[t].conjugate
		reg += parts[t].reg
		o.TrainError += parts[t].train / float64(p.Tasks())
		if !math.IsNaN(parts[t].test) {
			o.TestError += parts[t].test
			tested++
		}
	}
	o.TestError /= float64(tested) // NaN when no task has a held-out row
	o.Primal = loss + reg
	o.Dual, o.Gap = math.NaN(), math.NaN()
	if duals != nil {
		o.Dual = conjugate + reg
		o.Gap = o.Primal + o.Dual
		if invariants.Enabled && o.Gap < -1e-9*math.Abs(o.Primal) {
			panic("mtl: weak duality is broken: the gap is negative")
		}
	}
	return o
}

// losses returns the sum of losses over a task's rows and the share of rows
// whose sign is wrong (a score of zero is), NaN for a task without rows.
func (p *Problem) losses(task *data.Task, w []float64) (sum, wrong float64) {
	for i := range task.X.Rows {
		z := kernel.Dot(task.X.Row(i), w)
		y := task.Y[i]
		sum += p.Loss.Value(z, y)
		if z*y <= 0 {
			wrong++
		}
	}
	return sum, wrong / float64(task.X.Rows)
}
