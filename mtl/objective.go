package mtl

import (
	"math"
	"slices"

	"fedsim/data"
	"fedsim/internal/tools/invariants"
	"fedsim/internal/tools/rng"
)

// Objective is the value of a problem at one point. Dual and Gap are NaN for a
// point without dual variables. The errors are NaN without rows.
type Objective struct {
	Primal, Dual, Gap float64
	// Errors by rows: the share of all rows with wrong signs or classes, or the root of the mean of their
	// squared errors when targets are real.
	TrainError, TestError, ValidationError float64
	// Means over the tasks with rows of the errors of their rows. Those on held-out rows are over the tasks of
	// their sets, before pooling.
	TrainErrorClients, TestErrorClients, ValidationErrorClients float64
	// Own are the means over the rows of each part of the data (data.Split.Parts) of RowLoss.Metrics,
	// NaN without rows. Fields does not have them.
	Own [3][]float64
}

// Fields returns the addresses of all values but Own, for those that code or clear them.
func (o *Objective) Fields() []*float64 {
	return []*float64{&o.Primal, &o.Dual, &o.Gap, &o.TrainError, &o.TestError, &o.ValidationError,
		&o.TrainErrorClients, &o.TestErrorClients, &o.ValidationErrorClients}
}

// Evaluate returns P(W), D(a), their gap and the errors under a coupling. v and duals are V
// and the dual variables of W = grad R*(V); nil for a primal method. A w of one row is the
// model of every task. Devices are evaluated in parallel and summed in order.
func (p *Problem) Evaluate(pool *Pool, c Coupling, w, v *data.Matrix, duals [][]float64) Objective {
	return p.everything.Evaluate(pool, c, w, v, v, duals)
}

// Evaluate is that of Problem on the tasks of the sample. The sums of loss and loss* over n of
// m tasks are multiplied by m/n, R is exact, and the errors are those of the sample. Weak
// duality holds only for all tasks: the gap of others is unknown.
//
// W = grad R*(sent), where sent is V or, for a server that does not have all of V yet, an older
// V. P(W) and D(a) bound the optimum for any W and any a, so that the gap stays a certificate.
func (s *Sample) Evaluate(pool *Pool, c Coupling, w, sent, v *data.Matrix, duals [][]float64) Objective {
	p := s.of
	fits := s.fits(pool, w, duals)
	var loss, conjugate float64
	for i, k := range s.devices {
		loss += float64(p.Scale[k] * fits[0][i].loss)
		conjugate += float64(p.Scale[k] * fits[0][i].conjugate)
	}
	loss = float64(loss * s.weight)
	conjugate = float64(conjugate * s.weight)
	w = p.means(w)
	reg := valueOf(c, w, sent)
	o := Objective{Primal: loss + reg, Dual: math.NaN(), Gap: math.NaN()}
	o.TrainError, o.TrainErrorClients = p.errors(fits[0], s.tasks, s.taskOf)
	o.TestError, o.TestErrorClients = p.heldOutErrors(fits[1])
	o.ValidationError, o.ValidationErrorClients = p.heldOutErrors(fits[2])
	for part := range fits {
		o.Own[part] = p.ownMeans(fits[part])
	}
	if duals != nil {
		if sent != v {
			exact := p.NewWeights()
			c.Primal(&exact, v)
			w, reg = &exact, c.Value(&exact, v)
		}
		// R*(V) = <V, W> - R(W) at W = grad R*(V).
		o.Dual = conjugate + dot(v, w) - reg
		if s.all() {
			o.Gap = o.Primal + o.Dual
		}
		if invariants.Enabled && o.Gap < -1e-9*math.Abs(o.Primal) {
			panic("mtl: weak duality is broken: the gap is negative")
		}
	}
	return o
}

// LocalLoss returns the mean loss of weights on the training rows of a device.
func (p *Problem) LocalLoss(device int, w []float64) float64 {
	mean, _ := p.LocalRMS(device, w)
	return mean
}

// LocalRMS returns the mean and the root mean square of the losses of weights on the
// training rows of a device.
func (p *Problem) LocalRMS(device int, w []float64) (mean, rms float64) {
	if p.program != nil {
		m := p.program.measure(device, w)
		return m.Loss, math.Sqrt(m.Square)
	}
	task := p.Train.Open(device)
	defer task.Close()
	sum, squares := 0.0, 0.0
	p.eachLoss(task.Client, w, func(_ int, _ []float64, loss float64) {
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
	if p.program != nil {
		return p.program.loss(device, drawn, w, s.Fork(rng.Model))
	}
	sum := 0.0
	for block := range slices.Chunk(drawn, BlockRows) {
		if n := p.models(len(w)); n > 0 {
			_, losses := g.mix(task.Client, block, w, n)
			for _, loss := range losses {
				sum += loss
			}
			continue
		}
		z := g.forward(task.Client, block, w)
		for i, row := range block {
			sum += p.loss(z[i*p.Outputs:][:p.Outputs], task.Y[row])
		}
	}
	return sum / float64(len(drawn))
}

// heldOutErrors returns the errors of the elements of a set.
func (l *RowLoss) heldOutErrors(fits []fit) (byRows, overGroups float64) {
	return l.errors(fits, len(fits), func(i int) int { return i })
}

// errorOf returns the error of rows.
func (l *RowLoss) errorOf(f fit) float64 {
	e := f.miss / float64(f.rows)
	if l.real {
		e = math.Sqrt(e)
	}
	return e
}

// errors returns the error of all rows together, and the mean over groups with rows of the errors of
// their rows; NaN without rows.
func (l *RowLoss) errors(parts []fit, groups int, groupOf func(int) int) (byRows, overGroups float64) {
	var all fit
	sums := make([]fit, groups)
	for i := range parts {
		for _, of := range []*fit{&all, &sums[groupOf(i)]} {
			of.miss += parts[i].miss
			of.rows += parts[i].rows
		}
	}
	sum, filled := 0.0, 0
	for _, of := range sums {
		if of.rows > 0 {
			sum += l.errorOf(of)
			filled++
		}
	}
	return l.errorOf(all), sum / float64(filled)
}
