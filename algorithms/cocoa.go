package algorithms

import (
	"math"

	"fedsim/config"
	"fedsim/mtl"
)

// The rules that end the local work of a device under CoCoA.
const (
	StopTheta       = "theta"       // the true theta_t^h, known to the simulator alone
	StopCertificate = "certificate" // a bound on it that a device can compute
)

// CoCoAOptions are the settings of CoCoA.
type CoCoAOptions struct {
	// accuracy every client must reach on its subproblem in every round: 0 exact, 1 no progress
	Theta float64 `toml:"theta"`
	// the quantity that must be at most theta: "theta", the true theta_t^h (eq.
	// localSolutionQuality2a), computed outside virtual time; or "certificate", a bound on it from
	// the duality gap of the subproblem, which costs half a local pass each time and late in a run
	// is far above theta_t^h
	Stop string `toml:"stop"`
	// local passes between two checks: a client exceeds the necessary work by at most this
	CheckEvery float64 `toml:"check_every"`
	// most local passes of a client in a round; summary and runs.csv count the updates that ended
	// there short of theta
	MaxEpochs float64 `toml:"max_epochs"`
}

// Validate reports everything wrong with the options.
func (o *CoCoAOptions) Validate(c *config.Checker) {
	c.Require(o.Theta > 0 && o.Theta < 1, "theta", o.Theta, "must be in (0, 1)")
	c.OneOf("stop", o.Stop, StopTheta, StopCertificate)
	c.Require(o.CheckEvery > 0 && o.CheckEvery <= 1e3, "check_every", o.CheckEvery, "must be in (0, 1000]")
	c.Require(o.MaxEpochs > 0 && o.MaxEpochs <= 1e6, "max_epochs", o.MaxEpochs, "must be in (0, 1e6]")
}

// cocoa solves every subproblem to the same accuracy theta on all devices and in all
// rounds (paper, section 3.4, remark 2 and appendix, "Statistical Heterogeneity"). It
// needs the response of every device.
type cocoa struct {
	Dual
	opts   CoCoAOptions
	optima []mtl.LocalOptimum // by worker
}

var _ Stateful = (*cocoa)(nil)

func init() {
	Register(Factory{
		Name: "cocoa",
		Summary: "coordinate ascent to the same accuracy everywhere; every client solves its subproblem to " +
			"theta, and the server waits for all",
		Reference: "Ma, Smith, Jaggi, Jordan, Richtarik, Takac: Adding vs. Averaging in Distributed Primal-Dual " +
			"Optimization, ICML 2015",
		Options: func() Options {
			return &CoCoAOptions{Theta: 0.7, Stop: StopTheta, CheckEvery: 0.1, MaxEpochs: 100}
		},
		Describe: func(_ Options, shape mtl.Shape) Description {
			return OfDual(Description{
				Needs: Needs{AllClients: true}, Messages: Messages{Coded: true},
				Work: Workload{StepFLOPs: shape.StepFLOPs(), StepValues: shape.StepTraffic(), Limit: "max_epochs",
					AuthorUnits: 8},
			})
		},
		New: func(s Setup, o Options) (Algorithm, error) {
			return &cocoa{Dual: NewDual(s), opts: *o.(*CoCoAOptions), optima: make([]mtl.LocalOptimum, s.Workers)}, nil
		},
	})
}

// Solve runs SDCA until a check finds that theta is reached, or for max_epochs.
func (c *cocoa) Solve(r Request) Response {
	t := r.Device
	n := float64(c.RowsOf(t))
	w, curvature := c.Weights(t), c.Curvature(t)
	chunk := max(1, int(math.Ceil(c.opts.CheckEvery*n)))
	most := min(r.Steps, int(math.Ceil(c.opts.MaxEpochs*n)))
	s, optimum := c.StartSolve(r, w), &c.optima[r.Worker]
	optimum.Reset(c.Problem.Subproblem(t, curvature), c.Duals.Alpha[t], w)
	response := Response{Capped: true}
	for response.Capped && response.Steps < most && !r.Halt.Halted() {
		steps := min(chunk, most-response.Steps)
		response.FLOPs += c.SDCA(r, s, curvature, steps)
		response.Steps += steps
		if c.opts.Stop == StopCertificate {
			response.Capped = !c.certain(t, s.u, w, curvature)
			response.FLOPs += float64(2 * float64(c.Problem.Values()) * n)
		} else {
			response.Capped = !optimum.Reached(c.Next[t], s.u, c.opts.Theta)
		}
	}
	c.SetDelta(r, s, w, curvature)
	return c.Leave(r, response)
}

// certain reports whether a device can certify theta. With g the duality gap of the
// subproblem G at a + da, G(a+da) - G* <= g, so that
//
//	theta = (G(a+da) - G*)/(G(a) - G*) <= g / (g + G(a) - G(a+da)),
//
// which is compared with theta (eq. localSolutionQuality2a).
func (c *cocoa) certain(t int, u, w []float64, curvature float64) bool {
	before := c.Problem.Conjugate(t, c.Duals.Alpha[t])
	now := c.Problem.Subproblem(t, curvature).Evaluate(c.Next[t], u, w, c.Delta.Row(t))
	// A subproblem solved to the last bits has neither gap nor progress left.
	const roundoff = 1e-14
	return now.Gap <= c.opts.Theta*(now.Gap+before-now.Value) || now.Gap <= roundoff*(1+math.Abs(now.Value))
}
