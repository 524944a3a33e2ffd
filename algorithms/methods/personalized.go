package methods

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// The models that personalized methods evaluate.
const (
	personalModels = "personal"
	globalModels   = "global"
)

// PersonalOptions are the settings of personalized methods; their options embed them.
type PersonalOptions struct {
	kit.AverageOptions
	// models that metrics are of: "personal": that of each client; "global": the one that the
	// server averages
	Evaluate string `toml:"evaluate"`
}

func defaultPersonal() PersonalOptions {
	return PersonalOptions{AverageOptions: kit.DefaultAverage(kit.ByRows), Evaluate: personalModels}
}

// check reports everything wrong with the options under a proximal term mu.
func (o *PersonalOptions) check(c *config.Checker, mu float64) {
	o.AverageOptions.Check(c, mu)
	c.OneOf("evaluate", o.Evaluate, personalModels, globalModels)
}

// personalOptions are the options of a method that embed PersonalOptions.
type personalOptions interface {
	kit.LocalOptions
	personal() *PersonalOptions
}

func (o *PersonalOptions) personal() *PersonalOptions { return o }

// registerPersonal registers a method with some workload, whose options are personalOptions.
func registerPersonal(f algorithms.Factory, work func(o algorithms.Options, shape mtl.Shape) algorithms.Workload) {
	f.Describe = func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
		d := kit.Averaging(o, shape)
		if o.(personalOptions).personal().Evaluate == personalModels {
			d.Model = algorithms.PersonalModels
		}
		d.Work = work(o, shape)
		if part, ok := o.(interface{ learns() ([]string, string) }); ok {
			d.Learns.Models, d.Learns.Because = part.learns()
		}
		return d
	}
	kit.Register(f)
}

// personalized is federated averaging of a model w, beside which devices have models of their
// own. A device that has taken part holds a vector, from which its own model follows. The vector
// of a device at work is tentative: when its response is lost, the device keeps the one it
// had. The models of all devices, a row each, are made when they are evaluated.
type personalized struct {
	fedAvg
	held, next *algorithms.Slots // the devices' vectors; nil: they hold none

	pool   *parallel.Pool
	models data.Matrix                              // of the devices; no rows until they are asked for
	stale  bool                                     // models are of an earlier state
	global bool                                     // w is evaluated
	own    func(device, worker int, into []float64) // makes the model of a device
	size   int                                      // values of it
	// the models that own made, of an external model for which this takes gradients; nil otherwise
	made *algorithms.Slots
}

// newPersonalized starts a method whose devices hold vectors of a size; 0: none. The error is a
// config.Problem when models of devices that share a task are to be evaluated.
func newPersonalized(s algorithms.Setup, o *PersonalOptions, name string, size int) (personalized, error) {
	return personalize(s, o, name, size, kit.NewGlobalModel(s, o.AverageOptions, 0))
}

// personalize is newPersonalized for a w.
func personalize(s algorithms.Setup, o *PersonalOptions, name string, size int,
	w kit.GlobalModel) (personalized, error) {
	p := s.Problem
	m := personalized{fedAvg: fedAvg{GlobalModel: w}, pool: s.Pool, global: o.Evaluate == globalModels,
		stale: true, size: p.Values()}
	if size > 0 {
		m.held, m.next = algorithms.NewSlots(p, size), algorithms.NewSlots(p, size)
	}
	if !m.global && p.Clients() != p.Tasks() {
		want := fmt.Sprintf("must be 1, or options.evaluate %q: %s", globalModels, ownTasks(name))
		if s.Description.Learns.OwnTasks {
			want = "must be 1: " + ownTasks(name)
		}
		return m,
			config.Problem{Key: "data.clients_per_task", Value: float64(p.Clients()) / float64(p.Tasks()), Want: want}
	}
	return m, nil
}

// ownTasks says why clients must not share tasks.
func ownTasks(name string) string {
	return name + " evaluates a model of each client, and clients that share a task have none"
}

// Model returns w, and the models of all devices.
func (pe *personalized) Model() algorithms.Model {
	model := pe.fedAvg.Model()
	if !pe.global {
		model.Personal = pe.personal
	}
	return model
}

// personal returns the models of all devices. Those of an external model, which may be large, are
// made one by one.
func (pe *personalized) personal() *data.Matrix {
	if !pe.stale {
		return &pe.models
	}
	pe.stale = false
	p := pe.Problem
	switch {
	case pe.made != nil:
		pe.pool.For(p.Tasks(), func(device, worker int) {
			space := pe.Scratch[worker].U
			pe.own(device, worker, space)
			pe.made.Store(device, space)
		})
		pe.models = data.Matrix{Rows: p.Tasks(), Cols: pe.size,
			Make: func(device, _ int, into []float64) { pe.made.Load(device, into) }}
	case p.Given.Values > 0:
		pe.models = data.Matrix{Rows: p.Tasks(), Cols: pe.size, Make: pe.own}
	default:
		if pe.models.Rows == 0 {
			pe.models = data.NewMatrix(p.Tasks(), pe.size)
		}
		pe.pool.For(pe.models.Rows, func(device, worker int) { pe.own(device, worker, pe.models.Row(device)) })
	}
	return &pe.models
}

// evaluates sets how the model of a device is made, and whether this takes gradients. It may be called
// for several devices at once.
func (pe *personalized) evaluates(own func(device, worker int, into []float64), takesGradients bool) {
	if pe.own = own; takesGradients && pe.Problem.Given.Values > 0 {
		pe.made = algorithms.NewSlots(pe.Problem, pe.Problem.Values())
	}
}

// Commit takes the device's change, multiplied by a weight, into the mean, and its vector.
func (pe *personalized) Commit(device int, weight float64) {
	pe.fedAvg.Commit(device, weight)
	if pe.next != nil {
		pe.held.ReplaceBy(pe.next, device)
	}
}

// Discard forgets the device's change and its tentative vector.
func (pe *personalized) Discard(device int) {
	pe.fedAvg.Discard(device)
	if pe.next != nil {
		pe.next.Release(device)
	}
}

// End adds the mean of the changes to w.
func (pe *personalized) End() (float64, error) {
	pe.stale = true
	return pe.fedAvg.End()
}

// State codes w and the vectors of devices.
func (pe *personalized) State(c *state.Coder) {
	pe.fedAvg.State(c)
	if pe.next != nil {
		pe.held.State(c)
		pe.next.State(c)
	}
	pe.stale = true
}

// joinNear writes the minimum of the mean loss of the rows of a new client + l2/2 |v|^2 + lambda/2 |v - w|^2, or w
// where that is evaluated.
func (pe *personalized) joinNear(n *mtl.Newcomer, lambda, l2, step float64, into []float64) algorithms.Joined {
	if pe.global {
		return pe.GlobalModel.Join(n, into)
	}
	w := pe.Weights()
	joined := algorithms.Joined{Values: len(w)}
	if len(n.Rows) == 0 {
		copy(into, w)
		return joined
	}
	center := make([]float64, len(w)) // of both terms together
	kernel.Axpy(lambda/(lambda+l2), w, center)
	if lambda+l2 == 0 {
		copy(center, w)
	}
	joined.FLOPs = n.Near(center, lambda+l2, step, into)
	return joined
}
