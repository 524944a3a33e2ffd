// Package steady is coordinate ascent with the same number of steps on every device,
// however many rows it has: a method with dual variables, whose state, commits and
// discards are those of algorithms.Dual.
package steady

import (
	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/mtl"
)

// Options are decoded strictly from the options of the method's table, over the factory's
// defaults.
type Options struct {
	Steps int `toml:"steps" doc:"coordinate steps of a client in a round"`
}

// Validate reports everything wrong with the options.
func (o *Options) Validate(c *config.Checker) {
	c.Require(o.Steps >= 1, "steps", o.Steps, "must be at least 1")
}

// steady is one run.
type steady struct {
	algorithms.Dual
	steps int
	local []local // by worker, so that a solve allocates nothing
}

type local struct {
	order mtl.Order
	u     []float64
}

func init() {
	algorithms.Register(algorithms.Factory{
		Name:    "steady",
		Summary: "coordinate ascent with the same number of steps on every client",
		Reference: "the local subproblem of Smith et al., Federated Multi-Task Learning, NIPS 2017, " +
			"with H_t the same for all t",
		Options: func() algorithms.Options { return &Options{Steps: 50} },
		Describe: func(_ algorithms.Options, shape mtl.Shape) algorithms.Description {
			return algorithms.OfDual(algorithms.Description{Work: algorithms.Workload{StepFLOPs: shape.StepFLOPs()}})
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			m := &steady{Dual: algorithms.NewDual(s), steps: o.(*Options).Steps, local: make([]local, s.Workers)}
			for i := range m.local {
				m.local[i].u = make([]float64, s.Problem.Values())
			}
			return m, nil
		},
	})
}

// Solve leaves its tentative result in Next and Delta of its device.
func (s *steady) Solve(r algorithms.Request) algorithms.Response {
	l, w, next := &s.local[r.Worker], s.W.Row(r.Device), s.Next[r.Device]
	copy(l.u, w)
	copy(next, s.Duals.Alpha[r.Device])
	l.order.Reset(s.Problem.Train.Clients[r.Device].X.Rows, r.Stream)
	steps, curvature := min(s.steps, r.Steps), s.Curvature(r.Device)
	s.Problem.Subproblem(r.Device, curvature).SDCA(next, l.u, &l.order, steps)
	mtl.DeltaV(s.Delta.Row(r.Device), l.u, w, curvature)
	return algorithms.Response{Steps: steps, FLOPs: float64(steps) * s.Problem.StepFLOPs(), Values: s.Problem.Values()}
}
