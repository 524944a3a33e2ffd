package methods

import (
	"math"
	"slices"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/elementary"
	"fedsim/mtl"
)

// The weights that the mean of fedem divides by, and the shares of its new clients.
const (
	overPresent = "present"
	overAll     = "all"

	sharesStep      = "step"
	sharesConverged = "converged"
)

type fedEMOptions struct {
	componentOptions
	// number M of components: models of which each client has a mixture
	Components int `toml:"components"`
	// clients whose weights the mean divides by: "present": those of the round; "all": all, so that
	// an absent one counts with the model of before, as in the authors' code
	MeanOver string `toml:"mean_over"`
	// shares of a new client (data.new_clients), from 1/M on: "step": after one step of expectation
	// maximization; "converged": the most likely ones
	NewShares string `toml:"new_shares"`
}

func (o *fedEMOptions) Validate(c *config.Checker) {
	o.check(c, "components", o.Components)
	c.OneOf("mean_over", o.MeanOver, overPresent, overAll)
	c.OneOf("new_shares", o.NewShares, sharesStep, sharesConverged)
}

// fedEM learns M models, of which each client has a mixture with its own shares pi_k. In a round a client makes a step
// of expectation maximization: the responsibilities
//
//	q_mi = pi_km exp(-loss_i(w_m)) / sum_l pi_kl exp(-loss_i(w_l))
//
// of the models for all of its rows give pi_km, their mean over the rows, and weigh the rows in the local steps of each
// model. The server averages each model over the clients, whatever their shares. pi_k is 1/M at first, and does not
// travel. A client is evaluated by its mixture; see mtl.LikelihoodLosses.
type fedEM struct {
	personalized
	opts  fedEMOptions
	space []fedEMSpace
	step  func(r algorithms.Request, batch kit.MiniBatch, u, g []float64)
}

// fedEMSpace is a worker's own space.
type fedEMSpace struct {
	pi     []float64
	q      data.Matrix // by model: losses of the rows, then responsibilities
	at     int         // the model of the local steps
	change []float64
}

var _ algorithms.Stateful = (*fedEM)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name:    "fedem",
		Summary: "averaging of several models; each client has a mixture of them, with its own shares",
		Reference: "Marfoq, Neglia, Bellet, Kameni, Vidal: Federated Multi-Task Learning under a Mixture of " +
			"Distributions, NeurIPS 2021",
		Options: func() algorithms.Options {
			return &fedEMOptions{componentOptions{kit.DefaultAverage(kit.ByRows), 0.1}, 3, overPresent, sharesStep}
		},
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			opts := o.(*fedEMOptions)
			d := kit.Averaging(o, shape)
			d.Model, d.Work = algorithms.PersonalModels, opts.work(shape)
			d.Learns.OwnTasks, d.Learns.Clients, d.Learns.AtLeast = true, opts.Components, "components"
			d.Learns.Losses, d.Learns.Mixtures = mtl.LikelihoodLosses(), true
			return d
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return newFedEM(s, *o.(*fedEMOptions))
		},
	})
}

// work describes the local work: the losses and the responsibilities of all rows under each model come before its local
// steps, in which a row's slopes are weighted.
func (o *fedEMOptions) work(shape mtl.Shape) algorithms.Workload {
	n := float64(o.Components)
	load := o.Times(o.Components, shape)
	load.StepFLOPs += float64(n * float64(shape.Outputs))
	steps := load.FLOPs
	load.FLOPs = func(rows, taken int) float64 {
		return float64(n*float64(rows)*(shape.ScoreFLOPs()+4)) + steps(rows, taken) +
			float64(n*float64(taken)*float64(shape.Outputs))
	}
	load.Vectors, load.Kept, load.Working = o.Components, 1, o.Components
	return load
}

func newFedEM(s algorithms.Setup, o fedEMOptions) (*fedEM, error) {
	p := s.Problem
	start, err := o.start(s, o.Components)
	if err != nil {
		return nil, err
	}
	f := &fedEM{opts: o}
	f.personalized, err = personalize(s, &PersonalOptions{o.AverageOptions, personalModels}, "fedem", o.Components,
		kit.NewGlobalVectors(s, o.AverageOptions, 0, start, o.Components, len(start)))
	if err != nil {
		return nil, err
	}
	most := int(slices.Max(p.RowCounts()))
	for range s.Workers {
		f.space = append(f.space, fedEMSpace{pi: make([]float64, o.Components), q: data.NewMatrix(o.Components, most),
			change: make([]float64, len(start))})
	}
	f.step = f.weighted
	f.size = p.MixtureValues(o.Components)
	f.evaluates(func(device, _ int, into []float64) {
		f.shares(device, into[copy(into, f.Weights()):])
	}, false)
	return f, nil
}

// shares sets pi to the shares of a device.
func (f *fedEM) shares(device int, pi []float64) {
	if !f.held.Load(device, pi) {
		for m := range pi {
			pi[m] = 1 / float64(len(pi))
		}
	}
}

