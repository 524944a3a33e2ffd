package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/mtl"
)

type dittoOptions struct {
	PersonalOptions
	// lambda of the term lambda/2 |v - w|^2 in the objective of a client's personal model; 0:
	// models of its rows alone
	Lambda float64 `toml:"lambda"`
	// local passes for the client's personal model per round
	PersonalEpochs float64 `toml:"personal_epochs"`
	// step size for the client's personal model
	PersonalStep float64 `toml:"personal_step" absent:"0: that of options.step"`
	// csv file with the columns client and lambda: those of clients that it names
	LambdaFile string `toml:"lambda_file" absent:"\"\": options.lambda for all"`
}

func (o *dittoOptions) Validate(c *config.Checker) {
	o.check(c, 0)
	c.Require(o.Lambda >= 0 && o.Lambda <= 1e12, "lambda", o.Lambda, "must be in [0, 1e12]")
	c.Require(o.PersonalEpochs > 0 && o.PersonalEpochs <= 1e6, "personal_epochs", o.PersonalEpochs,
		"must be in (0, 1e6]")
	c.Require(o.PersonalStep >= 0 && o.PersonalStep <= 1e12, "personal_step", o.PersonalStep, "must be in [0, 1e12]")
	own := o.own()
	scratch := config.NewChecker()
	own.Check(scratch, o.Lambda)
	for _, p := range scratch.Problems() {
		if p.Key == "step" && o.Step > 0 && o.Step <= 1e12 {
			c.Require(false, "lambda", o.Lambda, "is too large: the step size of the device's own model "+p.Want)
		}
	}
}

// own returns the settings of the steps of a device's own model.
func (o *dittoOptions) own() kit.LocalSGDOptions {
	own := o.LocalSGDOptions
	own.Epochs = o.PersonalEpochs
	if o.PersonalStep > 0 {
		own.Step = o.PersonalStep
	}
	return own
}

// split returns the rows of the steps of a device's own model, and of w.
func (o *dittoOptions) split(rows, allowed int) (own, local int) {
	return o.Beside(rows, algorithms.EpochSteps(o.PersonalEpochs, rows), allowed)
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
	own  kit.LocalSGD
	lambdas
}

var _ algorithms.Stateful = (*ditto)(nil)

func init() {
	registerPersonal(algorithms.Factory{
		Name:    "ditto",
		Summary: "averaging, and a personal model near the average; a proximal term holds it there",
		Reference: "Li, Hu, Beirami, Smith: Ditto: Fair and Robust Federated Learning Through Personalization, " +
			"ICML 2021",
		Options: func() algorithms.Options {
			return &dittoOptions{PersonalOptions: defaultPersonal(), Lambda: 0.1, PersonalEpochs: 1}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts := o.(*dittoOptions)
			base, err := newPersonalized(s, &opts.PersonalOptions, "ditto", s.Problem.Values())
			if err != nil {
				return nil, err
			}
			f := &ditto{personalized: base, opts: *opts}
			if f.lambdas, err = readLambdas(opts.LambdaFile, opts.Lambda, s, func(lambda float64) config.Options {
				with := *opts
				with.Lambda = lambda
				return &with
			}); err != nil {
				return nil, err
			}
			f.About.Means = true
			f.own = f.LocalSGD // and its scratch space
			f.own.Options = opts.own()
			f.evaluates(func(device, _ int, into []float64) {
				if !f.held.Load(device, into) {
					copy(into, f.Weights())
				}
			}, false)
			return f, nil
		},
	}, func(o algorithms.Options, shape mtl.Shape) algorithms.Workload {
		opts := o.(*dittoOptions)
		return algorithms.Workload{
			StepFLOPs: opts.StepFLOPs(shape, false), StepValues: shape.RowTraffic(),
			BatchValues: opts.BatchTraffic(shape, false), Kept: 1, Working: 1,
			Batches: func(rows, steps int) int {
				own, local := opts.split(rows, steps)
				return opts.Updates(rows, own) + opts.Updates(rows, local)
			},
			Steps: func(rows, allowed int) int {
				own, local := opts.split(rows, allowed)
				return own + local
			},
			FLOPs: func(rows, steps int) float64 {
				own, local := opts.split(rows, steps)
				return opts.FLOPs(shape, false, rows, own) + opts.FLOPs(shape, false, rows, local)
			},
		}
	})
}

// Solve makes the device's local steps from w, and those from its own model.
func (d *ditto) Solve(r algorithms.Request) algorithms.Response {
	own, local := d.opts.split(d.Problem.Train.Clients[r.Device].X.Rows, r.Steps)
	steps := r
	steps.Steps = local
	response := d.fedAvg.Solve(steps)

	w, from := d.Shown(), d.held.At(r.Device, d.own.Scratch[r.Worker].Space)
	if from == nil {
		from = w
	}
	steps.Steps, steps.Stream = own, r.Branch(1)
	v, _ := d.own.Descend(steps, from, kit.Pull{Mu: d.lambda(&d.Problem.Train.Clients[r.Device]), Center: w})
	d.next.Store(r.Device, v)
	response.Steps += own
	// local steps were counted as if they were all
	response.FLOPs += d.FLOPs(r.Device, response.Steps) - d.FLOPs(r.Device, local)
	return response
}

// Join writes the minimum of the objective of the personal model of a new client, with the present w.
func (d *ditto) Join(n *mtl.Newcomer, into []float64) algorithms.Joined {
	return d.joinNear(n, d.lambda(n.Client), d.opts.L2, d.own.Options.Step, into)
}
