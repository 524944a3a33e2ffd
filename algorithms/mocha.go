package algorithms

import (
	"fedsim/config"
	"fedsim/mtl"
)

// MOCHAOptions are the settings of MOCHA.
type MOCHAOptions struct {
	// local passes over a client's rows per round; "fill": as many steps as the protocol allows
	Epochs float64 `toml:"epochs" word:"0: fill"`
}

// Validate reports everything wrong with the options.
func (o *MOCHAOptions) Validate(c *config.Checker) {
	c.Require(o.Epochs >= 0 && o.Epochs <= 1e6, "epochs", o.Epochs, `must be in (0, 1e6], or "fill"`)
}

// Describe describes a method with the options: steps must be limited when no number of epochs is
// set.
func (o *MOCHAOptions) Describe(shape mtl.Shape) Description {
	return OfDual(Description{
		Needs: Needs{Budget: o.Epochs == 0}, Messages: Messages{Coded: true},
		Work: Workload{StepFLOPs: shape.StepFLOPs(), StepValues: shape.StepTraffic(), Steps: o.Steps, Epochs: o.Epochs,
			AuthorUnits: 8},
	})
}

// Steps returns the fewer of the epochs and the steps allowed.
func (o *MOCHAOptions) Steps(rows, allowed int) int {
	if o.Epochs > 0 {
		return min(allowed, EpochSteps(o.Epochs, rows))
	}
	return allowed
}

// mocha is Algorithm 1 of the paper for one W update: every device improves its
// subproblem by as many coordinate steps as it can afford, which is its
// theta_t^h, and devices that drop (theta = 1) are tolerated.
type mocha struct {
	Dual
	opts MOCHAOptions
}

var _ Stateful = (*mocha)(nil)

func init() {
	Register(Factory{
		Name:      "mocha",
		Summary:   "coordinate ascent as long as a device can afford; tolerates dropouts",
		Reference: "Smith, Chiang, Sanjabi, Talwalkar: Federated Multi-Task Learning, NIPS 2017, Algorithm 1",
		Options:   func() Options { return &MOCHAOptions{Epochs: 1} },
		Describe:  func(o Options, shape mtl.Shape) Description { return o.(*MOCHAOptions).Describe(shape) },
		New: func(s Setup, o Options) (Algorithm, error) {
			return &mocha{Dual: NewDual(s), opts: *o.(*MOCHAOptions)}, nil
		},
	})
}

// Solve runs SDCA for the fewer of its epochs and the steps allowed.
func (m *mocha) Solve(r Request) Response {
	steps := m.opts.Steps(m.RowsOf(r.Device), r.Steps)
	w, curvature := m.Weights(r.Device), m.Curvature(r.Device)
	s := m.StartSolve(r, w)
	flops := m.SDCA(r, s, curvature, steps)
	m.SetDelta(r, s, w, curvature)
	return m.Leave(r, Response{Steps: steps, FLOPs: flops})
}
