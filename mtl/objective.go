package mtl

import (
	"math"
	"slices"

	"fedsim/data"
	"fedsim/internal/invariants"
)

// Objective is the value of a problem at one point. Dual and Gap are NaN for a
// point without dual variables. The errors are means over tasks of the share of wrong signs
// or classes, or of the root mean square error when targets are real; NaN without rows. TestError and
// ValidationError are means over the tasks of their sets, before pooling.
type Objective struct {
	Primal, Dual, Gap     float64
	TrainError, TestError float64
	ValidationError       float64
}

// Fields returns the addresses of all values, for those that code or clear them.
func (o *Objective) Fields() []*float64 {
	return []*float64{&o.Primal, &o.Dual, &o.Gap, &o.TrainError, &o.TestError, &o.ValidationError}
}

// Evaluate returns P(W), D(a), their gap and the errors under a coupling. v and duals are V
// and the dual variables of W = grad R*(V); nil for a primal method. A w of one row is the
// model of every task. Devices are evaluated in parallel and summed in order.
func (p *Problem) Evaluate(pool *Pool, c Coupling, w, v *data.Matrix, duals [][]float64) Objective {
	return p.EvaluateOn(pool, nil, c, w, v, duals)
}

// EvaluateOn is Evaluate on a sample of the tasks; nil: all tasks. The sums of loss and loss*
// over n of m tasks are multiplied by m/n, R is exact, and the errors are means over the
// sample. Weak duality holds only for all tasks.
func (p *Problem) EvaluateOn(pool *Pool, s *Sample, c Coupling, w, v *data.Matrix, duals [][]float64) Objective {
	return p.EvaluateBehind(pool, s, c, w, v, v, duals)
}

// EvaluateBehind is EvaluateOn for a server that does not have all of V yet: W = grad R*(sent).
// P(W) and D(a) bound the optimum for any W and any a, so that the gap stays a certificate.
func (p *Problem) EvaluateBehind(pool *Pool, s *Sample, c Coupling, w, sent, v *data.Matrix, duals [][]float64) Objective {
	if s == nil {
		s = &p.everything
	}
	devices, held := len(s.devices), p.held()
	tests := len(s.tests)
	parts := make([]fit, devices+len(held)*tests)
	pool.For(len(parts), func(i, _ int) {
		if i >= devices {
			set, t := held[(i-devices)/tests], int(s.tests[(i-devices)%tests])
			task := set.Open(t)
			defer task.Close()
			parts[i] = p.fit(task.Task, ModelRow(w, set.TaskOf(t)), nil)
			return
		}
		k := int(s.devices[i])
		var a []float64
		if duals != nil {
			a = duals[k]
		}
		task := p.Train.Open(k)
		defer task.Close()
		parts[i] = p.fit(task.Task, ModelRow(w, p.TaskOf(k)), a)
	})
	var loss, conjugate float64
	for i, k := range s.devices {
		loss += float64(p.Scale[k] * parts[i].loss)
		conjugate += float64(p.Scale[k] * parts[i].conjugate)
	}
	loss = float64(loss * s.weight)
	conjugate = float64(conjugate * s.weight)
	reg := valueOf(c, w, sent)
	o := Objective{
		Primal: loss + reg, Dual: math.NaN(), Gap: math.NaN(),
		TrainError: p.meanError(parts[:devices], s.tasks, s.taskOf),
		TestError:  p.heldError(parts[devices:][:tests]), ValidationError: p.heldError(parts[devices+tests:]),
	}
	if duals != nil {
		if sent != v {
			exact := p.NewWeights()
			c.Primal(&exact, v)
			w, reg = &exact, c.Value(&exact, v)
		}
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
	f := fit{rows: task.X.Rows}
	p.eachRow(task, w, func(i int, z []float64) {
		f.loss += p.loss(z, task.Y[i])
		f.miss += p.miss(z, task.Y[i])
	})
	f.conjugate = p.conjugate(a, task.Y)
	return f
}

// eachRow visits the rows of an open task with their scores, which are valid during the visit.
func (p *Problem) eachRow(task *data.Task, w []float64, visit func(i int, z []float64)) {
	g := p.scratch.Get().(*Gradient)
	defer p.scratch.Put(g)
	if p.outputs == 1 && p.layers == nil {
		for i := range task.X.Rows {
			g.z[0] = task.X.Dot(i, w)
			visit(i, g.z[:1])
		}
		return
	}
	for from := 0; from < task.X.Rows; from += BlockRows {
		to := min(from+BlockRows, task.X.Rows)
		scores := g.Scores(task, from, to, w)
		for i := from; i < to; i++ {
			visit(i, scores[(i-from)*p.outputs:][:p.outputs])
		}
	}
}

// miss returns whether the scores of a row are wrong, as 0 or 1, or their squared error.
func (p *Problem) miss(z []float64, y float64) float64 {
	wrong := Class(z) != int(y)
	if p.outputs == 1 {
		if p.Train.Real {
			return float64((z[0] - y) * (z[0] - y))
		}
		wrong = float64(z[0]*y) <= 0
	}
	if wrong {
		return 1
	}
	return 0
}

// LocalLoss returns the mean loss of weights on the training rows of a device.
func (p *Problem) LocalLoss(device int, w []float64) float64 {
	task := p.Train.Open(device)
	defer task.Close()
	return p.fit(task.Task, w, nil).loss / float64(task.X.Rows)
}

// LocalRMS returns the mean and the root mean square of the losses of weights on the
// training rows of a device.
func (p *Problem) LocalRMS(device int, w []float64) (mean, rms float64) {
	task := p.Train.Open(device)
	defer task.Close()
	sum, squares := 0.0, 0.0
	p.eachRow(task.Task, w, func(i int, z []float64) {
		loss := p.loss(z, task.Y[i])
		sum += loss
		squares += float64(loss * loss)
	})
	rows := float64(task.X.Rows)
	return sum / rows, math.Sqrt(squares / rows)
}

// SampledLoss returns the mean loss of weights on so many training rows of a device,
// drawn without replacement from a stream; on all rows where there are not more.
func (p *Problem) SampledLoss(device int, w []float64, rows int, s Stream) float64 {
	task := p.Train.Open(device)
	defer task.Close()
	g := p.scratch.Get().(*Gradient)
	defer p.scratch.Put(g)
	var order Order
	order.Reset(task.X.Rows, s)
	drawn := order.Take(min(rows, task.X.Rows))
	sum := 0.0
	for block := range slices.Chunk(drawn, BlockRows) {
		z := g.forward(task.Task, block, w)
		for i, row := range block {
			sum += p.loss(z[i*p.outputs:][:p.outputs], task.Y[row])
		}
	}
	return sum / float64(len(drawn))
}

// held returns the sets that are not trained on, which have the same tasks.
func (p *Problem) held() []*data.Set {
	if p.Validation == nil {
		return []*data.Set{p.Test}
	}
	return []*data.Set{p.Test, p.Validation}
}

// heldError returns the mean over tasks of the errors of held-out rows.
func (p *Problem) heldError(parts []fit) float64 {
	return p.meanError(parts, len(parts), func(i int) int { return i })
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
