package methods

import (
	"math"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// serverStep is how a server moves w by the mean change d of a round, in place of w += d.
type serverStep interface {
	// step takes the step and returns its FLOPs. It may change d.
	step(w, d []float64) (flops float64)
	state(c *state.Coder)
}

type fedAvgMOptions struct {
	kit.AverageOptions
	// step size eta of the server, w += eta v
	ServerStep float64 `toml:"server_step"`
	// beta of the server's momentum v = beta v + d, d the mean change of a round; 0 is FedAvg with
	// a server step
	ServerMomentum float64 `toml:"server_momentum"`
}

func (o *fedAvgMOptions) Validate(c *config.Checker) {
	o.AverageOptions.Validate(c)
	checkServerStep(c, o.ServerStep)
	c.Require(o.ServerMomentum >= 0 && o.ServerMomentum < 1, "server_momentum", o.ServerMomentum, "must be in [0, 1)")
}

func checkServerStep(c *config.Checker, step float64) {
	c.Require(step > 0 && step <= 1e12, "server_step", step, "must be in (0, 1e12]")
}

type adaptiveOptions struct {
	kit.AverageOptions
	// step size eta of the server, w += eta m/(sqrt(v) + tau), by value
	ServerStep float64 `toml:"server_step"`
	// beta1 of the mean change m = beta1 m + (1 - beta1) d, d the mean change of a round
	Beta1 float64 `toml:"beta1"`
	// tau of the denominator: how adaptive the server is; large: not at all
	Tau    float64 `toml:"tau"`
	VStart float64 `toml:"-"` // v starts at VStart tau^2; 1 as in the paper
}

func (o *adaptiveOptions) Validate(c *config.Checker) {
	o.AverageOptions.Validate(c)
	checkServerStep(c, o.ServerStep)
	c.Require(o.Beta1 >= 0 && o.Beta1 < 1, "beta1", o.Beta1, "must be in [0, 1)")
	c.Require(o.Tau > 0 && o.Tau <= 1e12, "tau", o.Tau, "must be in (0, 1e12]")
}

func (o *adaptiveOptions) adaptive() *adaptiveOptions { return o }

// decayingOptions are the settings of FedAdam and FedYogi.
type decayingOptions struct {
	adaptiveOptions
	// beta2 of the mean square v
	Beta2 float64 `toml:"beta2"`
}

func (o *decayingOptions) Validate(c *config.Checker) {
	o.adaptiveOptions.Validate(c)
	c.Require(o.Beta2 >= 0 && o.Beta2 < 1, "beta2", o.Beta2, "must be in [0, 1)")
}

func init() {
	kit.Register(algorithms.Factory{
		Name:    "fedavgm",
		Summary: "averaging with momentum of the server",
		Reference: "Hsu, Qi, Brown: Measuring the Effects of Non-Identical Data Distribution for Federated Visual " +
			"Classification, 2019",
		Describe: storing(3),
		Options: func() algorithms.Options {
			return &fedAvgMOptions{AverageOptions: kit.DefaultAverage(kit.ByRows), ServerStep: 1, ServerMomentum: 0.9}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts := o.(*fedAvgMOptions)
			f := newFedAvg(s, opts.AverageOptions, 0)
			f.server = &serverMomentum{eta: opts.ServerStep, beta: opts.ServerMomentum,
				v: make([]float64, s.Problem.Values())}
			return f, nil
		},
	})
	adaptive := func(beta1 float64) adaptiveOptions {
		return adaptiveOptions{AverageOptions: kit.DefaultAverage(kit.ByRows), ServerStep: 0.1, Beta1: beta1, Tau: 1e-3,
			VStart: 1}
	}
	for _, m := range []struct {
		name, steps, rule string
		options           func() algorithms.Options
		square            func(beta2, v, d2 float64) float64
		flops             float64 // of a value of v
	}{
		{"fedadagrad", "Adagrad", "the sum of squares of its changes",
			func() algorithms.Options { o := adaptive(0); return &o }, sumOfSquares, 2},
		{"fedadam", "Adam", "the mean square of its changes",
			func() algorithms.Options { return &decayingOptions{adaptive(0.9), 0.99} }, meanSquare, 4},
		{"fedyogi", "Yogi", "a mean square of its changes that moves in bounded steps",
			func() algorithms.Options { return &decayingOptions{adaptive(0.9), 0.99} }, yogi, 3},
	} {
		kit.Register(algorithms.Factory{
			Name: m.name,
			Summary: "averaging with " + m.steps + " steps of the server; the step of each value is divided by " +
				"the root of " + m.rule,
			Reference: "Reddi, Charles, Zaheer, Garrett, Rush, Konecny, Kumar, McMahan: " +
				"Adaptive Federated Optimization, ICLR 2021, Algorithm 2",
			Describe: storing(4),
			Options:  m.options,
			New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
				step := newAdaptiveStep(s, o)
				step.square, step.flops = m.square, 8+m.flops
				f := newFedAvg(s, step.AverageOptions, 0)
				f.server = step
				return f, nil
			},
		})
	}
}

