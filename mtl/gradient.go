package mtl

import "fedsim/data"

// Gradient computes subgradients of the loss of some rows. It is the scratch space of one
// worker.
type Gradient struct {
	p *Problem
	z []float64 // scores of a row, then the subgradient in them
}

// NewGradient returns scratch space for at most so many rows at once.
func (p *Problem) NewGradient(int) *Gradient {
	return &Gradient{p: p, z: make([]float64, p.outputs)}
}

// Add adds scale times the sum of the subgradients of the rows' losses at w to a vector,
// both of Values. The rows are those of an open task.
func (g *Gradient) Add(task *data.Task, rows []int32, w []float64, scale float64, into []float64) {
	p := g.p
	for _, row := range rows {
		i := int(row)
		p.scores(g.z, &task.X, i, w)
		p.slopes(g.z, task.Y[i])
		for c, slope := range g.z {
			if slope != 0 {
				task.X.Axpy(scale*slope, i, p.block(into, c))
			}
		}
	}
}
