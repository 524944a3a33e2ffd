package algorithms

import (
	"fedsim/algorithms/privacy"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// The weights of devices in a mean.
const (
	byRows  = "rows"
	equally = "equal"
)

// AverageOptions are the settings of methods that average the work of devices: their
// options embed them.
type AverageOptions struct {
	LocalSGDOptions
	Weights string `toml:"weights" doc:"weight of a client in the server's mean: \"rows\": its rows n_k; \"equal\": the same for all"`
}

// defaultAverage returns the default local steps and a mean with the given weights.
func defaultAverage(weights string) AverageOptions {
	return AverageOptions{LocalSGDOptions: defaultLocalSGD(), Weights: weights}
}

func (o *AverageOptions) averaged() *AverageOptions { return o }

// averaging describes a method whose options embed AverageOptions, and whose server needs the
// weighted mean of changes of one model alone.
func averaging(o Options, _ mtl.Shape) Description {
	unequal := o.(interface{ averaged() *AverageOptions }).averaged().Weights != equally
	return Description{
		Model: OneModel, Weights: Yes, Compared: true, Messages: Messages{Coded: true, Private: true, Unequal: unequal},
	}
}

// means describes such a method whose server adds the mean as it is.
func means(o Options, shape mtl.Shape) Description {
	d := averaging(o, shape)
	d.Means = true
	return d
}

// Validate reports everything wrong with the options.
func (o *AverageOptions) Validate(c *config.Checker) { o.check(c, 0) }

// check reports everything wrong with the options under a proximal term mu.
func (o *AverageOptions) check(c *config.Checker, mu float64) {
	o.LocalSGDOptions.check(c, mu)
	c.OneOf("weights", o.Weights, byRows, equally)
}

// globalModel is the state that methods with one model w for all tasks share. Devices make
// local steps from the w_k that they were sent; see localSGD. Averages of models are weighted by
// n_k, unless the options say otherwise: together the devices minimize the mean loss of all
// rows, f(w) = sum_k n_k/n F_k(w), which does not depend on the coupling. So W = w 1^T does not
// reach the optimum P* of a problem whose tasks differ; compare such methods by their errors.
type globalModel struct {
	localSGD
	equal   bool        // devices weigh the same
	mu      float64     // of the proximal term mu/2 |w - w_k|^2
	w       data.Matrix // one row
	changes *slots      // tentative changes of w
	space   []float64   // of the server, for slots.at
	round   average     // of the open round
	guard   *privacy.Guard
	link    *link // nil: messages are not compressed
}

func newGlobalModel(s Setup, o AverageOptions, mu float64) globalModel {
	p := s.Problem
	m := globalModel{
		localSGD: newLocalSGD(s, o.LocalSGDOptions), equal: o.Weights == equally, mu: mu, w: data.NewMatrix(1, p.Values()),
		changes: newSlots(p, p.Values()), space: spaceOf(p, p.Values()), guard: s.Privacy.NewGuard(s.Cohort, s.Seed),
		link: newLink(s, 1, p.Values(), false),
	}
	m.round = average{sum: make([]float64, p.Values()), guard: m.guard}
	m.link.describe(&m.About)
	p.Initial(s.Seed, m.weights())
	return m
}

// weights returns w.
func (m *globalModel) weights() []float64 { return m.w.Row(0) }

// Begin opens a round: each device is sent w.
func (m *globalModel) Begin() (Sent, error) {
	m.round.reset()
	return m.link.begin(m.weights())
}

// shown returns w as devices decode it.
func (m *globalModel) shown() []float64 { return m.link.shown(0, m.weights()) }

// Solve makes the device's local steps from w.
func (m *globalModel) Solve(r Request) Work { return m.solve(r, m.shown()) }

// solve makes the device's local steps from w_k and leaves its change of it.
func (m *globalModel) solve(r Request, from []float64) Work {
	return m.solveUnder(r, from, pull{mu: m.mu, center: from})
}

func (m *globalModel) solveUnder(r Request, from []float64, p pull) Work {
	change, steps := m.descend(r, from, p)
	for j := range change {
		change[j] -= from[j]
	}
	work := Work{Steps: steps, FLOPs: m.flops(r.Device, steps)}
	m.finish(r, change, &work)
	m.changes.store(r.Device, change)
	return work
}

// finish makes a vector that the device computed ready to leave, in place, and adds its
// size to the work. Every vector that a device uploads passes here, in the order of the message.
func (m *globalModel) finish(r Request, update []float64, work *Work) {
	work.FLOPs += m.guard.Leave(update, r.Stream)
	m.link.finish(r, update, work)
}

// Commit adds the device's change, multiplied by a weight, to the mean.
func (m *globalModel) Commit(device int, weight float64) {
	m.round.add(m.changes, device, m.weight(device), weight)
	m.accept(device)
}

// accept ends the use of a device's change, which the server has taken.
func (m *globalModel) accept(device int) {
	m.changes.release(device)
	m.link.commit(device)
}

// weight returns the weight of a device in the server's mean.
func (m *globalModel) weight(device int) float64 {
	if m.equal {
		return 1
	}
	return m.rows(device)
}

// weightOfAll returns the sum of the weights of all devices.
func (m *globalModel) weightOfAll() float64 {
	if m.equal {
		return float64(m.problem.Clients())
	}
	return float64(m.problem.Train.Rows())
}

// Discard forgets the device's change.
func (m *globalModel) Discard(device int) {
	m.changes.release(device)
	m.link.discard(device)
}

// Model returns w, the model of every task, as the one row of W; there are no dual variables.
func (m *globalModel) Model() Model { return Model{W: &m.w} }

// State codes w, the changes of it and the state of the messages' codes.
func (m *globalModel) State(c *state.Coder) {
	c.Float64s(m.weights())
	m.changes.state(c)
	m.guard.State(c)
	m.link.state(c)
}

// average gathers weighted changes of a model.
type average struct {
	sum    []float64
	weight float64 // of the changes in sum; 0: there are none
	flops  float64 // of adding them
	guard  *privacy.Guard
}

func newAverage(d int) average { return average{sum: make([]float64, d)} }

func (a *average) reset() {
	clear(a.sum)
	a.weight, a.flops = 0, 0
}

// add adds damping times the change of a device, with the given weight.
func (a *average) add(changes *slots, device int, weight, damping float64) {
	changes.addTo(device, weight*damping, a.sum)
	a.weight += weight
	a.flops += 2 * float64(changes.Size())
}

// apply adds step times the average to w and returns the FLOPs of the average and the
// step.
func (a *average) apply(w []float64, step float64) float64 {
	if a.weight == 0 {
		return 0
	}
	weight, flops := a.guard.Sum(a.sum, a.weight)
	kernel.Axpy(step/weight, a.sum, w)
	return a.flops + flops + 2*float64(len(w))
}

// mean returns the average, in the place of the sum, and its FLOPs. There must be a change.
func (a *average) mean() (d []float64, flops float64) {
	weight, flops := a.guard.Sum(a.sum, a.weight)
	for j := range a.sum {
		a.sum[j] /= weight
	}
	return a.sum, a.flops + flops + float64(len(a.sum))
}

// Update returns the change of w.
func (m *globalModel) Update(device int) Update {
	return m.changes.update("change of w", device)
}
