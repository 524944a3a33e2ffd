package methods

import (
	"math"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/mtl"
)

// gradientOptions are the settings of methods whose devices send one gradient of a mini-batch: their
// options embed them.
type gradientOptions struct {
	// rows of the mini-batch of a gradient, drawn without replacement; "all": those of the client
	Batch int `toml:"batch" word:"0: all"`
	// step size gamma
	Step float64 `toml:"step"`
	// l2 in the term l2/2 |w|^2 of every client's objective: weight decay
	L2 float64 `toml:"l2"`
	kit.ScheduleOptions
	// largest norm of a gradient, with the term of l2: a longer one is scaled to it
	Clip float64 `toml:"clip" absent:"0: no clipping"`
	// whether evaluations measure gradients, as metrics gradient_norm, gradient_noise and
	// gradient_bias (docs/methods.md); they take three gradients of every training row, and no
	// virtual time
	Measure bool `toml:"measure"`
}

// defaultGradient returns a step along the gradient of 32 rows.
func defaultGradient() gradientOptions {
	return gradientOptions{Batch: 32, Step: 0.1, ScheduleOptions: kit.ScheduleOptions{Schedule: kit.Constant}}
}

// Local returns the local work: one step. Its change of w is -gamma times the gradient.
func (o *gradientOptions) Local() *kit.LocalSGDOptions {
	return &kit.LocalSGDOptions{
		Epochs: kit.OneStep, Batch: o.Batch, Step: o.Step, Shuffle: true, L2: o.L2, ScheduleOptions: o.ScheduleOptions,
		Clip: o.Clip,
	}
}

func (o *gradientOptions) Validate(c *config.Checker) {
	local := o.Local()
	local.Epochs = 1
	local.Check(c, 0)
}

func (o *gradientOptions) gradient() *gradientOptions { return o }

// weighted returns the local work of devices with such weights.
func (o *gradientOptions) weighted(weights string) kit.AverageOptions {
	return kit.AverageOptions{LocalSGDOptions: *o.Local(), Weights: weights}
}

// sendsGradients describes a method of one model whose devices send a gradient.
func sendsGradients(o algorithms.Options, _ mtl.Shape) algorithms.Description {
	d := algorithms.Description{Model: algorithms.Versions, Asynchronous: algorithms.Yes,
		Protocol: algorithms.WithoutRounds, Messages: algorithms.Messages{Coded: true}}
	if o.(interface{ gradient() *gradientOptions }).gradient().Measure {
		for _, name := range []string{GradientNorm, GradientNoise, GradientBias} {
			d.Metrics = append(d.Metrics, algorithms.NamedMetric{Name: name, Better: "lower"})
		}
	}
	return d
}

// stopping is the setting of methods that refuse old gradients: their options embed it.
type stopping struct {
	// whether the server stops clients whose gradients it would refuse, and sends them its present
	// model at once, behind a message without values; false: it refuses the gradients when they
	// arrive
	Stop bool `toml:"stop"`
}

func (s *stopping) stops() bool { return s.Stop }

// mayStop describes a method of one model whose devices send a gradient, and whose options embed stopping.
func mayStop(o algorithms.Options, shape mtl.Shape) algorithms.Description {
	d := sendsGradients(o, shape)
	d.Needs.Continuous = o.(interface{ stops() bool }).stops()
	return d
}

// The metrics of methods whose devices send a gradient, with option measure.
const (
	GradientNorm  = "gradient_norm"  // |grad f(w)| of f = sum_k p_k F_k / sum_k p_k
	GradientNoise = "gradient_noise" // the largest root of E|g_k - grad F_k|^2 of a device's mini-batch
	GradientBias  = "gradient_bias"  // the largest |grad F_k - grad f| of a device
)

// measuring is a method whose devices send a gradient, with option measure.
type measuring struct {
	gradientServer
	of *versionedModel
}

