package algorithms

import (
	"fedsim/config"
	"fedsim/mtl"
)

type dittoOptions struct {
	PersonalOptions
	Lambda         float64 `toml:"lambda" doc:"lambda of the term lambda/2 |v - w|^2 in the objective of a client's personal model; 0: models of its rows alone"`
	PersonalEpochs float64 `toml:"personal_epochs" doc:"local passes for the client's personal model per round"`
	PersonalStep   float64 `toml:"personal_step" doc:"step size for the client's personal model; 0: that of options.step"`
}

func (o *dittoOptions) Validate(c *config.Checker) {
	o.check(c, 0)
	c.Require(o.Lambda >= 0 && o.Lambda <= 1e12, "lambda", o.Lambda, "must be in [0, 1e12]")
	c.Require(o.PersonalEpochs > 0 && o.PersonalEpochs <= 1e6, "personal_epochs", o.PersonalEpochs, "must be in (0, 1e6]")
	c.Require(o.PersonalStep >= 0 && o.PersonalStep <= 1e12, "personal_step", o.PersonalStep, "must be in [0, 1e12]")
	own := o.own()
	scratch := config.NewChecker()
	own.check(scratch, o.Lambda)
	for _, p := range scratch.Problems() {
		if p.Key == "step" && o.Step > 0 && o.Step <= 1e12 {
			c.Require(false, "lambda", o.Lambda, "is too large: the step size of the device's own model "+p.Want)
		}
	}
}

// own returns the settings of the steps of a device's own model.
func (o *dittoOptions) own() LocalSGDOptions {
	own := o.LocalSGDOptions
	own.Epochs = o.PersonalEpochs
	if o.PersonalStep > 0 {
		own.Step = o.PersonalStep
	}
	return own
}

// split returns the rows of the steps of a device's own model, and of w.
func (o *dittoOptions) split(rows, allowed int) (own, local int) {
	return o.beside(rows, epochs(o.PersonalEpochs, rows), allowed)
}

// ditto is federated averaging of w, beside which device k has a personal model v_k. In a
// round it also makes local steps from v_k on
//
//	F_k(v) + lambda/2 |v - w|^2,
//
// with the w that it was sent. v_k starts at the first one. It does not travel; a device that has
// not taken part is evaluated by w.
type ditto struct {
	personalized
	opts dittoOptions
	own  localSGD
}

var _ Stateful = (*ditto)(nil)

func init() {
	registerPersonal(Factory{
		Name:      "ditto",
		Summary:   "federated averaging, and a personal model of each client, near the average by a proximal term",
		Reference: "Li, Hu, Beirami, Smith: Ditto: Fair and Robust Federated Learning Through Personalization, ICML 2021",
		Options: func() Options {
			return &dittoOptions{PersonalOptions: defaultPersonal(), Lambda: 0.1, PersonalEpochs: 1}
		},
		New: func(s Setup, o Options) (Algorithm, error) {
			opts := o.(*dittoOptions)
			base, err := newPersonalized(s, &opts.PersonalOptions, "ditto", s.Problem.Values())
			if err != nil {
				return nil, err
			}
			f := &ditto{personalized: base, opts: *opts}
			f.About.Means = true
			f.own = f.localSGD // and its scratch space
			f.own.opts = opts.own()
			f.evaluates(func(device, _ int, into []float64) {
				if !f.held.load(device, into) {
					copy(into, f.weights())
				}
			}, false)
			return f, nil
		},
	}, func(o Options, shape mtl.Shape) Workload {
		opts := o.(*dittoOptions)
		return Workload{
			StepFLOPs: opts.stepFLOPs(shape, false), StepValues: shape.RowTraffic(), BatchValues: opts.batchTraffic(shape, false), Kept: 1, Working: 1,
			Batches: func(rows, steps int) int {
				own, local := opts.split(rows, steps)
				return opts.updates(rows, own) + opts.updates(rows, local)
			},
			Steps: func(rows, allowed int) int {
				own, local := opts.split(rows, allowed)
				return own + local
			},
			FLOPs: func(rows, steps int) float64 {
				own, local := opts.split(rows, steps)
				return opts.flops(shape, false, rows, own) + opts.flops(shape, false, rows, local)
			},
		}
	})
}

// Solve makes the device's local steps from w, and those from its own model.
func (f *ditto) Solve(r Request) Work {
	own, local := f.opts.split(f.problem.Train.Clients[r.Device].X.Rows, r.Steps)
	steps := r
	steps.Steps = local
	work := f.fedAvg.Solve(steps)

	w, from := f.shown(), f.held.at(r.Device, f.own.scratch[r.Worker].space)
	if from == nil {
		from = w
	}
	steps.Steps, steps.Stream = own, r.branch(1)
	v, _ := f.own.descend(steps, from, pull{mu: f.opts.Lambda, center: w})
	f.next.store(r.Device, v)
	work.Steps += own
	work.FLOPs += f.flops(r.Device, work.Steps) - f.flops(r.Device, local) // local steps were counted as if they were all
	return work
}