// Solve makes the device's step of expectation maximization.
func (f *fedEM) Solve(r algorithms.Request) algorithms.Response {
	space := &f.space[r.Worker]
	f.expect(r)
	var steps int
	for m := range f.opts.Components {
		local, w := r, f.ShownVector(m)
		if space.at = m; m > 0 {
			local.Stream = r.Branch(m)
		}
		var u []float64
		u, steps = f.Descend(local, w, kit.Pull{Center: w, Gradient: f.step})
		change := space.change[m*len(w):][:len(w)]
		for j := range change {
			change[j] = u[j] - w[j]
		}
	}
	response := algorithms.Response{Steps: steps, FLOPs: f.FLOPs(r.Device, steps)}
	f.Finish(r, space.change, &response)
	f.Changes.Store(r.Device, space.change)
	f.next.Store(r.Device, space.pi)
	return response
}

// expect sets the responsibilities of the rows of a device, and its new shares.
func (f *fedEM) expect(r algorithms.Request) {
	space := &f.space[r.Worker]
	task := f.Problem.Train.Open(r.Device)
	defer task.Close()
	rows, models := task.X.Rows, f.opts.Components
	f.shares(r.Device, space.pi)
	f.Scratch[r.Worker].Gradient.For(r.Device, r.Stream)
	for m, pi := range space.pi {
		losses := space.q.Row(m)[:rows]
		f.Scratch[r.Worker].Gradient.Losses(task.Client, f.ShownVector(m), losses)
		log := elementary.Log(pi)
		for i, loss := range losses {
			losses[i] = log - loss
		}
		space.pi[m] = 0
	}
	for i := range rows {
		most, sum := space.q.Row(0)[i], 0.0
		for m := range models {
			most = max(most, space.q.Row(m)[i])
		}
		for m := range models {
			q := &space.q.Row(m)[i]
			*q = elementary.Exp(*q - most)
			sum += *q
		}
		for m := range models {
			space.q.Row(m)[i] /= sum
			space.pi[m] += space.q.Row(m)[i]
		}
	}
	for m := range models {
		space.pi[m] /= float64(rows)
	}
}

// weighted sets g to the gradient of the loss with the weights of the rows under the model at work.
func (f *fedEM) weighted(r algorithms.Request, batch kit.MiniBatch, u, g []float64) {
	space := &f.space[r.Worker]
	f.Scratch[r.Worker].Gradient.SumWeighted(batch.Client, batch.Rows, space.q.Row(space.at), u, 1, g)
}

// End adds the means of the changes to the models.
func (f *fedEM) End() (float64, error) {
	if f.opts.MeanOver == overAll && f.Round.Weight > 0 {
		f.Round.Weight = f.WeightOfAll()
	}
	return f.personalized.End()
}

// Model returns the mixtures of the clients.
func (f *fedEM) Model() algorithms.Model { return algorithms.Model{W: f.personal()} }

// The end of the steps for the shares of a new client: their number, and the largest change of a share.
const (
	shareSteps  = 1_000_000
	shareChange = 1e-16
)

// Join writes the mixture of a new client, whose shares fit its rows under the present models; without rows they are
// equal.
func (f *fedEM) Join(n *mtl.Newcomer, into []float64) algorithms.Joined {
	models, rows := f.opts.Components, len(n.Rows)
	pi := into[copy(into, f.Weights()):]
	for m := range pi {
		pi[m] = 1 / float64(models)
	}
	joined := algorithms.Joined{Values: f.W.Cols}
	if rows == 0 {
		return joined
	}
	likely := data.NewMatrix(models, rows)
	for m := range models {
		n.Gradient.LossesOf(n.Client, n.Rows, f.Vector(m), likely.Row(m)[:rows])
	}
	for i := range rows {
		least := likely.Row(0)[i]
		for m := range models {
			least = min(least, likely.Row(m)[i])
		}
		for m := range models {
			likely.Row(m)[i] = elementary.Exp(least - likely.Row(m)[i])
		}
	}
	joined.FLOPs = float64(float64(models*rows) * f.Problem.ScoreFLOPs())
	steps, next := 1, make([]float64, models)
	if f.opts.NewShares == sharesConverged {
		steps = shareSteps
	}
	for range steps {
		clear(next)
		for i := range rows {
			sum := 0.0
			for m, share := range pi {
				sum += float64(share * likely.Row(m)[i])
			}
			for m, share := range pi {
				next[m] += share * likely.Row(m)[i] / sum / float64(rows)
			}
		}
		most := 0.0
		for m := range pi {
			most = max(most, math.Abs(next[m]-pi[m]))
		}
		copy(pi, next)
		joined.FLOPs += float64(4 * float64(models*rows))
		if most <= shareChange {
			break
		}
	}
	return joined
}
