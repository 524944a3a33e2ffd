package mtl

import (
	"fedsim/data"
)

// Duals are the dual variables of a problem, one block per device, and their
// image V, one row per task: v_t is the sum of c X^T a over the devices of task
// t. Blocks and rows live in one arena each.
type Duals struct {
	Alpha [][]float64
	V     data.Matrix
}

// NewDuals returns a = 0 and V = 0.
func (p *Problem) NewDuals() *Duals {
	return &Duals{Alpha: p.NewBlocks(), V: p.NewWeights()}
}

// NewBlocks returns a zero vector for each device with a value for each output of each of
// its rows, row by row, in one arena.
func (p *Problem) NewBlocks() [][]float64 {
	blocks := make([][]float64, p.Clients())
	arena := make([]float64, p.Train.Rows()*p.Outputs)
	for k := range blocks {
		n := p.Train.Clients[k].X.Rows * p.Outputs
		blocks[k], arena = arena[:n:n], arena[n:]
	}
	return blocks
}

// AddV adds c X^T a of a device to dst.
func (p *Problem) AddV(device int, dst, a []float64) {
	task := p.Train.Open(device)
	defer task.Close()
	for j, aj := range a {
		if aj != 0 {
			i, c := p.coordinate(j)
			task.X.Axpy(p.Scale[device]*aj, i, p.block(dst, c))
		}
	}
}

// ConjugateChange returns c sum loss*(-next) - loss*(-old) over the dual variables of a
// device, and the number of those that differ.
func (p *Problem) ConjugateChange(device int, old, next []float64) (change float64, moved int) {
	y, sum := p.Train.Clients[device].Y, 0.0
	for j, b := range next {
		if a := old[j]; b != a {
			i, c := p.coordinate(j)
			label := p.Target(y[i], c)
			sum += p.Loss.Conjugate(b, label) - p.Loss.Conjugate(a, label)
			moved++
		}
	}
	return p.Scale[device] * sum, moved
}

// Conjugate returns c sum loss*(-a) over the dual variables of a device.
func (p *Problem) Conjugate(device int, a []float64) float64 {
	return float64(p.conjugate(a, p.Train.Clients[device].Y) * p.Scale[device])
}

// RecomputeV computes V from the dual variables, which removes the accumulated rounding
// errors of many small updates. Devices that share a task are added in order.
func (p *Problem) RecomputeV(pool *Pool, d *Duals) {
	clear(d.V.Data)
	if p.sharing == nil {
		pool.For(len(d.Alpha), func(k, _ int) { p.AddV(k, d.V.Row(k), d.Alpha[k]) })
		return
	}
	for k := range d.Alpha {
		p.AddV(k, d.V.Row(p.TaskOf(k)), d.Alpha[k])
	}
}
