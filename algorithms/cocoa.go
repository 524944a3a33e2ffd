package algorithms

import (
	"math"

	"fedsim/config"
)

// CoCoAOptions are the settings of CoCoA.
type CoCoAOptions struct {
	Theta      float64 `toml:"theta" doc:"accuracy every device must reach on its subproblem in every round: 0 exact, 1 no progress"`
	CheckEvery float64 `toml:"check_every" doc:"local passes between two measurements of the accuracy, each of which costs half a pass"`
	MaxEpochs  float64 `toml:"max_epochs" doc:"most local passes of a device in a round"`
}

// Validate reports everything wrong with the options.
func (o *CoCoAOptions) Validate(c *config.Checker) {
	c.Require(o.Theta > 0 && o.Theta < 1, "theta", o.Theta, "must be in (0, 1)")
	c.Require(o.CheckEvery > 0 && o.CheckEvery <= 1e3, "check_every", o.CheckEvery, "must be in (0, 1000]")
	c.Require(o.MaxEpochs > 0 && o.MaxEpochs <= 1e6, "max_epochs", o.MaxEpochs, "must be in (0, 1e6]")
}

// CoCoA solves every subproblem to the same accuracy theta on all devices and
// in all rounds, measured by the duality gap of the subproblem (paper, section
// 3.4 and appendix, "Statistical Heterogeneity"). It cannot do without any
// device's answer.
type CoCoA struct {
	Dual
	opts CoCoAOptions
}

var _ Algorithm = (*CoCoA)(nil)

func init() {
	Register(Factory{
		Name:        "cocoa",
		Summary:     "coordinate ascent until every device's subproblem is solved to the same accuracy theta; waits for all",
		Reference:   "Ma, Smith, Jaggi, Jordan, Richtarik, Takac: Adding vs. Averaging in Distributed Primal-Dual Optimization, ICML 2015",
		Options:     func() Options { return &CoCoAOptions{Theta: 0.7, CheckEvery: 1, MaxEpochs: 100} },
		AuthorUnits: 8,
		Needs:       func(Options) Needs { return Needs{Everyone: true} },
		New: func(s Setup, o Options) (Algorithm, error) {
			return &CoCoA{Dual: NewDual(s), opts: *o.(*CoCoAOptions)}, nil
		},
	})
}

// StepFLOPs returns the cost of a coordinate step that moves.
func (c *CoCoA) StepFLOPs() float64 { return c.Problem.StepFLOPs() }

// Solve runs SDCA until theta is reached for certain. With g the duality gap of
// the subproblem G at a + da, G(a+da) - G* <= g and hence
//
//	theta = (G(a+da) - G*)/(G(a) - G*) <= g / (g + G(a) - G(a+da)),
//
// the last being what is compared (eq. localSolutionQuality2a).
func (c *CoCoA) Solve(r Request) Work {
	t := r.Device
	n := float64(len(c.Next[t]))
	w, dv, curvature := c.Weights(t), c.Delta.Row(t), c.Curvature(t)
	chunk := max(1, int(math.Ceil(c.opts.CheckEvery*n)))
	most := min(r.Steps, int(math.Ceil(c.opts.MaxEpochs*n)))
	s := c.start(r, w)
	before := 0.0
	for i, a := range c.Next[t] {
		before += c.Problem.Loss.Conjugate(a, c.Problem.Train.Tasks[t].Y[i])
	}
	before = float64(before * c.Problem.Scale[t])
	work := Work{Values: c.Problem.Features()}
	for work.Steps < most {
		steps := min(chunk, most-work.Steps)
		work.FLOPs += c.sdca(r, s, curvature, steps)
		work.Steps += steps
		now := c.Problem.Measure(t, c.Next[t], s.u, w, dv, curvature)
		work.FLOPs += float64(2 * float64(c.Problem.Features()) * n)
		// A subproblem solved to the last bits has neither gap nor progress left.
		const roundoff = 1e-14
		if now.Gap <= c.opts.Theta*(now.Gap+before-now.Value) || now.Gap <= roundoff*(1+math.Abs(now.Value)) {
			break
		}
	}
	c.finish(r, s, w, curvature)
	return work
}
