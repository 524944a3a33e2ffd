package mtl

import (
	"math"

	"fedsim/data"
	"fedsim/internal/invariants"
	"fedsim/internal/parallel"
)

// Objective is the value of a problem at one point. Dual and Gap are NaN for a
// point without dual variables. The errors are means over tasks of the share of wrong signs
// or classes, or of the root mean square error when targets are real; NaN without rows. TestError is the
// mean over the tasks of the test set, before pooling.
type Objective struct {
	Primal, Dual, Gap     float64
	TrainError, TestError float64
}

// Evaluate returns P(W), D(a), their gap and the errors under a coupling. v and duals are V
// and the dual variables of W = grad R*(V); nil for a primal method. Devices are evaluated in
// parallel and summed in order.
func (p *Problem) Evaluate(pool *parallel.Pool, c Coupling, w, v *data.Matrix, duals [][]float64) Objective {
	return p.EvaluateOn(pool, nil, c, w, v, duals)
}

// EvaluateOn is Evaluate on a sample of the tasks; nil: all tasks. The sums of loss and loss*
// over n of m tasks are multiplied by m/n, R is exact, and the errors are means over the
// sample. Weak duality holds only for all tasks.
func (p *Problem) EvaluateOn(pool *parallel.Pool, s *Sample, c Coupling, w, v *data.Matrix, duals [][]float64) Objective {
	if s == nil {
		s = &p.everything
	}
	devices := len(s.devices)
	parts := make([]fit, devices+len(s.tests))
	pool.For(len(parts), func(i, _ int) {
		if i >= devices {
			t := int(s.tests[i-devices])
			task := p.Test.Open(t)
			defer task.Close()
			parts[i] = p.fit(task.Task, w.Row(p.Test.TaskOf(t)), nil)
			return
		}
		k := int(s.devices[i])
		var a []float64
		if duals != nil {
			a = duals[k]
		}
		task := p.Train.Open(k)
		defer task.Close()
		parts[i] = p.fit(task.Task, w.Row(p.TaskOf(k)), a)
	})
	var loss, conjugate float64
	for i, k := range s.devices {
		loss += float64(p.Scale[k] * parts[i].loss)
		conjugate += float64(p.Scale[k] * parts[i].conjugate)
	}
	loss = float64(loss * s.weight)
	conjugate = float64(conjugate * s.weight)
	reg := c.Value(w, v)
	o := Objective{
		Primal: loss + reg, Dual: math.NaN(), Gap: math.NaN(),
		TrainError: p.meanError(parts[:devices], s.tasks, s.taskOf),
		TestError:  p.meanError(parts[devices:], len(s.tests), func(i int) int { return i }),
	}
	if duals != nil {
		// R*(V) = <V, W> - R(W) at W = grad R*(V).
		o.Dual = conjugate + dot(v, w) - reg
		o.Gap = o.Primal + o.Dual
		if invariants.Enabled && s == &p.everything && o.Gap < -1e-9*math.Abs(o.Primal) {
			panic("mtl: weak duality is broken: the gap is negative")
		}
	}
	return o
}

// fit is how well weights fit some rows.
type fit struct {
	loss, conjugate float64 // sums over the rows
	miss            float64 // wrong signs (a score of zero is) or classes, or the sum of squared errors
	rows            int
}

// fit sums over a task's rows; a holds their dual variables or is nil.
func (p *Problem) fit(task *data.Task, w, a []float64) fit {
	if p.outputs > 1 {
		return p.fitClasses(task, w, a)
	}
	f := fit{rows: task.X.Rows}
	for i := range task.X.Rows {
		z, y := task.X.Dot(i, w), task.Y[i]
		f.loss += p.Loss.Value(z, y)
		switch {
		case p.Train.Real:
			f.miss += float64((z - y) * (z - y))
		case z*y <= 0:
			f.miss++
		}
	}
	for i, ai := range a {
		f.conjugate += p.Loss.Conjugate(ai, task.Y[i])
	}
	return f
}

// fitClasses is fit for several outputs.
func (p *Problem) fitClasses(task *data.Task, w, a []float64) fit {
	f, z := fit{rows: task.X.Rows}, make([]float64, p.outputs)
	for i, y := range task.Y {
		p.scores(z, &task.X, i, w)
		f.loss += p.loss(z, y)
		if Class(z) != int(y) {
			f.miss++
		}
	}
	for j, aj := range a {
		i, c := p.coordinate(j)
		f.conjugate += p.Loss.Conjugate(aj, p.Target(task.Y[i], c))
	}
	return f
}

// LocalLoss returns the mean loss of weights on the training rows of a device.
func (p *Problem) LocalLoss(device int, w []float64) float64 {
	task := p.Train.Open(device)
	defer task.Close()
	return p.fit(task.Task, w, nil).loss / float64(task.X.Rows)
}

// meanError returns the mean over groups of the error of their rows together.
func (p *Problem) meanError(parts []fit, groups int, groupOf func(int) int) float64 {
	miss, rows := make([]float64, groups), make([]int, groups)
	for i := range parts {
		miss[groupOf(i)] += parts[i].miss
		rows[groupOf(i)] += parts[i].rows
	}
	sum, filled := 0.0, 0
	for t, n := range rows {
		if n == 0 {
			continue
		}
		e := miss[t] / float64(n)
		if p.Train.Real {
			e = math.Sqrt(e)
		}
		sum += e
		filled++
	}
	return sum / float64(filled) // NaN when no group has rows
}
