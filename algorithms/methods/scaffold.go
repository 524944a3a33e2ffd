package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// The options of SCAFFOLD for a device's next control variate.
const (
	optionI  = "gradient"
	optionII = "steps"
)

type scaffoldOptions struct {
	kit.AverageOptions
	// a client's next control variate: "steps" (the mean gradient of its local steps, option II of the
	// paper) or "gradient" (its gradient at the model it was sent, one more pass over its rows,
	// option I)
	Option string `toml:"variate"`
	// step size eta_g of the server: the factor of the mean of the changes
	ServerStep float64 `toml:"server_step"`
}

func (o *scaffoldOptions) Validate(c *config.Checker) {
	o.AverageOptions.Validate(c)
	c.OneOf("variate", o.Option, optionI, optionII)
	c.Require(o.ServerStep > 0 && o.ServerStep <= 1e12, "server_step", o.ServerStep, "must be in (0, 1e12]")
}

// steps returns the rows of the pass of option I and of the local steps.
func (o *scaffoldOptions) steps(rows, allowed int) (pass, local int) {
	if o.Option == optionI {
		return o.Beside(rows, rows, allowed)
	}
	return 0, o.LocalSGDOptions.Steps(rows, allowed)
}

// flops is the cost of so many steps of a device. The pass of option I is one more mini-batch.
func (o *scaffoldOptions) flops(shape mtl.Shape, rows, steps int) float64 {
	pass, local := o.steps(rows, steps)
	flops := o.LocalSGDOptions.FLOPs(shape, true, rows, local)
	if pass > 0 {
		flops += float64(float64(pass)*shape.RowFLOPs()) + o.UpdateFLOPs(shape, true)
	}
	return flops
}

// batches returns the mini-batches of so many steps of a device.
func (o *scaffoldOptions) batches(rows, steps int) int {
	pass, local := o.steps(rows, steps)
	return min(1, pass) + o.Updates(rows, local)
}

// scaffold is stochastic controlled averaging. Device k has a control variate c_k, the
// server has c, the mean of all; both start at 0. The server sends w and c. The device takes
// K local steps u -= eta_l (g_k(u) - c_k + c) from w, and responds with the changes of its
// model and of its control variate, which becomes
//
//	c_k+ = g_k(w)                             (option I)
//	c_k+ = c_k - c + (w - u)/(K eta_l)        (option II).
//
// The server adds to w eta_g times the mean of the responders' changes, and to c the sum of
// the changes of control variates over the number of all devices. With weights by rows the sum
// is weighted by n_k/n, so that c stays the mean of all c_k. A lost response changes
// neither side. A weight of a late response applies to the change of w alone.
type scaffold struct {
	kit.GlobalModel
	opts     scaffoldOptions
	total    float64 // weight of all devices
	c        []float64
	controls *algorithms.Slots // c_k, of the devices that have taken part
	updates  *algorithms.Slots // tentative changes of control variates
	sum      []float64         // weighted changes of control variates in the open round
	next     [][]float64       // by worker: the change of a control variate
}

var _ algorithms.Stateful = (*scaffold)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name:    "scaffold",
		Summary: "averaging, corrected by control variates; which double the messages",
		Reference: "Karimireddy, Kale, Mohri, Reddi, Stich, Suresh: SCAFFOLD: Stochastic Controlled Averaging for " +
			"Federated Learning, ICML 2020",
		Options: func() algorithms.Options {
			return &scaffoldOptions{AverageOptions: kit.DefaultAverage(kit.Equally), Option: optionII, ServerStep: 1}
		},
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			opts := o.(*scaffoldOptions)
			return algorithms.Description{Model: algorithms.OneModel, Means: opts.ServerStep == 1,
				Weights: algorithms.Yes, Messages: algorithms.Messages{Coded: true}, Work: algorithms.Workload{
					StepFLOPs: opts.StepFLOPs(shape, true), Vectors: 2, Kept: 1,
					StepValues: shape.RowTraffic(), BatchValues: opts.BatchTraffic(shape, true), Batches: opts.batches,
					Steps: func(rows, allowed int) int {
						pass, local := opts.steps(rows, allowed)
						return pass + local
					},
					FLOPs: func(rows, steps int) float64 { return opts.flops(shape, rows, steps) },
				}}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts, p := *o.(*scaffoldOptions), s.Problem
			f := &scaffold{
				GlobalModel: kit.NewGlobalModel(s, opts.AverageOptions, 0), opts: opts,
				c: make([]float64, p.Values()), sum: make([]float64, p.Values()),
				controls: algorithms.NewSlots(p, p.Values()), updates: algorithms.NewSlots(p, p.Values()),
			}
			for range s.Workers {
				f.next = append(f.next, make([]float64, p.Values()))
			}
			f.total, f.Link = f.WeightOfAll(), algorithms.NewLink(s, 2, 2, p.Values(), false)
			f.Link.Describe(&f.About)
			return f, nil
		},
	})
}