// gradientServer is the interfaces of such a method.
type gradientServer interface {
	algorithms.Asynchronous
	algorithms.Stateful
	algorithms.Inspected
}

// measured returns the method of a server of gradients, of which m is the model.
func measured(server gradientServer, m *versionedModel, o *gradientOptions) algorithms.Algorithm {
	if o.Measure {
		return &measuring{server, m}
	}
	return server
}

// Evaluate measures the gradients of the present model, before clipping.
func (me *measuring) Evaluate() (algorithms.Evaluation, error) {
	m := me.of
	w, scratch := m.Weights(), &m.Scratch[0]
	mean, own, row := make([]float64, len(w)), scratch.U, scratch.G
	for k := range m.Problem.Clients() {
		m.wholeGradient(k, own, row)
		kernel.Axpy(m.WeightOf(k)/m.WeightOfAll(), own, mean)
	}
	noise, bias := 0.0, 0.0
	for k := range m.Problem.Clients() {
		squares := m.wholeGradient(k, own, row)
		n := m.RowsOf(k)
		if b := m.rowsOfStep(k); b < n {
			noise = max(noise, max(0, squares-kernel.SquaredNorm(own))/b*((n-b)/(n-1)))
		}
		kernel.Axpy(-1, mean, own)
		bias = max(bias, kernel.SquaredNorm(own))
	}
	return algorithms.Evaluation{Values: []algorithms.NamedValue{
		{Name: GradientNorm, Value: math.Sqrt(kernel.SquaredNorm(mean))},
		{Name: GradientNoise, Value: math.Sqrt(noise)},
		{Name: GradientBias, Value: math.Sqrt(bias)},
	}}, nil
}

// rowsOfStep returns the rows of a device's mini-batch.
func (m *versionedModel) rowsOfStep(device int) float64 {
	return float64(m.Options.Steps(int(m.RowsOf(device)), algorithms.NoLimit))
}

// wholeGradient writes grad F_k(w) of a device, and returns the mean of the squared norms of its rows' gradients.
// row is space for one.
func (m *versionedModel) wholeGradient(device int, into, row []float64) (squares float64) {
	task := m.Problem.Train.Open(device)
	defer task.Close()
	g, w, n := m.Scratch[0].Gradient, m.Weights(), m.RowsOf(device)
	g.For(device, algorithms.Stream{})
	clear(into)
	for i := range task.X.Rows {
		g.Sum(task.Client, []int32{int32(i)}, w, 1, row)
		kernel.Axpy(m.Options.L2, w, row)
		squares += kernel.SquaredNorm(row) / n
		kernel.Axpy(1/n, row, into)
	}
	return squares
}

// GradientMethod is the settings of a method whose devices send a gradient.
type GradientMethod struct {
	Step, L2 float64
	Constant bool // the step size is that of every step, and no gradient is clipped
	ByRows   bool // devices weigh as their rows
	Measures bool // evaluations measure gradients
	Stops    bool // the server stops devices
	Gather   int  // the gradients of a step, of rennala; 0: another method
	Refuse   int  // the delay from which on a gradient is refused, of ringmaster; 0: another method
}

// GradientMethodOf returns the settings of the options of such a method; ok is false for others.
func GradientMethodOf(o algorithms.Options) (m GradientMethod, ok bool) {
	has, ok := o.(interface{ gradient() *gradientOptions })
	if !ok {
		return m, false
	}
	g := has.gradient()
	m = GradientMethod{Step: g.Step, L2: g.L2, Measures: g.Measure}
	m.Constant = g.Schedule == kit.Constant && g.WarmupRounds == 0 && g.Clip == 0
	switch o := o.(type) {
	case *ringmasterOptions:
		m.Refuse, m.Stops = o.Delay, o.Stop
	case *rennalaOptions:
		m.Gather, m.Stops = o.Gradients, o.Stop
	case *weightedGradientOptions:
		m.ByRows = o.Weights == kit.ByRows
	}
	return m, true
}
