package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/mtl"
)

type apflOptions struct {
	PersonalOptions
	// weight of a client's personal model in its mixed model, at the start
	Alpha float64 `toml:"alpha"`
	// whether a client changes its alpha in every round, by a gradient step on the loss of its
	// mixed model
	Adaptive bool `toml:"adaptive"`
}

func (o *apflOptions) Validate(c *config.Checker) {
	o.check(c, 0)
	c.Require(o.Alpha >= 0 && o.Alpha <= 1, "alpha", o.Alpha, "must be in [0, 1]")
}

// apfl is adaptive personalized federated learning: federated averaging of w, beside which
// device k has a personal model v_k and a weight alpha_k. Its mixed model is
//
//	x = alpha_k v + (1 - alpha_k) u
//
// with u its local model. Each mini-batch moves u, from the w that was sent, along the gradient
// at u, and v along that of the same rows with respect to v, alpha_k grad F_k(x), both with
// the models before the step. An adaptive alpha_k takes the step
// alpha_k -= eta <v - u, grad F_k(x)> with the first mini-batch of a round, held in [0, 1]; later
// mini-batches use it. v_k starts at the first w that was sent. Neither travels. The
// device is evaluated by x with w in place of u; one that has not taken part, by w.
type apfl struct {
	personalized
	alpha    float64 // at the start
	adaptive bool
	own      kit.LocalSGD // steps of v
	space    []apflSpace
	step     func(r algorithms.Request, batch kit.MiniBatch, u, g []float64)
}

// apflSpace is a worker's own space.
type apflSpace struct {
	x     []float64
	next  []float64 // the device's model and alpha after its steps, or those that it holds
	alpha float64   // of the device at work
	first bool      // the next mini-batch is its first
}

var _ algorithms.Stateful = (*apfl)(nil)

func init() {
	registerPersonal(algorithms.Factory{
		Name: "apfl",
		Summary: "averaging, and a mixture with a personal model; each client has the mixture of the average " +
			"and a model of its own",
		Reference: "Deng, Kamani, Mahdavi: Adaptive Personalized Federated Learning, arXiv:2003.13461, 2020",
		Options: func() algorithms.Options {
			return &apflOptions{PersonalOptions: defaultPersonal(), Alpha: 0.5, Adaptive: true}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts, values := o.(*apflOptions), s.Problem.Values()
			base, err := newPersonalized(s, &opts.PersonalOptions, "apfl", values+1)
			if err != nil {
				return nil, err
			}
			f := &apfl{personalized: base, alpha: opts.Alpha, adaptive: opts.Adaptive,
				own: kit.NewLocalSGD(s, opts.LocalSGDOptions)}
			f.own.Options.L2 = 0 // the gradient at the mixed model has it
			for range s.Workers {
				f.space = append(f.space, apflSpace{x: make([]float64, values), next: make([]float64, values+1)})
			}
			f.step = f.personalStep
			f.evaluates(func(device, worker int, into []float64) {
				copy(into, f.Weights())
				if own := f.held.At(device, f.space[worker].next); own != nil {
					mix(into, own[values], own[:values], f.Weights())
				}
			}, false)
			return f, nil
		},
	}, func(o algorithms.Options, shape mtl.Shape) algorithms.Workload {
		opts := o.(*apflOptions)
		load := opts.Times(2, shape)
		load.Kept, load.Working = 1, 1
		return load
	})
}

// mix sets x to alpha v + (1 - alpha) u.
func mix(x []float64, alpha float64, v, u []float64) {
	for j := range x {
		x[j] = float64(alpha*v[j]) + float64((1-alpha)*u[j])
	}
}

// Solve makes the device's local steps, from w and from its own model.
func (a *apfl) Solve(r algorithms.Request) algorithms.Response {
	w, own, space := a.Shown(), &a.own.Scratch[r.Worker], &a.space[r.Worker]
	space.alpha, space.first = a.alpha, true
	copy(own.U, w)
	if held := a.held.At(r.Device, space.next); held != nil {
		copy(own.U, held)
		space.alpha = held[len(w)]
	}
	clear(own.V)
	own.Gradient.For(r.Device, r.Branch(1))
	response := a.SolveUnder(r, w, kit.Pull{Center: w, Gradient: a.step})
	copy(space.next, own.U)
	space.next[len(w)] = space.alpha
	a.next.Store(r.Device, space.next)
	return response
}

// personalStep sets g to the gradient of u's loss, and takes the step of v.
func (a *apfl) personalStep(r algorithms.Request, batch kit.MiniBatch, u, g []float64) {
	own, space, n := &a.own.Scratch[r.Worker], &a.space[r.Worker], float64(len(batch.Rows))
	own.Gradient.Sum(batch.Client, batch.Rows, u, 1, g)
	alpha := space.alpha
	mix(space.x, alpha, own.U, u)
	own.Gradient.Sum(batch.Client, batch.Rows, space.x, 1, own.G)
	kernel.Axpy(n*a.Options.L2, space.x, own.G)
	if space.first && a.adaptive {
		slope := (kernel.Dot(own.U, own.G) - kernel.Dot(u, own.G)) / n
		space.alpha = min(1, max(0, alpha-float64(batch.Step*slope)))
	}
	space.first = false
	for j := range own.G {
		own.G[j] *= alpha
	}
	a.own.TakeStep(own, batch.Step, len(batch.Rows), kit.Pull{Center: own.U})
}
