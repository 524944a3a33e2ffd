package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/mtl"
)

// The variants of Per-FedAvg.
const (
	firstOrder  = "first-order"
	hessianFree = "hessian-free"
)

type perFedAvgOptions struct {
	PersonalOptions
	// gradient of the loss after a personal step: "first-order" leaves out the second derivatives;
	// "hessian-free" takes them from a difference of gradients
	Variant string `toml:"variant"`
	// step size alpha of the personal gradient steps
	PersonalStep float64 `toml:"personal_step"`
	// personal gradient steps, each on all training rows of a client, after which it is evaluated
	PersonalSteps int `toml:"personal_steps"`
	// delta of the difference of "hessian-free", of gradients at w + delta v and w - delta v
	Delta float64 `toml:"delta"`
}

func (o *perFedAvgOptions) Validate(c *config.Checker) {
	o.check(c, 0)
	c.OneOf("variant", o.Variant, firstOrder, hessianFree)
	c.Require(o.PersonalStep > 0 && o.PersonalStep <= 1e12, "personal_step", o.PersonalStep, "must be in (0, 1e12]")
	c.Require(o.PersonalSteps >= 1 && o.PersonalSteps <= 1000, "personal_steps", o.PersonalSteps,
		"must be in [1, 1000]")
	c.Require(o.Delta > 0 && o.Delta <= 1, "delta", o.Delta, "must be in (0, 1]")
}

// gradients returns how many gradients of a row a step takes.
func (o *perFedAvgOptions) gradients() int {
	if o.Variant == hessianFree {
		return 4
	}
	return 2
}

// perFedAvg is personalized federated averaging: it averages a model w that each client
// adapts by one gradient step. Clients make local steps on
// F_k(u - alpha grad F_k(u)), each with three mini-batches D, D', D” of the same size:
//
//	x = u - alpha grad F_k(u; D),    v = grad F_k(x; D'),
//	u -= eta v                                                      (first-order)
//	u -= eta (v - alpha/(2 delta)
//	     (grad F_k(u + delta v; D'') - grad F_k(u - delta v; D'')))  (hessian-free)
//
// D, D' and D” come from independent passes over the rows; with consecutive rows they are the
// same. A device is evaluated by its model after personal gradient steps on all its training rows,
// of the size alpha.
type perFedAvg struct {
	personalized
	opts  perFedAvgOptions
	l2    float64
	space []perFedAvgSpace
	step  func(r algorithms.Request, batch kit.MiniBatch, u, g []float64)
}

// perFedAvgSpace is a worker's own space.
type perFedAvgSpace struct {
	orders [2]mtl.Order // of the rows of D' and D''
	x, h   []float64
}

var _ algorithms.Stateful = (*perFedAvg)(nil)

func init() {
	registerPersonal(algorithms.Factory{
		Name:    "per-fedavg",
		Summary: "averaging of a model that clients adapt (MAML); each by a gradient step",
		Reference: "Fallah, Mokhtari, Ozdaglar: Personalized Federated Learning with Theoretical Guarantees: " +
			"A Model-Agnostic Meta-Learning Approach, NeurIPS 2020",
		Options: func() algorithms.Options {
			return &perFedAvgOptions{PersonalOptions: defaultPersonal(), Variant: firstOrder, PersonalStep: 0.01,
				PersonalSteps: 1, Delta: 1e-3}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts, values := o.(*perFedAvgOptions), s.Problem.Values()
			base, err := newPersonalized(s, &opts.PersonalOptions, "per-fedavg", 0)
			if err != nil {
				return nil, err
			}
			if opts.Variant == hessianFree && s.Problem.Given.Single {
				return nil,
					config.Problem{Key: "options.variant", Value: opts.Variant,
						Want: "must be \"first-order\": a difference of gradients of a model in single precision has " +
							"no correct digits"}
			}
			f := &perFedAvg{personalized: base, opts: *opts, l2: opts.L2}
			f.LocalSGD.Options.L2 = 0 // the gradients here have it
			for range s.Workers {
				f.space = append(f.space, perFedAvgSpace{x: make([]float64, values), h: make([]float64, values)})
			}
			f.step = f.metaGradient
			f.evaluates(f.adapt, true)
			return f, nil
		},
	}, func(o algorithms.Options, shape mtl.Shape) algorithms.Workload {
		opts := o.(*perFedAvgOptions)
		load := opts.Times(opts.gradients(), shape)
		if opts.Evaluate == personalModels {
			load.Kept = 1
		}
		return load
	})
}

// Solve makes the device's local steps from w.
func (f *perFedAvg) Solve(r algorithms.Request) algorithms.Response {
	w, rows := f.Shown(), f.Problem.Train.Clients[r.Device].X.Rows
	for i := range f.space[r.Worker].orders {
		f.space[r.Worker].orders[i].Reset(rows, r.Branch(i+1))
	}
	return f.SolveUnder(r, w, kit.Pull{Center: w, Gradient: f.step})
}

// metaGradient sets g to the gradient of the loss after a personal step.
func (f *perFedAvg) metaGradient(r algorithms.Request, batch kit.MiniBatch, u, g []float64) {
	loss, space, n := f.Scratch[r.Worker].Gradient, &f.space[r.Worker], float64(len(batch.Rows))
	alpha, x, h := f.opts.PersonalStep, space.x, space.h
	loss.Sum(batch.Client, batch.Rows, u, 1, h)
	copy(x, u)
	kernel.Descend(1-float64(alpha*f.l2), 0, alpha/n, x, u, h)

	loss.Sum(batch.Client, f.draw(&space.orders[0], len(batch.Rows)), x, 1, g)
	kernel.Axpy(n*f.l2, x, g)
	if f.opts.Variant == firstOrder {
		return
	}
	drawn, curvature := f.draw(&space.orders[1], len(batch.Rows)), alpha/(2*f.opts.Delta)
	copy(x, u)
	kernel.Axpy(f.opts.Delta/n, g, x)
	loss.Sum(batch.Client, drawn, x, 1, h)
	copy(x, u)
	kernel.Axpy(-f.opts.Delta/n, g, x)
	kernel.Descend(1-float64(alpha*f.l2), 0, curvature, g, g, h)
	loss.Sum(batch.Client, drawn, x, curvature, h)
	kernel.Axpy(1, h, g)
}

// draw returns the next rows of an order.
func (f *perFedAvg) draw(o *mtl.Order, rows int) []int32 {
	if !f.LocalSGD.Options.Shuffle {
		return o.InOrder(rows)
	}
	return o.Take(rows)
}

// adapt makes the model of a device: w after the personal steps.
func (f *perFedAvg) adapt(device, worker int, into []float64) {
	h, alpha := f.space[worker].h, f.opts.PersonalStep
	copy(into, f.Weights())
	for range f.opts.PersonalSteps {
		f.Gradient(algorithms.Request{Device: device, Worker: worker}, into, f.Problem.Train.Clients[device].X.Rows, h)
		kernel.Descend(1-float64(alpha*f.l2), 0, alpha, into, h, h)
	}
}

// Join writes w after the personal steps on the rows of a new client.
func (f *perFedAvg) Join(n *mtl.Newcomer, into []float64) algorithms.Joined {
	if f.global {
		return f.GlobalModel.Join(n, into)
	}
	copy(into, f.Weights())
	return algorithms.Joined{Values: len(into),
		FLOPs: n.Descend(into, f.opts.PersonalSteps, f.opts.PersonalStep, f.l2, 0, nil, nil)}
}
