package mtl

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"fedsim/config"
	"fedsim/data"
)

// Problem is the learning problem of a federation: data, loss, regularizer and values
// computed from them. Devices hold the rows. Each device belongs to one task, and by default
// each task has one device. A Problem does not change after NewProblem, so that any number
// of runs may share it.
type Problem struct {
	Config       Config
	Train        *data.Set  // one element for each device
	Test         *data.Set  // one element for each task; several for pooled tasks (Owner)
	Validation   *data.Set  // likewise; nil: there are no validation rows
	Loss         Loss       // of one score, or nil
	ScoresLoss   ScoresLoss // of all scores of a row; nil: Loss is set
	Regularizer  Regularizer
	Scale        []float64   // c of each device's rows: 1, or 1/n_t with n_t the rows of its task
	Norms        [][]float64 // |x|^2 of each device's rows, one arena
	tasks        int
	outputs      int // scores of a row
	shape        Shape
	layers       []layer    // of the model; nil: it is linear
	sharing      []int      // devices of each task; nil when every device has its own
	exceedsCache bool       // the training rows do not fit into a core's share of the caches
	everything   Sample     // all tasks
	scratch      *sync.Pool // of *Gradient
}

// NewProblem prepares the problem of a validated configuration. It fails without tasks, for
// a device without rows, and for labels of a single class over all tasks. It fails with a
// config.Problem when the loss does not accept the targets.
func NewProblem(cfg Config, split data.Split) (*Problem, error) {
	train := split.Train
	if len(train.Tasks) == 0 {
		return nil, fmt.Errorf("data set %q has no task: a federation needs at least one device", train.Name)
	}
	loss, scores := lossOf(&cfg)
	if train.Real && (loss == nil || !loss.Traits().RealTargets) {
		return nil, config.Problem{Key: "problem.loss", Value: cfg.Loss, Want: fmt.Sprintf(
			"must be one of %s: data set %q has real targets, not the labels -1 and +1", strings.Join(RegressionLosses(), ", "), train.Name)}
	}
	if loss == nil && train.Classes == nil {
		return nil, config.Problem{Key: "problem.loss", Value: cfg.Loss, Want: fmt.Sprintf(
			"must be another, or data.target \"classes\": data set %q has no class numbers", train.Name)}
	}
	p := &Problem{
		Config: cfg, Train: train, Test: split.Test, Validation: split.Validation, Loss: loss, ScoresLoss: scores, outputs: train.Outputs(),
		Scale: make([]float64, len(train.Tasks)), Norms: make([][]float64, len(train.Tasks)),
		tasks: len(train.Tasks),
	}
	p.shape = Shape{Features: train.Features, Outputs: p.outputs, Hidden: cfg.Hidden}
	p.layers = p.shape.layers()
	p.scratch = &sync.Pool{New: func() any { return p.NewGradient() }}
	p.countTasks()
	if err := p.countRows(); err != nil {
		return nil, err
	}
	p.measureRows()
	p.exceedsCache = train.Resident() && p.bytes() > cacheShare
	p.everything = p.whole()
	var err error
	if p.Regularizer, err = regularizerOf(cfg, p.tasks, p.Values()); err != nil {
		return nil, err
	}
	return p, nil
}

// cacheShare is a typical share of a core in the last-level cache, in bytes. When the rows
// need more, SDCA prefetches them four steps ahead.
const cacheShare = 8 << 20

// bytes returns the size of the training rows in memory, in bytes.
func (p *Problem) bytes() int {
	bytes := 0
	for k := range p.Train.Tasks {
		bytes += p.Train.Tasks[k].X.Bytes()
	}
	return bytes
}

// countTasks counts the tasks and the devices of each.
func (p *Problem) countTasks() {
	if p.Train.Owner == nil {
		return
	}
	p.tasks = 0
	for _, t := range p.Train.Owner {
		p.tasks = max(p.tasks, t+1)
	}
	p.sharing = make([]int, p.tasks)
	for _, t := range p.Train.Owner {
		p.sharing[t]++
	}
}

