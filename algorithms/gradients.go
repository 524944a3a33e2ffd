package algorithms

import (
	"math"

	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/mtl"
)

// gradientOptions are the settings of methods whose devices send one gradient of a mini-batch: their
// options embed them.
type gradientOptions struct {
	Batch int     `toml:"batch" doc:"rows of the mini-batch of a gradient, drawn without replacement; 0: all rows of the client"`
	Step  float64 `toml:"step" doc:"step size gamma"`
	L2    float64 `toml:"l2" doc:"l2 in the term l2/2 |w|^2 of every client's objective: weight decay"`
	ScheduleOptions
	Clip    float64 `toml:"clip" doc:"largest norm of a gradient, with the term of l2: a longer one is scaled to it; 0: no clipping"`
	Measure bool    `toml:"measure" doc:"whether evaluations measure gradients, as metrics gradient_norm, gradient_noise and gradient_bias (docs/methods.md); they take three gradients of every training row, and no virtual time"`
}

// defaultGradient returns a step along the gradient of 32 rows.
func defaultGradient() gradientOptions {
	return gradientOptions{Batch: 32, Step: 0.1, ScheduleOptions: ScheduleOptions{Schedule: constant}}
}

// local returns the local work: one step. Its change of w is -gamma times the gradient.
func (o *gradientOptions) local() *LocalSGDOptions {
	return &LocalSGDOptions{
		Epochs: oneStep, Batch: o.Batch, Step: o.Step, Shuffle: true, L2: o.L2, ScheduleOptions: o.ScheduleOptions, Clip: o.Clip,
	}
}

func (o *gradientOptions) Validate(c *config.Checker) {
	local := o.local()
	local.Epochs = 1
	local.check(c, 0)
}

func (o *gradientOptions) gradient() *gradientOptions { return o }

// weighted returns the local work of devices with such weights.
func (o *gradientOptions) weighted(weights string) AverageOptions {
	return AverageOptions{*o.local(), weights}
}

// sendsGradients describes a method of one model whose devices send a gradient.
func sendsGradients(o Options, _ mtl.Shape) Description {
	d := Description{Model: Versions, Asynchronous: Yes, Protocol: asynchronous, Messages: Messages{Coded: true}}
	if o.(interface{ gradient() *gradientOptions }).gradient().Measure {
		for _, name := range []string{GradientNorm, GradientNoise, GradientBias} {
			d.Metrics = append(d.Metrics, NamedMetric{Name: name, Better: "lower"})
		}
	}
	return d
}

// stopping is the setting of methods that refuse old gradients: their options embed it.
type stopping struct {
	Stop bool `toml:"stop" doc:"whether the server stops clients whose gradients it would refuse, and sends them its present model at once, behind a message without values; false: it refuses the gradients when they arrive"`
}

func (o *stopping) stops() bool { return o.Stop }

// mayStop describes a method of one model whose devices send a gradient, and whose options embed stopping.
func mayStop(o Options, shape mtl.Shape) Description {
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
	Asynchronous
	Stateful
	Inspected
}

// measured returns the method of a server of gradients, of which m is the model.
func measured(server gradientServer, m *versionedModel, o *gradientOptions) Algorithm {
	if o.Measure {
		return &measuring{server, m}
	}
	return server
}

// Evaluate measures the gradients of the present model, before clipping.
func (r *measuring) Evaluate() (Evaluation, error) {
	m := r.of
	w, scratch := m.weights(), &m.scratch[0]
	mean, own, row := make([]float64, len(w)), scratch.u, scratch.g
	for k := range m.problem.Clients() {
		m.wholeGradient(k, own, row)
		kernel.Axpy(m.weight(k)/m.weightOfAll(), own, mean)
	}
	noise, bias := 0.0, 0.0
	for k := range m.problem.Clients() {
		squares := m.wholeGradient(k, own, row)
		n := m.rows(k)
		if b := m.rowsOfStep(k); b < n {
			noise = max(noise, max(0, squares-kernel.SquaredNorm(own))/b*((n-b)/(n-1)))
		}
		kernel.Axpy(-1, mean, own)
		bias = max(bias, kernel.SquaredNorm(own))
	}
	return Evaluation{Values: []NamedValue{
		{Name: GradientNorm, Value: math.Sqrt(kernel.SquaredNorm(mean))}, {Name: GradientNoise, Value: math.Sqrt(noise)},
		{Name: GradientBias, Value: math.Sqrt(bias)},
	}}, nil
}

// rowsOfStep returns the rows of a device's mini-batch.
func (m *versionedModel) rowsOfStep(device int) float64 {
	return float64(m.opts.steps(int(m.rows(device)), NoLimit))
}

// wholeGradient writes grad F_k(w) of a device, and returns the mean of the squared norms of its rows' gradients.
// row is space for one.
func (m *versionedModel) wholeGradient(device int, into, row []float64) (squares float64) {
	task := m.problem.Train.Open(device)
	defer task.Close()
	g, w, n := m.scratch[0].gradient, m.weights(), m.rows(device)
	g.For(device, Stream{})
	clear(into)
	for i := range task.X.Rows {
		g.Sum(task.Client, []int32{int32(i)}, w, 1, row)
		kernel.Axpy(m.opts.L2, w, row)
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
func GradientMethodOf(o Options) (m GradientMethod, ok bool) {
	has, ok := o.(interface{ gradient() *gradientOptions })
	if !ok {
		return m, false
	}
	g := has.gradient()
	m = GradientMethod{Step: g.Step, L2: g.L2, Measures: g.Measure}
	m.Constant = g.Schedule == constant && g.WarmupRounds == 0 && g.Clip == 0
	switch o := o.(type) {
	case *ringmasterOptions:
		m.Refuse, m.Stops = o.Delay, o.Stop
	case *rennalaOptions:
		m.Gather, m.Stops = o.Gradients, o.Stop
	case *weightedGradientOptions:
		m.ByRows = o.Weights == byRows
	}
	return m, true
}
