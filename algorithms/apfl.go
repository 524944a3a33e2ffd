package algorithms

import (
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/mtl"
)

type apflOptions struct {
	PersonalOptions
	Alpha    float64 `toml:"alpha" doc:"weight of a client's personal model in its mixed model, at the start"`
	Adaptive bool    `toml:"adaptive" doc:"whether a client changes its alpha in every round, by a gradient step on the loss of its mixed model"`
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
	own      localSGD // steps of v
	space    []apflSpace
	step     func(r Request, batch minibatch, u, g []float64)
}

// apflSpace is a worker's own space.
type apflSpace struct {
	x     []float64
	next  []float64 // the device's model and alpha after its steps, or those that it holds
	alpha float64   // of the device at work
	first bool      // the next mini-batch is its first
}

var _ Stateful = (*apfl)(nil)

func init() {
	registerPersonal(Factory{
		Name:      "apfl",
		Summary:   "federated averaging, and for each client a mixture of the average and a personal model",
		Reference: "Deng, Kamani, Mahdavi: Adaptive Personalized Federated Learning, arXiv:2003.13461, 2020",
		Options: func() Options {
			return &apflOptions{PersonalOptions: defaultPersonal(), Alpha: 0.5, Adaptive: true}
		},
		New: func(s Setup, o Options) (Algorithm, error) {
			opts, values := o.(*apflOptions), s.Problem.Values()
			base, err := newPersonalized(s, &opts.PersonalOptions, "apfl", values+1)
			if err != nil {
				return nil, err
			}
			f := &apfl{personalized: base, alpha: opts.Alpha, adaptive: opts.Adaptive, own: newLocalSGD(s, opts.LocalSGDOptions)}
			f.own.opts.L2 = 0 // the gradient at the mixed model has it
			for range s.Workers {
				f.space = append(f.space, apflSpace{x: make([]float64, values), next: make([]float64, values+1)})
			}
			f.step = f.personalStep
			f.evaluates(func(device, worker int, into []float64) {
				copy(into, f.weights())
				if own := f.held.at(device, f.space[worker].next); own != nil {
					mix(into, own[values], own[:values], f.weights())
				}
			}, false)
			return f, nil
		},
	}, func(o Options, shape mtl.Shape) Workload {
		opts := o.(*apflOptions)
		load := opts.times(2, shape)
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
func (f *apfl) Solve(r Request) Work {
	w, own, space := f.shown(), &f.own.scratch[r.Worker], &f.space[r.Worker]
	space.alpha, space.first = f.alpha, true
	copy(own.u, w)
	if held := f.held.at(r.Device, space.next); held != nil {
		copy(own.u, held)
		space.alpha = held[len(w)]
	}
	clear(own.v)
	own.gradient.For(r.Device, r.branch(1))
	work := f.solveUnder(r, w, pull{center: w, gradient: f.step})
	copy(space.next, own.u)
	space.next[len(w)] = space.alpha
	f.next.store(r.Device, space.next)
	return work
}

// personalStep sets g to the gradient of u's loss, and takes the step of v.
func (f *apfl) personalStep(r Request, batch minibatch, u, g []float64) {
	own, space, n := &f.own.scratch[r.Worker], &f.space[r.Worker], float64(len(batch.rows))
	own.gradient.Sum(batch.task, batch.rows, u, 1, g)
	alpha := space.alpha
	mix(space.x, alpha, own.u, u)
	own.gradient.Sum(batch.task, batch.rows, space.x, 1, own.g)
	kernel.Axpy(n*f.opts.L2, space.x, own.g)
	if space.first && f.adaptive {
		slope := (kernel.Dot(own.u, own.g) - kernel.Dot(u, own.g)) / n
		space.alpha = min(1, max(0, alpha-float64(batch.step*slope)))
	}
	space.first = false
	for j := range own.g {
		own.g[j] *= alpha
	}
	f.own.update(own, batch.step, len(batch.rows), pull{center: own.u})
}