// Begin opens a round: each device is sent w and c.
func (s *scaffold) Begin() (algorithms.Sent, error) {
	s.Round.Reset()
	clear(s.sum)
	return s.Link.Begin(s.Weights(), s.c)
}

// Solve makes the device's local steps from w. Its response has two vectors: the change of w and
// that of c_k.
func (s *scaffold) Solve(r algorithms.Request) algorithms.Response {
	w, c, control := s.Shown(), s.Link.Shown(1, s.c), s.next[r.Worker]
	pass, local := s.opts.steps(s.Problem.Train.Clients[r.Device].X.Rows, r.Steps)
	copy(control, c)
	s.controls.AddTo(r.Device, -1, control)
	limited := r
	limited.Steps = local
	change, _ := s.Descend(limited, w, kit.Pull{Center: w, Slope: control})
	for j := range change {
		change[j] -= w[j]
	}
	switch {
	case s.opts.Option == optionII:
		step := s.opts.At(r.Round, s.opts.Step)
		if step == 0 { // the schedule has ended: nothing is known
			clear(control)
			break
		}
		// With momentum K is the sum of the weights of gradients.
		inverse := 1 /
			(normalizer(s.opts.Updates(s.Problem.Train.Clients[r.Device].X.Rows, local), s.opts.Momentum, 0) * step)
		for j := range control {
			control[j] = -c[j] - float64(change[j]*inverse)
		}
	case pass == 0:
		clear(control)
	default:
		s.Gradient(r, w, pass, control)
		s.controls.AddTo(r.Device, -1, control)
	}
	response := algorithms.Response{Steps: pass + local, FLOPs: s.FLOPs(r.Device, pass+local)}
	s.Finish(r, change, &response)
	s.Finish(r, control, &response)
	s.Changes.Store(r.Device, change)
	s.updates.Store(r.Device, control)
	return response
}

// Commit takes the device's changes into the round, that of the model multiplied by a weight.
func (s *scaffold) Commit(device int, weight float64) {
	s.updates.AddTo(device, s.WeightOf(device), s.sum)
	s.controls.Add(device, 1, s.updates.At(device, s.Space))
	s.updates.Release(device)
	s.GlobalModel.Commit(device, weight)
}

// Discard forgets the device's changes.
func (s *scaffold) Discard(device int) {
	s.updates.Release(device)
	s.GlobalModel.Discard(device)
}

// End takes the step of w, and brings c up to date.
func (s *scaffold) End() (float64, error) {
	if s.Round.Weight == 0 {
		return s.Link.Take(), nil
	}
	responses := s.Round.FLOPs
	kernel.Axpy(1/s.total, s.sum, s.c)
	return s.Round.Apply(s.Weights(), s.opts.ServerStep) + responses + 2*float64(len(s.c)) + s.Link.Take(), nil
}

// State codes w, c, the control variates of devices and the changes under way.
func (s *scaffold) State(c *state.Coder) {
	s.GlobalModel.State(c)
	c.Float64s(s.c)
	s.controls.State(c)
	s.updates.State(c)
}

// Update returns the change of w, or that of the control variate if only this is not finite.
func (s *scaffold) Update(device int) algorithms.Update {
	if u := s.updates.Update("change of the control variate", device); !u.Finite() {
		return u
	}
	return s.GlobalModel.Update(device)
}
