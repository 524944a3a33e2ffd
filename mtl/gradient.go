package mtl

import (
	"slices"

	"fedsim/data"
	"fedsim/internal/tools/rng"
)

// BlockRows is the most rows whose scores are computed at a time.
const BlockRows = 32

// Gradient computes the scores of rows and subgradients of their loss. It is the scratch
// space of one worker.
type Gradient struct {
	of     *RowLoss
	rows   data.Batch
	sparse *data.Matrix // of the rows of the last call of forward; nil: rows has them
	block  []int32
	sloped []int32 // the rows of a block with a slope
	copies data.BatchSpace
	hidden []activity // between the layers
	z      []float64  // scores, row by row, then the subgradient in them
	all    []int32    // the indices of a block
	mixed  mixed
	// weights of the rows of the task of this call of SumWeighted; nil: 1
	weights []float64

	// Of an external model: the client whose gradients are computed, -1 if nobody has said it, the
	// source of seeds, and the buffers after a mini-batch.
	client  int
	draws   Stream
	buffers []float64
}

// NewGradient returns scratch space.
func (l *RowLoss) NewGradient() *Gradient {
	g := &Gradient{of: l, client: -1, z: make([]float64, BlockRows*l.Outputs), all: make([]int32, BlockRows)}
	for i, below := range l.layers {
		if i > 0 {
			g.hidden = append(g.hidden, newActivity(BlockRows, below.in))
		}
	}
	if l.program != nil {
		g.buffers = make([]float64, l.Given.Buffers)
	}
	return g
}

// For says whose gradients the next calls of Sum compute: those of a client. The stream is for
// random numbers of an external model; other models ignore it.
func (g *Gradient) For(client int, s Stream) { g.client, g.draws = client, s.Fork(rng.Model) }

// SumWeighted is Sum with each row's loss multiplied by its weight.
func (g *Gradient) SumWeighted(task *data.Client, rows []int32, weights, w []float64, scale float64, into []float64) {
	g.weights = weights
	g.Sum(task, rows, w, scale, into)
	g.weights = nil
}

// Sum sets a vector to scale times the sum of the subgradients of the rows' losses at w, both of
// Values. The rows are those of an open task, whose client For has named.
func (g *Gradient) Sum(task *data.Client, rows []int32, w []float64, scale float64, into []float64) {
	l := g.of
	if l.program != nil {
		l.program.sum(g, rows, w, scale, into)
		return
	}
	if l.Outputs == 1 && l.layers == nil {
		clear(into)
		for block := range slices.Chunk(rows, BlockRows) {
			l.DotsOf(&task.X, block, w, g.z[:len(block)])
			g.sloped = g.sloped[:0]
			for k, i := range block {
				slope := l.Loss.Subgradient(g.z[k], task.Y[i])
				if g.weights != nil {
					slope *= g.weights[i]
				}
				if slope != 0 {
					g.z[len(g.sloped)] = scale * slope
					g.sloped = append(g.sloped, i)
				}
			}
			task.X.AddRows(g.z, g.sloped, into, &g.rows)
		}
		return
	}
	if len(rows) == 0 {
		clear(into)
	}
	for at := 0; at < len(rows); at += BlockRows {
		block := rows[at:min(at+BlockRows, len(rows))]
		z := g.forward(task, block, w)
		for i, row := range block {
			slopes := z[i*l.Outputs:][:l.Outputs]
			l.slopes(slopes, task.Y[row])
			factor := scale
			if g.weights != nil {
				factor *= g.weights[row]
			}
			for c := range slopes {
				slopes[c] *= factor
			}
		}
		g.back(w, z, into, at > 0)
	}
}

// Scores returns the scores of the rows [from, to) of an open task, row by row: Outputs each.
// It takes at most BlockRows rows. The result is valid until the next call.
func (g *Gradient) Scores(task *data.Client, from, to int, w []float64) []float64 {
	return g.forward(task, g.between(from, to), w)
}

// between returns the rows [from, to).
func (g *Gradient) between(from, to int) []int32 {
	rows := g.all[:to-from]
	for i := range rows {
		rows[i] = int32(from + i)
	}
	return rows
}

// forward returns the scores of at most BlockRows rows.
func (g *Gradient) forward(task *data.Client, rows []int32, w []float64) []float64 {
	l := g.of
	z := g.z[:len(rows)*l.Outputs]
	if g.sparse = nil; l.layers == nil && !task.X.Dense() {
		g.sparse, g.block = &task.X, rows
		for i, row := range rows {
			for c := range l.Outputs {
				z[i*l.Outputs+c] = task.X.Dot(int(row), l.block(w, c))
			}
		}
		return z
	}
	task.X.Batch(&g.rows, rows, &g.copies)
	if l.layers == nil {
		g.rows.Scores(l.Outputs, w, l.Features, z, l.Outputs)
		return z
	}
	below := &g.rows
	for i, next := range l.layers[:len(g.hidden)] {
		above := &g.hidden[i]
		above.take(len(rows))
		next.forward(below, w, above.batch.X)
		rectify(above.batch.X[:len(rows)*next.out])
		below = &above.batch
	}
	l.layers[len(g.hidden)].forward(below, w, z)
	return z
}

// back sets into to the subgradient in w, for the rows of the last call of forward and the
// subgradients in their scores, or adds it.
func (g *Gradient) back(w, delta, into []float64, add bool) {
	l := g.of
	if g.sparse != nil {
		if !add {
			clear(into)
		}
		for i, row := range g.block {
			for c, slope := range delta[i*l.Outputs:][:l.Outputs] {
				g.sparse.Axpy(slope, int(row), l.block(into, c))
			}
		}
		return
	}
	if l.layers == nil {
		g.rows.Combine(l.Outputs, delta, l.Outputs, into, l.Features, add)
		return
	}
	for i := len(g.hidden); i > 0; i-- {
		below := &g.hidden[i-1]
		l.layers[i].gradient(&below.batch, delta, into, add)
		l.layers[i].back(w, delta, below)
		delta = below.delta
	}
	l.layers[0].gradient(&g.rows, delta, into, add)
}
