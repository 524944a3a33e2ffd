package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/mtl"
)

// The models that a run of pfedme evaluates, beside those of every personalized method, and the
// starts of theta.
const (
	localModels = "local"
	startCarry  = "carry"
	startLocal  = "local"
)

type pFedMeOptions struct {
	// local rounds R of a client per round, each on one mini-batch
	LocalRounds int `toml:"local_rounds"`
	// rows of a mini-batch; "all": those of the client
	Batch int `toml:"batch" word:"0: all"`
	// step size eta of a local round
	Step float64 `toml:"step"`
	// inner steps K of theta in a local round, all on its mini-batch
	InnerSteps int `toml:"inner_steps"`
	// step size of the inner steps
	InnerStep float64 `toml:"inner_step"`
	// lambda of the term lambda/2 |theta - w_k|^2 in the objective of theta
	Lambda float64 `toml:"lambda"`
	// csv file with the columns client and lambda: those of clients that it names
	LambdaFile string `toml:"lambda_file" absent:"\"\": options.lambda for all"`
	// first theta of a local round: "carry": that of the local round before, in the first one w;
	// "local": w_k
	Start string `toml:"start"`
	// beta of the server's mean, w = (1 - beta) w + beta D(S)
	Beta float64 `toml:"beta"`
	// whether every pass takes the rows in a new random order; false: mini-batches are consecutive
	// rows
	Shuffle bool `toml:"shuffle"`
	// l2 in the term l2/2 |theta|^2 of the inner steps: weight decay
	L2 float64 `toml:"l2"`
	kit.ScheduleOptions
	// weight of a client in the server's mean: "rows": its rows n_k; "equal": the same for all
	Weights string `toml:"weights"`
	// models that metrics are of: "personal": theta; "local": w_k, which the authors' code
	// evaluates as personal; "global": w
	Evaluate string `toml:"evaluate"`
}

// Local returns the local rounds: steps of w_k.
func (o *pFedMeOptions) Local() *kit.LocalSGDOptions {
	return &kit.LocalSGDOptions{Epochs: float64(-o.LocalRounds), Batch: o.Batch, Step: o.Step, Shuffle: o.Shuffle,
		ScheduleOptions: o.ScheduleOptions}
}

// inner returns the steps of theta.
func (o *pFedMeOptions) inner() kit.LocalSGDOptions {
	inner := *o.Local()
	inner.Step, inner.L2 = o.InnerStep, o.L2
	return inner
}

func (o *pFedMeOptions) Averaged() *kit.AverageOptions {
	return &kit.AverageOptions{LocalSGDOptions: *o.Local(), Weights: o.Weights}
}

func (o *pFedMeOptions) personal() *PersonalOptions {
	p := &PersonalOptions{AverageOptions: *o.Averaged(), Evaluate: o.Evaluate}
	if o.Evaluate == localModels {
		p.Evaluate = personalModels
	}
	return p
}

func (o *pFedMeOptions) Validate(c *config.Checker) {
	local := o.Averaged()
	local.Epochs = 1
	local.Check(c, 0)
	c.Require(o.LocalRounds >= 1 && o.LocalRounds <= 1e6, "local_rounds", o.LocalRounds, "must be in [1, 1e6]")
	c.Require(o.InnerSteps >= 1 && o.InnerSteps <= 1e6, "inner_steps", o.InnerSteps, "must be in [1, 1e6]")
	c.Require(o.Lambda > 0 && o.Lambda <= 1e12, "lambda", o.Lambda, "must be in (0, 1e12]")
	c.Require(o.L2 >= 0 && o.L2 <= 1e12, "l2", o.L2, "must be in [0, 1e12]")
	c.Require(o.InnerStep > 0 && o.InnerStep <= 1e12, "inner_step", o.InnerStep, "must be in (0, 1e12]")
	c.Require(!(o.InnerStep*(o.L2+o.Lambda) >= 2), "inner_step", o.InnerStep,
		"must be below 2/(l2 + lambda): inner steps would overshoot more each time")
	c.Require(o.Beta > 0 && o.Beta <= 1e6, "beta", o.Beta, "must be in (0, 1e6]")
	c.OneOf("start", o.Start, startCarry, startLocal)
	c.OneOf("evaluate", o.Evaluate, personalModels, localModels, globalModels)
}

