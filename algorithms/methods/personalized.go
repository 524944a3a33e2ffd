package methods

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/data"
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
	Evaluate string `toml:"evaluate" doc:"models that metrics are of: \"personal\": that of each client; \"global\": the one that the server averages"`
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
	made   *algorithms.Slots                        // the models that own made, of an external model for which this takes gradients; nil otherwise
}

// newPersonalized starts a method whose devices hold vectors of a size; 0: none. The error is a
// config.Problem when models of devices that share a task are to be evaluated.
func newPersonalized(s algorithms.Setup, o *PersonalOptions, name string, size int) (personalized, error) {
	p := s.Problem
	m := personalized{fedAvg: *newFedAvg(s, o.AverageOptions, 0), pool: s.Pool, global: o.Evaluate == globalModels, stale: true}
	if size > 0 {
		m.held, m.next = algorithms.NewSlots(p, size), algorithms.NewSlots(p, size)
	}
	if !m.global && p.Clients() != p.Tasks() {
		return m, config.Problem{Key: "data.clients_per_task", Value: float64(p.Clients()) / float64(p.Tasks()), Want: fmt.Sprintf(
			"must be 1, or options.evaluate %q: %s evaluates a model of each client, and clients that share a task have none", globalModels, name)}
	}
	return m, nil
}

// Model returns w, and the models of all devices.
func (m *personalized) Model() algorithms.Model {
	model := m.fedAvg.Model()
	if !m.global {
		model.Personal = m.personal
	}
	return model
}

// personal returns the models of all devices. Those of an external model, which may be large, are
// made one by one.
func (m *personalized) personal() *data.Matrix {
	if !m.stale {
		return &m.models
	}
	m.stale = false
	p := m.Problem
	switch {
	case m.made != nil:
		m.pool.For(p.Tasks(), func(device, worker int) {
			space := m.Scratch[worker].U
			m.own(device, worker, space)
			m.made.Store(device, space)
		})
		m.models = data.Matrix{Rows: p.Tasks(), Cols: p.Values(), Make: func(device, _ int, into []float64) { m.made.Load(device, into) }}
	case p.Given.Values > 0:
		m.models = data.Matrix{Rows: p.Tasks(), Cols: p.Values(), Make: m.own}
	default:
		if m.models.Rows == 0 {
			m.models = p.NewWeights()
		}
		m.pool.For(m.models.Rows, func(device, worker int) { m.own(device, worker, m.models.Row(device)) })
	}
	return &m.models
}

// evaluates sets how the model of a device is made, and whether this takes gradients. It may be called
// for several devices at once.
func (m *personalized) evaluates(own func(device, worker int, into []float64), takesGradients bool) {
	if m.own = own; takesGradients && m.Problem.Given.Values > 0 {
		m.made = algorithms.NewSlots(m.Problem, m.Problem.Values())
	}
}

// Commit takes the device's change, multiplied by a weight, into the mean, and its vector.
func (m *personalized) Commit(device int, weight float64) {
	m.fedAvg.Commit(device, weight)
	if m.next != nil {
		m.held.ReplaceBy(m.next, device)
	}
}

// Discard forgets the device's change and its tentative vector.
func (m *personalized) Discard(device int) {
	m.fedAvg.Discard(device)
	if m.next != nil {
		m.next.Release(device)
	}
}

// End adds the mean of the changes to w.
func (m *personalized) End() (float64, error) {
	m.stale = true
	return m.fedAvg.End()
}

// State codes w and the vectors of devices.
func (m *personalized) State(c *state.Coder) {
	m.fedAvg.State(c)
	if m.next != nil {
		m.held.State(c)
		m.next.State(c)
	}
	m.stale = true
}