// countRows checks the rows and precomputes scales.
func (p *Problem) countRows() error {
	rows := make([]int, p.tasks)
	arena := make([]float64, p.Train.Rows())
	low, high := math.Inf(1), math.Inf(-1)
	for k := range p.Train.Tasks {
		task := &p.Train.Tasks[k]
		n := task.X.Rows
		if n == 0 {
			return fmt.Errorf("task %q of data set %q has no training row", task.Name, p.Train.Name)
		}
		rows[p.TaskOf(k)] += n
		p.Norms[k], arena = arena[:n:n], arena[n:]
		for _, y := range task.Y {
			low, high = min(low, y), max(high, y)
		}
	}
	if !p.Train.Real && low >= high {
		return fmt.Errorf("data set %q has labels of one class only: a classifier needs both", p.Train.Name)
	}
	for k := range p.Scale {
		p.Scale[k] = 1
		if p.Config.LossScaling == Mean {
			p.Scale[k] = 1 / float64(rows[p.TaskOf(k)])
		}
	}
	return nil
}

// measureRows precomputes norms on all cores: rows that are not in memory are generated
// again.
func (p *Problem) measureRows() {
	pool := NewPool(0)
	spaces := data.NewMatrix(pool.Size(), p.Features()) // a row for each worker
	pool.For(len(p.Norms), func(k, worker int) {
		task := p.Train.Open(k)
		defer task.Close()
		for i := range p.Norms[k] {
			p.Norms[k][i] = task.X.SquaredNorm(i, spaces.Row(worker))
		}
	})
}

// Devices returns the number of devices.
func (p *Problem) Devices() int { return len(p.Train.Tasks) }

// Tasks returns m.
func (p *Problem) Tasks() int { return p.tasks }

// TaskOf returns the task of a device.
func (p *Problem) TaskOf(device int) int { return p.Train.TaskOf(device) }

// Features returns d.
func (p *Problem) Features() int { return p.Train.Features }

// Outputs returns the number of scores of a row: the number of classes, or 1 for the labels
// -1 and +1 and for real targets.
func (p *Problem) Outputs() int { return p.outputs }

// Shape returns the size of the model of a task.
func (p *Problem) Shape() Shape { return p.shape }

// Values returns the number of values of the model of a task. A linear model has d weights
// for each output: w[c*d:(c+1)*d] are those of output c.
func (p *Problem) Values() int { return p.shape.Values() }

// Smooth reports whether the loss of a row is a smooth function of its scores.
func (p *Problem) Smooth() bool { return p.Loss == nil || p.Loss.Traits().Smoothness > 0 }

// SigmaPrime returns sigma'_t of each task under a coupling by the configured
// rule, gamma included (eq. sigmaPrimeSafeDefinition).
func (p *Problem) SigmaPrime(c Coupling) []float64 {
	sigma := c.SigmaPrime(p.Config.SigmaPrime, p.sharing)
	for t := range sigma {
		sigma[t] *= p.Config.Gamma
	}
	return sigma
}

// MinRows returns n_min, the number of training rows of the smallest device.
func (p *Problem) MinRows() int {
	n := p.Train.Tasks[0].X.Rows
	for k := range p.Train.Tasks {
		n = min(n, p.Train.Tasks[k].X.Rows)
	}
	return n
}

// RowCounts returns n_t, the number of training rows of each device.
func (p *Problem) RowCounts() []int32 {
	rows := make([]int32, p.Devices())
	for k := range rows {
		rows[k] = int32(p.Train.Tasks[k].X.Rows)
	}
	return rows
}

// NewWeights returns a zero W: one row of Values for each task.
func (p *Problem) NewWeights() data.Matrix { return data.NewMatrix(p.Tasks(), p.Values()) }

// StepFLOPs returns the most that a step of SDCA costs: a coordinate step for each output.
func (p *Problem) StepFLOPs() float64 { return p.shape.StepFLOPs() }

// SDCAFLOPs returns the cost of steps of SDCA in which moved coordinates changed. A
// coordinate that does not change needs no axpy.
func (p *Problem) SDCAFLOPs(steps, moved int) float64 {
	d := p.Features()
	return float64(float64(moved)*StepFLOPs(d)) + float64(float64(steps*p.outputs-moved)*(2*float64(d)+8))
}

// RowFLOPs returns the cost of the gradient of the loss of one row.
func (p *Problem) RowFLOPs() float64 { return p.shape.RowFLOPs() }

// StepFLOPs returns the cost of one coordinate step on d features: the dot product,
// the axpy and eight operations for the step itself.
func StepFLOPs(d int) float64 { return float64(4*float64(d)) + 8 }