// pFedMe averages a model w from which each client has a personal model, the theta of the Moreau envelope of its
// objective. From w_k = w a client makes local rounds, each with one mini-batch:
//
//	theta -= inner_step (grad F_k(theta) + lambda (theta - w_k)),    K times
//	w_k   -= eta lambda (w_k - theta)
//
// A client is evaluated by its last theta, one that has not taken part by w.
type pFedMe struct {
	personalized
	opts pFedMeOptions
	lambdas
	inner kit.LocalSGD // steps of theta, which is in its scratch space
	step  func(r algorithms.Request, batch kit.MiniBatch, u, g []float64)
}

var _ algorithms.Stateful = (*pFedMe)(nil)

func init() {
	registerPersonal(algorithms.Factory{
		Name:    "pfedme",
		Summary: "averaging of models near which clients have a personal one (Moreau envelopes)",
		Reference: "T Dinh, Tran, Nguyen: Personalized Federated Learning with Moreau Envelopes, " +
			"NeurIPS 2020",
		Options: func() algorithms.Options {
			return &pFedMeOptions{LocalRounds: 20, Batch: 20, Step: 0.005, InnerSteps: 5, InnerStep: 0.09, Lambda: 15,
				Start: startCarry, Beta: 1, Shuffle: true, ScheduleOptions: kit.ScheduleOptions{Schedule: kit.Constant},
				Weights: kit.ByRows, Evaluate: personalModels}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts := o.(*pFedMeOptions)
			base, err := newPersonalized(s, opts.personal(), "pfedme", s.Problem.Values())
			if err != nil {
				return nil, err
			}
			f := &pFedMe{personalized: base, opts: *opts, inner: kit.NewLocalSGD(s, opts.inner())}
			if f.lambdas, err = readLambdas(opts.LambdaFile, opts.Lambda, s, func(lambda float64) config.Options {
				with := *opts
				with.Lambda = lambda
				return &with
			}); err != nil {
				return nil, err
			}
			f.step = f.localRound
			f.evaluates(func(device, _ int, into []float64) {
				if !f.held.Load(device, into) {
					copy(into, f.Weights())
				}
			}, false)
			return f, nil
		},
	}, func(o algorithms.Options, shape mtl.Shape) algorithms.Workload {
		opts := o.(*pFedMeOptions)
		local := opts.Local()
		load := local.Times(opts.InnerSteps, shape)
		inner := load.FLOPs
		load.FLOPs = func(rows, steps int) float64 {
			return inner(rows, steps) + float64(3*float64(local.Updates(rows, steps))*float64(shape.Values()))
		}
		load.Kept, load.Working = 1, 1
		return load
	})
}

// Solve makes the device's local rounds from w.
func (f *pFedMe) Solve(r algorithms.Request) algorithms.Response {
	w, inner := f.Shown(), &f.inner.Scratch[r.Worker]
	copy(inner.U, w)
	inner.Gradient.For(r.Device, r.Branch(1))
	own := inner
	if f.opts.Evaluate == localModels {
		own = &f.Scratch[r.Worker]
	}
	u, steps := f.Descend(r, w, kit.Pull{Center: w, Gradient: f.step})
	f.next.Store(r.Device, own.U)
	for j := range u {
		u[j] -= w[j]
	}
	response := algorithms.Response{Steps: steps, FLOPs: f.FLOPs(r.Device, steps)}
	f.Finish(r, u, &response)
	f.Changes.Store(r.Device, u)
	return response
}

// localRound makes the inner steps of a mini-batch, and sets g to the rows times lambda (w_k - theta).
func (f *pFedMe) localRound(r algorithms.Request, batch kit.MiniBatch, u, g []float64) {
	inner := &f.inner.Scratch[r.Worker]
	if f.opts.Start == startLocal {
		copy(inner.U, u)
	}
	for range f.opts.InnerSteps {
		inner.Gradient.Sum(batch.Client, batch.Rows, inner.U, 1, inner.G)
		f.inner.TakeStep(inner, f.opts.InnerStep, len(batch.Rows), kit.Pull{Mu: f.lambda(batch.Client), Center: u})
	}
	scale := float64(len(batch.Rows)) * f.lambda(batch.Client)
	copy(g, u)
	kernel.Axpy(-1, inner.U, g)
	kernel.Scale(scale, g, g)
}

// End moves w towards the mean of the models of clients.
func (f *pFedMe) End() (float64, error) {
	f.stale = true
	return f.Round.Apply(f.Weights(), f.opts.Beta) + f.Link.Take(), nil
}

// Join writes the minimum of the objective of theta of a new client at w.
func (f *pFedMe) Join(n *mtl.Newcomer, into []float64) algorithms.Joined {
	return f.joinNear(n, f.lambda(n.Client), f.opts.L2, f.opts.InnerStep, into)
}
