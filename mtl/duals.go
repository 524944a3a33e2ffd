package mtl

import (
	"fedsim/data"
	"fedsim/internal/kernel"
)

// Duals are the dual variables of a problem, one block per task, and their
// image V: v_t = c_t X_t^T a_t. Blocks and rows live in one arena each.
type Duals struct {
	Alpha [][]float64
	V     data.Matrix
}

// NewDuals returns a = 0 and V = 0.
func (p *Problem) NewDuals() *Duals {
	return &Duals{Alpha: p.NewBlocks(), V: p.NewWeights()}
}

// NewBlocks returns a zero vector of n_t values for each task, in one arena.
func (p *Problem) NewBlocks() [][]float64 {
	blocks := make([][]float64, p.Tasks())
	arena := make([]float64, p.Train.Rows())
	for t := range blocks {
		n := p.Train.Tasks[t].X.Rows
		blocks[t], arena = arena[:n:n], arena[n:]
	}
	return blocks
}

// Image sets dst = c_t X_t^T a.
func (p *Problem) Image(t int, dst, a []float64) {
	clear(dst)
	x := &p.Train.Tasks[t].X
	for i, ai := range a {
		if ai != 0 {
			kernel.Axpy(p.Scale[t]*ai, x.Row(i), dst)
		}
	}
}

// Recompute sets V from the dual variables, which takes out the rounding that
// many small updates have left in it.
func (p *Problem) Recompute(d *Duals) {
	for t := range d.Alpha {
		p.Image(t, d.V.Row(t), d.Alpha[t])
	}
}
