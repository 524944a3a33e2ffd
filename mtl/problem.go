package mtl

import (
	"fmt"

	"fedsim/data"
	"fedsim/internal/kernel"
)

// Problem is the learning problem of a federation: data, loss, regulariser and
// what is precomputed of them. It is never changed after NewProblem, so that
// any number of runs may share it.
type Problem struct {
	Config      Config
	Train, Test *data.Set
	Loss        Loss
	Regularizer Regularizer
	Scale       []float64   // c_t: 1, or 1/n_t
	Norms       [][]float64 // |x_ti|^2, one arena
}

// NewProblem prepares the problem of a validated configuration. It fails on
// data that cannot be learnt from: no task, a task without rows, labels of one
// class over all tasks.
func NewProblem(cfg Config, split data.Split) (*Problem, error) {
	train := split.Train
	if len(train.Tasks) == 0 {
		return nil, fmt.Errorf("data set %q has no task: a federation needs at least one device", train.Name)
	}
	p := &Problem{
		Config: cfg, Train: train, Test: split.Test,
		Loss: lossByName(cfg.Loss), Regularizer: regularizerOf(cfg),
		Scale: make([]float64, len(train.Tasks)), Norms: make([][]float64, len(train.Tasks)),
	}
	arena := make([]float64, train.Rows())
	var positive, negative bool
	for t := range train.Tasks {
		task := &train.Tasks[t]
		n := task.X.Rows
		if n == 0 {
			return nil, fmt.Errorf("task %q of data set %q has no training row", task.Name, train.Name)
		}
		p.Scale[t] = 1
		if cfg.LossScaling == Mean {
			p.Scale[t] = 1 / float64(n)
		}
		p.Norms[t], arena = arena[:n:n], arena[n:]
		for i := range n {
			x := task.X.Row(i)
			p.Norms[t][i] = kernel.Dot(x, x)
			positive = positive || task.Y[i] > 0
			negative = negative || task.Y[i] < 0
		}
	}
	if !positive || !negative {
		return nil, fmt.Errorf("data set %q has labels of one class only: a classifier needs both", train.Name)
	}
	return p, nil
}

// Tasks returns m.
func (p *Problem) Tasks() int { return len(p.Train.Tasks) }

// Features returns d.
func (p *Problem) Features() int { return p.Train.Features }

// MinRows returns n_min, the number of training rows of the smallest task.
func (p *Problem) MinRows() int {
	n := p.Train.Tasks[0].X.Rows
	for t := range p.Train.Tasks {
		n = min(n, p.Train.Tasks[t].X.Rows)
	}
	return n
}

// NewWeights returns a zero W: one row of d values for each task.
func (p *Problem) NewWeights() data.Matrix { return data.NewMatrix(p.Tasks(), p.Features()) }

// StepFLOPs is the cost of one coordinate step: the dot product, the axpy and
// eight operations for the step itself.
func (p *Problem) StepFLOPs() float64 { return 4*float64(p.Features()) + 8 }

// IdleStepFLOPs is the cost of a step that leaves its coordinate where it is
// and needs no axpy.
func (p *Problem) IdleStepFLOPs() float64 { return 2*float64(p.Features()) + 8 }
