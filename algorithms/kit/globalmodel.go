package kit

import (
	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// The weights of devices in a mean: values of AverageOptions.Weights.
const (
	ByRows  = "rows"
	Equally = "equal"
)

// AverageOptions are the settings of methods that average the work of devices: their
// options embed them.
type AverageOptions struct {
	LocalSGDOptions
	// weight of a client in the server's mean: "rows": its rows n_k; "equal": the same for all
	Weights string `toml:"weights"`
}

// DefaultAverage returns the default local steps and a mean with the given weights.
func DefaultAverage(weights string) AverageOptions {
	return AverageOptions{LocalSGDOptions: DefaultLocalSGD(), Weights: weights}
}

// Averaged returns the options, of options that embed them.
func (o *AverageOptions) Averaged() *AverageOptions { return o }

// Averaging describes a method whose options embed AverageOptions, and whose server needs the
// weighted mean of changes of one model alone.
func Averaging(o algorithms.Options, _ mtl.Shape) algorithms.Description {
	unequal := o.(interface{ Averaged() *AverageOptions }).Averaged().Weights != Equally
	return algorithms.Description{
		Model: algorithms.OneModel, Weights: algorithms.Yes, Compared: true,
		Messages: algorithms.Messages{Coded: true, Private: true, Unequal: unequal},
	}
}

// Means describes a method as Averaging does, if the server adds the weighted mean to the model without a factor.
func Means(o algorithms.Options, shape mtl.Shape) algorithms.Description {
	d := Averaging(o, shape)
	d.Means = true
	values := float64(shape.Values())
	d.Work.Server = &algorithms.ServerWork{Response: 2 * values, Step: 2 * values}
	return d
}

// Validate reports everything wrong with the options.
func (o *AverageOptions) Validate(c *config.Checker) { o.Check(c, 0) }

// Check reports everything wrong with the options under a proximal term mu.
func (o *AverageOptions) Check(c *config.Checker, mu float64) {
	o.LocalSGDOptions.Check(c, mu)
	c.OneOf("weights", o.Weights, ByRows, Equally)
}

// GlobalModel is the state that methods with one model w for all tasks share. Devices make
// local steps from the w_k that they were sent; see LocalSGD. Averages of models are weighted by
// n_k, unless the options say otherwise: together the devices minimize the mean loss of all
// rows, f(w) = sum_k n_k/n F_k(w), which does not depend on the coupling. So W = w 1^T does not
// reach the optimum P* of a problem whose tasks differ; compare such methods by their errors.
type GlobalModel struct {
	LocalSGD
	equal   bool              // devices weigh the same
	Mu      float64           // of the proximal term mu/2 |w - w_k|^2
	W       data.Matrix       // one row: the vectors, one after the other
	size    int               // of a vector, each of which is coded alone
	sent    [][]float64       // the vectors
	Changes *algorithms.Slots // tentative changes of w
	Space   []float64         // of the server, for Slots.At
	Round   Average           // of the open round
	guard   algorithms.Guard  // nil: nothing protects updates
	Link    *algorithms.Link  // nil: messages are not compressed
}

// NewGlobalModel returns the model at its start, with the proximal term mu/2 |w - w_k|^2 in the objective
// of devices; 0: none.
func NewGlobalModel(s algorithms.Setup, o AverageOptions, mu float64) GlobalModel {
	start := make([]float64, s.Problem.Values())
	s.Problem.Initial(s.Seed, start)
	return NewGlobalVectors(s, o, mu, start, 1, len(start))
}

// NewGlobalVectors returns a w of so many vectors that starts at start, and of which devices send the changes of the
// first up values. It may be several models, or a part of one.
func NewGlobalVectors(s algorithms.Setup, o AverageOptions, mu float64, start []float64, vectors, up int) GlobalModel {
	p, size := s.Problem, len(start)/vectors
	m := GlobalModel{
		LocalSGD: NewLocalSGD(s, o.LocalSGDOptions), equal: o.Weights == Equally, Mu: mu,
		W: data.NewMatrix(1, len(start)), size: size, Changes: algorithms.NewSlots(p, up),
		Space: algorithms.SpaceOf(p, up), guard: s.Guard,
		Link: algorithms.NewLink(s, vectors, up/max(1, size), size, false),
	}
	m.Round = Average{Sum: make([]float64, up), guard: m.guard}
	m.Link.Describe(&m.About)
	copy(m.Weights(), start)
	for i := range vectors {
		m.sent = append(m.sent, m.Vector(i))
	}
	return m
}

// Weights returns w.
func (m *GlobalModel) Weights() []float64 { return m.W.Row(0) }

// Vector returns a vector of w.
func (m *GlobalModel) Vector(i int) []float64 { return m.Weights()[i*m.size:][:m.size:m.size] }

// ShownVector returns a vector of w as devices decode it.
func (m *GlobalModel) ShownVector(i int) []float64 { return m.Link.Shown(i, m.sent[i]) }

// Begin opens a round: each device is sent w.
func (m *GlobalModel) Begin() (algorithms.Sent, error) {
	m.Round.Reset()
	return m.Link.Begin(m.sent...)
}

// Shown returns w as devices decode it, of one vector.
func (m *GlobalModel) Shown() []float64 { return m.ShownVector(0) }

// Solve makes the device's local steps from w.
func (m *GlobalModel) Solve(r algorithms.Request) algorithms.Response {
	return m.SolveFrom(r, m.Shown())
}

// SolveFrom makes the device's local steps from w_k and leaves its change of it.
func (m *GlobalModel) SolveFrom(r algorithms.Request, from []float64) algorithms.Response {
	return m.SolveUnder(r, from, Pull{Mu: m.Mu, Center: from})
}

// SolveUnder is SolveFrom with other terms in the objective of the device.
func (m *GlobalModel) SolveUnder(r algorithms.Request, from []float64, p Pull) algorithms.Response {
	change, steps := m.Descend(r, from, p)
	for j := range change {
		change[j] -= from[j]
	}
	response := algorithms.Response{Steps: steps, FLOPs: m.FLOPs(r.Device, steps)}
	m.Finish(r, change, &response)
	m.Changes.Store(r.Device, change)
	return response
}

// Finish makes a vector that the device computed ready to leave, in place, and adds its
// size to the work. Every vector that a device uploads passes here, in the order of the message.
func (m *GlobalModel) Finish(r algorithms.Request, update []float64, response *algorithms.Response) {
	if m.guard != nil {
		m.guard.Leave(update, r.Stream)
		response.FLOPs += m.guard.FLOPs(len(update))
	}
	for at := 0; at < len(update); at += m.size {
		m.Link.Finish(r, update[at:][:m.size], response)
	}
}

// Commit adds the device's change, multiplied by a weight, to the mean.
func (m *GlobalModel) Commit(device int, weight float64) {
	m.Round.Add(m.Changes, device, m.WeightOf(device), weight)
	m.Accept(device)
}

// Accept ends the use of a device's change, which the server has taken.
func (m *GlobalModel) Accept(device int) {
	m.Changes.Release(device)
	m.Link.Commit(device)
}

// WeightOf returns the weight of a device in the server's mean.
func (m *GlobalModel) WeightOf(device int) float64 {
	if m.equal {
		return 1
	}
	return m.RowsOf(device)
}

// WeightOfAll returns the sum of the weights of all devices.
func (m *GlobalModel) WeightOfAll() float64 {
	if m.equal {
		return float64(m.Problem.Clients())
	}
	return float64(m.Problem.Train.Rows())
}

// Discard forgets the device's change.
func (m *GlobalModel) Discard(device int) {
	m.Changes.Release(device)
	m.Link.Discard(device)
}

// Model returns w, the model of every task, as the one row of W; there are no dual variables.
func (m *GlobalModel) Model() algorithms.Model { return algorithms.Model{W: &m.W} }

// State codes w, the changes of it and the state of the messages' codes.
func (m *GlobalModel) State(c *state.Coder) {
	c.Float64s(m.Weights())
	m.Changes.State(c)
	if m.guard != nil {
		m.guard.State(c)
	}
	m.Link.State(c)
}

// Average gathers weighted changes of a model.
type Average struct {
	Sum    []float64
	Weight float64          // of the changes in sum; 0: there are none
	FLOPs  float64          // of adding them
	guard  algorithms.Guard // nil: nothing protects updates
}

// NewAverage returns the average of changes of d values, without changes.
func NewAverage(d int) Average { return Average{Sum: make([]float64, d)} }

// Reset forgets the changes.
func (a *Average) Reset() {
	clear(a.Sum)
	a.Weight, a.FLOPs = 0, 0
}

// Add adds damping times the change of a device, with the given weight.
func (a *Average) Add(changes *algorithms.Slots, device int, weight, damping float64) {
	changes.AddTo(device, weight*damping, a.Sum)
	a.Weight += weight
	a.FLOPs += 2 * float64(changes.Size())
}

// Apply adds step times the average to w and returns the FLOPs of the average and the
// step.
func (a *Average) Apply(w []float64, step float64) float64 {
	if a.Weight == 0 {
		return 0
	}
	weight, flops := a.complete()
	kernel.Axpy(step/weight, a.Sum, w)
	return a.FLOPs + flops + 2*float64(len(w))
}

// complete completes the sum, and returns the number to divide it by, and the FLOPs.
func (a *Average) complete() (denominator, flops float64) {
	if a.guard == nil {
		return a.Weight, 0
	}
	return a.guard.Sum(a.Sum, a.Weight)
}

// Mean returns the average, in the place of the sum, and its FLOPs. There must be a change.
func (a *Average) Mean() (d []float64, flops float64) {
	weight, flops := a.complete()
	for j := range a.Sum {
		a.Sum[j] /= weight
	}
	return a.Sum, a.FLOPs + flops + float64(len(a.Sum))
}

// Update returns the change of w.
func (m *GlobalModel) Update(device int) algorithms.Update {
	return m.Changes.Update("change of w", device)
}

// Join writes w after gradient steps on the rows of a new client.
func (m *GlobalModel) Join(n *mtl.Newcomer, into []float64) algorithms.Joined {
	copy(into, m.Weights())
	return algorithms.Joined{Values: m.W.Cols,
		FLOPs: n.Descend(into, n.Steps, m.Options.Step, m.Options.L2, 0, nil, nil)}
}