func newAdaptiveStep(s algorithms.Setup, o algorithms.Options) *adaptiveStep {
	a := &adaptiveStep{
		adaptiveOptions: *o.(interface{ adaptive() *adaptiveOptions }).adaptive(),
		m:               make([]float64, s.Problem.Values()), v: make([]float64, s.Problem.Values()),
	}
	if o, ok := o.(*decayingOptions); ok {
		a.beta2 = o.Beta2
	}
	for j := range a.v {
		a.v[j] = a.VStart * float64(a.Tau*a.Tau)
	}
	return a
}

// serverMomentum is the step of FedAvgM: v = beta v + d, w += eta v, v = 0 at first.
type serverMomentum struct {
	eta, beta float64
	v         []float64
}

func (s *serverMomentum) step(w, d []float64) float64 {
	kernel.Descend(s.beta, 1, 0, s.v, d, d)
	kernel.Axpy(s.eta, s.v, w)
	return 4 * float64(len(w))
}

func (s *serverMomentum) state(c *state.Coder) { c.Float64s(s.v) }

// adaptiveStep is the step of Algorithm 2 of Reddi et al., without bias correction:
//
//	m = beta1 m + (1 - beta1) d
//	v = v + d^2                                FedAdagrad
//	v = beta2 v + (1 - beta2) d^2              FedAdam
//	v = v - (1 - beta2) d^2 sign(v - d^2)      FedYogi
//	w = w + eta m/(sqrt(v) + tau)
//
// by value, with m = 0 at first.
type adaptiveStep struct {
	adaptiveOptions
	beta2  float64
	square func(beta2, v, d2 float64) float64 // the next v
	flops  float64                            // of a value: 3 for m, those of v, 5 for w
	m, v   []float64
}

func sumOfSquares(_, v, d2 float64) float64 { return v + d2 }

func meanSquare(beta2, v, d2 float64) float64 {
	return float64(beta2*v) + float64((1-beta2)*d2)
}

func yogi(beta2, v, d2 float64) float64 {
	switch by := float64((1 - beta2) * d2); {
	case v > d2:
		return v - by
	case v < d2:
		return v + by
	}
	return v
}

func (s *adaptiveStep) step(w, d []float64) float64 {
	kernel.Descend(s.Beta1, 1-s.Beta1, 0, s.m, d, d)
	for j, x := range d {
		s.v[j] = s.square(s.beta2, s.v[j], x*x)
		w[j] += float64(s.ServerStep*s.m[j]) / (math.Sqrt(s.v[j]) + s.Tau)
	}
	return s.flops * float64(len(w))
}

func (s *adaptiveStep) state(c *state.Coder) {
	c.Float64s(s.m)
	c.Float64s(s.v)
}

// storing describes averaging whose server has so many vectors as large as a model.
func storing(vectors int) func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
	return func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
		d := kit.Averaging(o, shape)
		d.Work.Stored = vectors
		return d
	}
}
