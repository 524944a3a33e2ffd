package mtl

import "fedsim/data"

// Problem is the learning problem of a federation: its rows, the loss of a row, and the
// regularizer. It does not change after NewProblem, so that any number of runs may share it.
// A Subproblem is the part of one device, a Sample evaluates models, and a Solver finds optima.
type Problem struct {
	Config Config
	*Rows
	*RowLoss
	Regularizer Regularizer
	everything  Sample // all tasks
}

// NewProblem prepares the problem of a validated configuration. It fails without tasks, for
// a device without rows, and for labels of a single class over all tasks. It fails with a
// config.Problem when the loss does not accept the targets.
func NewProblem(cfg Config, split data.Split) (p *Problem, err error) {
	return NewExternalProblem(cfg, split, nil)
}

// NewExternalProblem is NewProblem with the program of an external model; nil: the model is that of
// the configuration.
func NewExternalProblem(cfg Config, split data.Split, external Program) (p *Problem, err error) {
	if cfg.Loss == "" && external == nil {
		if err := cfg.chooseLoss(split.Train); err != nil {
			return nil, err
		}
	}
	p = &Problem{Config: cfg}
	if p.RowLoss, err = newRowLoss(&cfg, split.Train, external); err != nil {
		return nil, err
	}
	if p.Rows, err = newRows(split, cfg.LossScaling, external == nil); err != nil {
		return nil, err
	}
	p.RowLoss.exceedsCache = split.Train.Resident() && p.Rows.bytes() > cacheShare
	if p.Regularizer, err = regularizerOf(cfg, p.tasks, p.Values()); err != nil {
		return nil, err
	}
	p.everything = *p.NewSample(0, 0)
	return p, nil
}

// Central returns the problem under another lambda for a central solver, without held-out rows. The clients of one
// task that all share are one.
func (p *Problem) Central(lambda float64) (*Problem, error) {
	cfg, train := p.Config, p.Train
	cfg.Lambda = lambda
	if train.Owner != nil && p.tasks == 1 {
		train = data.Merge(train)
	}
	return NewProblem(cfg, data.Split{Train: train, Test: &data.Set{Real: train.Real, Classes: train.Classes}})
}

// SigmaPrime returns sigma'_t of each task under a coupling by the configured
// rule, gamma included (eq. sigmaPrimeSafeDefinition).
func (p *Problem) SigmaPrime(c Coupling) []float64 {
	sigma := c.SigmaPrime(p.Config.SigmaPrime, p.sharing)
	for t := range sigma {
		sigma[t] *= p.Config.Gamma
	}
	return sigma
}

// NewWeights returns a zero W: one row of Values for each task.
func (p *Problem) NewWeights() data.Matrix { return data.NewMatrix(p.Tasks(), p.Values()) }

// StartLoss returns the sum of c_t times the losses of all rows at W = 0: P(0) without R.
func (p *Problem) StartLoss() float64 {
	total, z := 0.0, make([]float64, p.Outputs)
	if p.program != nil {
		zeros := data.NewMatrix(1, p.Values())
		for k, f := range p.everything.fits(nil, &zeros, nil)[0] {
			total += float64(p.Scale[k] * f.loss)
		}
		return total
	}
	for k := range p.Train.Clients {
		sum := 0.0
		for _, y := range p.Train.Clients[k].Y {
			sum += p.loss(z, y)
		}
		total += float64(p.Scale[k] * sum)
	}
	return total
}
