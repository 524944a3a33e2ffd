package mtl

import (
	"fedsim/data"
)

// BlockRows is the most rows whose scores are computed at a time.
const BlockRows = 32

// Gradient computes the scores of rows and subgradients of their loss. It is the scratch
// space of one worker.
type Gradient struct {
	p      *Problem
	rows   data.Batch
	sparse *data.Matrix // of the rows of the last call of forward; nil: rows has them
	block  []int32
	copies data.BatchSpace
	hidden []activity // between the layers
	z      []float64  // scores, row by row, then the subgradient in them
	all    []int32    // the indices of a block
}

// NewGradient returns scratch space.
func (p *Problem) NewGradient() *Gradient {
	g := &Gradient{p: p, z: make([]float64, BlockRows*p.outputs), all: make([]int32, BlockRows)}
	for i, l := range p.layers {
		if i > 0 {
			g.hidden = append(g.hidden, newActivity(BlockRows, l.in))
		}
	}
	return g
}

// Add adds scale times the sum of the subgradients of the rows' losses at w to a vector,
// both of Values. The rows are those of an open task.
func (g *Gradient) Add(task *data.Task, rows []int32, w []float64, scale float64, into []float64) {
	p := g.p
	if p.outputs == 1 && p.layers == nil {
		for _, i := range rows {
			if slope := p.Loss.Subgradient(task.X.Dot(int(i), w), task.Y[i]); slope != 0 {
				task.X.Axpy(scale*slope, int(i), into)
			}
		}
		return
	}
	for len(rows) > 0 {
		block := rows[:min(BlockRows, len(rows))]
		rows = rows[len(block):]
		z := g.forward(task, block, w)
		for i, row := range block {
			slopes := z[i*p.outputs:][:p.outputs]
			p.slopes(slopes, task.Y[row])
			for c := range slopes {
				slopes[c] *= scale
			}
		}
		g.back(w, z, into)
	}
}

// Scores returns the scores of the rows [from, to) of an open task, row by row: Outputs each.
// It takes at most BlockRows rows. The result is valid until the next call.
func (g *Gradient) Scores(task *data.Task, from, to int, w []float64) []float64 {
	rows := g.all[:to-from]
	for i := range rows {
		rows[i] = int32(from + i)
	}
	return g.forward(task, rows, w)
}

// forward returns the scores of at most BlockRows rows.
func (g *Gradient) forward(task *data.Task, rows []int32, w []float64) []float64 {
	p := g.p
	z := g.z[:len(rows)*p.outputs]
	if g.sparse = nil; p.layers == nil && !task.X.Dense() {
		g.sparse, g.block = &task.X, rows
		for i, row := range rows {
			for c := range p.outputs {
				z[i*p.outputs+c] = task.X.Dot(int(row), p.block(w, c))
			}
		}
		return z
	}
	task.X.Batch(&g.rows, rows, &g.copies)
	if p.layers == nil {
		g.rows.Scores(p.outputs, w, p.Features(), z, p.outputs)
		return z
	}
	below := &g.rows
	for i, l := range p.layers[:len(g.hidden)] {
		above := &g.hidden[i]
		above.take(len(rows))
		l.forward(below, w, above.batch.X)
		rectify(above.batch.X[:len(rows)*l.out])
		below = &above.batch
	}
	p.layers[len(g.hidden)].forward(below, w, z)
	return z
}

// back adds the subgradient in w to into, for the rows of the last call of forward and the
// subgradients in their scores.
func (g *Gradient) back(w, delta, into []float64) {
	p := g.p
	if g.sparse != nil {
		for i, row := range g.block {
			for c, slope := range delta[i*p.outputs:][:p.outputs] {
				g.sparse.Axpy(slope, int(row), p.block(into, c))
			}
		}
		return
	}
	if p.layers == nil {
		g.rows.Combine(p.outputs, delta, p.outputs, into, p.Features())
		return
	}
	for i := len(g.hidden); i > 0; i-- {
		below := &g.hidden[i-1]
		p.layers[i].add(&below.batch, delta, into)
		p.layers[i].back(w, delta, below)
		delta = below.delta
	}
	p.layers[0].add(&g.rows, delta, into)
}
