package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// The treatments of devices that have not responded yet in MIFA.
const (
	unseenZero = "zero"
	unseenWait = "wait"
)

type mifaOptions struct {
	kit.AverageOptions
	// until every client has responded: "zero": the changes of the others are 0; "wait": the server
	// takes no step
	Unseen string `toml:"unseen"`
}

func (o *mifaOptions) Validate(c *config.Checker) {
	o.AverageOptions.Validate(c)
	c.OneOf("unseen", o.Unseen, unseenZero, unseenWait)
}

// mifa is memory-augmented impatient federated averaging: in every round the server takes a step along the mean of
// the last G_k = d_k/eta of all devices, each with the step size eta of its own round,
//
//	w += eta_h sum_k p_k G_k / p(N).
type mifa struct {
	remembered
	waits  bool
	unseen int       // devices that have not responded
	rounds int       // before the open one
	rates  []float64 // by device, 1/eta of its last change
	asked  []float64 // by device, eta of its work under way
}

var _ algorithms.Stateful = (*mifa)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name:    "mifa",
		Summary: "averaging of the last changes of all clients; also of absent ones",
		Reference: "Gu, Huang, Zhang, Huang: Fast Federated Learning in the Presence of Arbitrary Device " +
			"Unavailability, NeurIPS 2021",
		Options:  func() algorithms.Options { return &mifaOptions{kit.DefaultAverage(kit.Equally), unseenZero} },
		Describe: func(algorithms.Options, mtl.Shape) algorithms.Description { return remembers() },
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts, n := o.(*mifaOptions), s.Problem.Clients()
			return &mifa{
				remembered: newRemembered(s, opts.AverageOptions), waits: opts.Unseen == unseenWait, unseen: n,
				rates: make([]float64, n), asked: make([]float64, n),
			}, nil
		},
	})
}

// Solve makes the device's local steps from w.
func (m *mifa) Solve(r algorithms.Request) algorithms.Response {
	m.asked[r.Device] = m.Options.At(r.Round, m.Options.Step)
	return m.remembered.Solve(r)
}

// Commit makes the device's change its last one, unless its schedule has ended: then its gradient is not known.
func (m *mifa) Commit(device int, _ float64) {
	eta := m.asked[device]
	if eta == 0 {
		m.Accept(device)
		return
	}
	if !m.last.Has(device) {
		m.unseen--
	}
	before := m.rates[device]
	m.rates[device] = 1 / eta
	m.replace(device, before, m.rates[device])
}

// End takes the step. A round without responses takes none.
func (m *mifa) End() (float64, error) {
	eta := m.Options.At(m.rounds, m.Options.Step)
	m.rounds++
	if m.Round.Weight == 0 {
		return m.Link.Take(), nil
	}
	flops := m.renew() + m.Link.Take()
	if m.waits && m.unseen > 0 {
		return flops, nil
	}
	kernel.Axpy(eta, m.mean, m.Weights())
	return flops + 2*float64(m.W.Cols), nil
}

// State codes w, the changes of it and their step sizes.
func (m *mifa) State(c *state.Coder) {
	m.remembered.State(c)
	c.Int(&m.unseen)
	c.Int(&m.rounds)
	c.Float64s(m.rates)
	c.Float64s(m.asked)
}
