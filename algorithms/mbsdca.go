package algorithms

import (
	"slices"

	"fedsim/config"
	"fedsim/mtl"
)

// MbSDCAOptions are the settings of mini-batch SDCA.
type MbSDCAOptions struct {
	// rows b of a client's mini-batch (at most its rows); "fill": as many as the protocol allows
	Batch int `toml:"batch" word:"0: fill"`
	// updates are scaled by beta/b: 1 is safe on any data, b is no scaling at all
	Beta float64 `toml:"beta"`
}

// Validate reports everything wrong with the options.
func (o *MbSDCAOptions) Validate(c *config.Checker) {
	c.Require(o.Batch >= 0, "batch", o.Batch, `must be positive, or "fill"`)
	c.Require(o.Beta >= 1 && (o.Batch == 0 || o.Beta <= float64(o.Batch)), "beta", o.Beta, "must be in [1, batch]")
}

// mbSDCA is mini-batch stochastic dual coordinate ascent (appendix,
// "Implementation Details"): the coordinates of b rows per device are solved at the same w
// and their updates scaled by beta/b. Conflicts between tasks are covered by
// sigma' in the curvature, as in the subproblems of the other dual methods.
type mbSDCA struct {
	Dual
	opts MbSDCAOptions
}

var _ Stateful = (*mbSDCA)(nil)

func init() {
	Register(Factory{
		Name:      "mb-sdca",
		Summary:   "mini-batch dual coordinate ascent; b coordinates at the same w, scaled by beta/b",
		Reference: "Takac, Bijral, Richtarik, Srebro: Mini-Batch Primal and Dual Methods for SVMs, ICML 2013",
		Options:   func() Options { return &MbSDCAOptions{Batch: 32, Beta: 1} },
		Describe: func(o Options, shape mtl.Shape) Description {
			opts := o.(*MbSDCAOptions)
			return OfDual(Description{Needs: Needs{Budget: opts.Batch == 0}, Messages: Messages{Coded: true},
				Work: Workload{
					StepFLOPs: shape.StepFLOPs(), StepValues: shape.StepTraffic(), Batches: oneBatch, AuthorUnits: 6,
					Steps: func(rows, allowed int) int { return batchSize(opts.Batch, allowed, rows) },
				}})
		},
		New: func(s Setup, o Options) (Algorithm, error) {
			return &mbSDCA{Dual: NewDual(s), opts: *o.(*MbSDCAOptions)}, nil
		},
	})
}

// Solve computes the scaled updates of a mini-batch drawn without replacement.
func (m *mbSDCA) Solve(r Request) Response {
	t := r.Device
	p := m.Problem
	task := p.Train.Open(t)
	defer task.Close()
	w := m.Weights(t)
	s := m.StartSolve(r, w)
	b := batchSize(m.opts.Batch, r.Steps, task.X.Rows)
	share := min(1, m.opts.Beta/float64(b))
	next, dv := m.Next[t], m.Delta.Row(t)
	clear(dv)
	subproblem, d, z := p.Subproblem(t, m.Curvature(t)), p.Features, s.z[:]
	for rows := range slices.Chunk(s.order.Take(b), mtl.BlockRows) {
		for c := range p.Outputs {
			own := d * c
			p.DotsOf(&task.X, rows, w[own:own+d], z[:len(rows)])
			for k, row := range rows {
				i := int(row)
				a := &next[i*p.Outputs+c]
				old := *a
				best := subproblem.Coordinate(i, c, old, z[k])
				// A convex combination stays in the domain of the conjugate, rounding included.
				*a = float64((1-share)*old) + float64(share*best)
				z[k] = p.Scale[t] * (*a - old)
			}
			task.X.AddRows(z, rows, dv[own:own+d], &s.rows)
		}
	}
	return m.Leave(r, Response{Steps: b, FLOPs: float64(b) * p.StepFLOPs()})
}

// oneBatch is the number of mini-batches of a method with one in a round.
func oneBatch(_, steps int) int { return min(1, steps) }

// batchSize is the configured size (0: unlimited), at most the steps allowed and the
// number of rows.
func batchSize(configured, allowed, rows int) int {
	b := min(allowed, rows)
	if configured > 0 {
		b = min(b, configured)
	}
	return b
}
