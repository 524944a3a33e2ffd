package mtl

import (
	"fmt"
	"math"
	"sync"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
)

// lowRank is the coupling M = off I + F diag(c) F^T, the result of an Omega update with more
// tasks than features. F is m x r with r <= d and has orthonormal columns; c >= 0. It needs
// O(m d) memory and no m x m matrix. A product takes 4 m r d FLOPs. The inverse is exact:
// I/off with -c/(off (off + c)) along F. Products run on the pool that the coupling was
// created with; their bits do not depend on the number of workers.
type lowRank struct {
	pool *Pool
	f    data.Matrix
	off  float64

	eigenvalues []float64 // of M along the columns of F
	along       []float64 // c
	back        []float64 // the same for M^-1
	diag        []float64 // of M
	blocks      blocks
	// Scratch (*image) for concurrent runs. The runtime retains a sync.Pool after its last
	// use, so the pool is allocated separately: it must not retain F.
	spare *sync.Pool
}

var _ Coupling = (*lowRank)(nil)

// newLowRank returns the coupling with the eigenvalues along the columns of F,
// none of which is below off. It fails unless off > 0.
func newLowRank(pool *Pool, f data.Matrix, eigenvalues []float64, off float64) (*lowRank, error) {
	if !(off > 0) {
		return nil,
			fmt.Errorf("the %d x %d coupling is not positive definite: raise problem.regularizer_options.omega_floor",
				f.Rows, f.Rows)
	}
	c := &lowRank{
		pool: pool, f: f, off: off, eigenvalues: eigenvalues, diag: make([]float64, f.Rows),
		along: make([]float64, f.Cols), back: make([]float64, f.Cols), spare: new(sync.Pool),
		// The partial sums of the blocks take at most the memory of V.
		blocks: cut(f.Rows, max(256, f.Cols, f.Rows/256)),
	}
	for k, e := range eigenvalues {
		c.along[k] = max(0, e-off)
		c.back[k] = -c.along[k] / off / e
	}
	pool.For(c.blocks.count, func(i, _ int) {
		from, to := c.blocks.at(i)
		for t := from; t < to; t++ {
			sum := 0.0
			for k, x := range c.f.Row(t) {
				sum += float64(square(x) * c.along[k])
			}
			c.diag[t] = off + sum
		}
	})
	return c, nil
}

// Tasks returns m.
func (lr *lowRank) Tasks() int { return lr.f.Rows }

// Diag returns M_tt.
func (lr *lowRank) Diag(t int) float64 { return lr.diag[t] }

// image is scratch for F^T X: the parts of all blocks, their sum, and scratch of each
// worker.
type image struct {
	parts   []data.Matrix
	sum     data.Matrix
	crossed []*crossed
	rows    []data.Matrix // some rows of F F^T X, by worker
}

// newImage returns scratch for an X of d columns.
func (lr *lowRank) newImage(d int) *image {
	im := &image{
		parts: make([]data.Matrix, lr.blocks.count), sum: data.NewMatrix(lr.f.Cols, d),
		crossed: make([]*crossed, lr.pool.Size()), rows: make([]data.Matrix, lr.pool.Size()),
	}
	for i := range im.parts {
		im.parts[i] = data.NewMatrix(lr.f.Cols, d)
	}
	for i := range im.crossed {
		im.crossed[i], im.rows[i] = newCrossed(lr.f.Cols, d), data.NewMatrix(crossedRows, d)
	}
	return im
}

// project returns F^T X. The caller returns it to spare.
func (lr *lowRank) project(x *data.Matrix) *image {
	im, ok := lr.spare.Get().(*image)
	if !ok || im.sum.Cols != x.Cols {
		im = lr.newImage(x.Cols)
	}
	lr.pool.For(lr.blocks.count, func(i, worker int) {
		from, to := lr.blocks.at(i)
		f, rows := rowsOf(&lr.f, from, to), rowsOf(x, from, to)
		clear(im.parts[i].Data)
		im.crossed[worker].add(&im.parts[i], &f, &rows, nil)
	})
	clear(im.sum.Data)
	for i := range im.parts {
		kernel.Axpy(1, im.parts[i].Data, im.sum.Data)
	}
	return im
}

// multiply sets dst = off X + F diag(along) F^T X.
func (lr *lowRank) multiply(dst, x *data.Matrix, off float64, along []float64) {
	im := lr.project(x)
	defer lr.spare.Put(im)
	for k, a := range along {
		kernel.Scale(a, im.sum.Row(k), im.sum.Row(k))
	}
	lr.pool.For(lr.blocks.count, func(i, _ int) {
		from, to := lr.blocks.at(i)
		f, out := rowsOf(&lr.f, from, to), rowsOf(dst, from, to)
		product(&out, &f, &im.sum)
		kernel.Axpy(off, x.Data[from*x.Stride:to*x.Stride], out.Data)
	})
}

// Primal sets W = V M.
func (lr *lowRank) Primal(w, v *data.Matrix) { lr.multiply(w, v, lr.off, lr.along) }

// Gradient sets Z = W M^-1.
func (lr *lowRank) Gradient(z, w *data.Matrix) { lr.multiply(z, w, 1/lr.off, lr.back) }

// Value returns 1/2 tr(W M^-1 W^T). Without V it sums the squares of W along the columns of
// F and of the rest of W, each divided by its eigenvalue. No term is negative, so that no
// digits cancel.
func (lr *lowRank) Value(w, v *data.Matrix) float64 {
	if v != nil {
		return half(lr, w, v)
	}
	im := lr.project(w)
	defer lr.spare.Put(im)
	sum := 0.0
	for k, a := range lr.along {
		row := im.sum.Row(k)
		sum += kernel.Dot(row, row) / (lr.off + a)
	}
	rest := make([]float64, lr.blocks.count)
	lr.pool.For(lr.blocks.count, func(i, worker int) {
		from, to := lr.blocks.at(i)
		for ; from < to; from += crossedRows {
			f := rowsOf(&lr.f, from, min(from+crossedRows, to))
			along := rowsOf(&im.rows[worker], 0, f.Rows)
			product(&along, &f, &im.sum)
			for t := range along.Rows {
				row := along.Row(t)
				kernel.Axpy(-1, w.Row(from+t), row)
				rest[i] += kernel.Dot(row, row)
			}
		}
	})
	for _, x := range rest {
		sum += x / lr.off
	}
	return sum / 2
}

// Convexity returns the inverse of the largest eigenvalue of M.
func (lr *lowRank) Convexity() float64 {
	high := lr.off
	for _, a := range lr.along {
		high = max(high, lr.off+a)
	}
	return 1 / high
}

// FLOPs returns 4 m r d + 2 m d.
func (lr *lowRank) FLOPs(d int) float64 {
	return float64(lr.f.Rows) * float64(d) * (float64(4*float64(lr.f.Cols)) + 2)
}

// Incremental stores F^T V, so that a row of W and a change of V take O(r d) each.
func (lr *lowRank) Incremental(v *data.Matrix) IncrementalPrimal {
	im := lr.project(v)
	defer lr.spare.Put(im)
	l := &lowRankFollower{lr, summing{v, data.NewMatrix(lr.f.Cols, v.Cols)}}
	copy(l.total.Data, im.sum.Data)
	return l
}

// lowRankFollower has F^T V as its sums.
type lowRankFollower struct {
	*lowRank
	summing
}

// Task sets dst to row t of W.
func (l *lowRankFollower) Task(dst []float64, t int) {
	kernel.Scale(l.off, l.v.Row(t), dst)
	for k, x := range l.f.Row(t) {
		kernel.Axpy(float64(x*l.along[k]), l.total.Row(k), dst)
	}
}

// Add adds dv to row t of V.
func (l *lowRankFollower) Add(t int, dv []float64) {
	kernel.Axpy(1, dv, l.v.Row(t))
	for k, x := range l.f.Row(t) {
		kernel.Axpy(x, dv, l.total.Row(k))
	}
}

// FLOPs returns 2 r d + d for each.
func (l *lowRankFollower) FLOPs() (task, add float64) {
	cost := (2*float64(l.f.Cols) + 1) * float64(l.v.Cols)
	return cost, cost
}

// SigmaPrime applies the rules as Dense does. The sums over tasks of Lemma 9 and
// of its terms take O(m^2 r); the largest eigenvalue takes a few passes of
// O(m r^2), see spectral.
func (lr *lowRank) SigmaPrime(rule string, devices []int) []float64 {
	sigma := make([]float64, lr.f.Rows)
	if rule == SigmaSpectral {
		fill(sigma, lr.spectral(devices))
		return sigma
	}
	lr.rowSums(sigma, devices)
	if rule == SigmaLemma9 {
		most := 0.0
		for _, x := range sigma {
			most = max(most, x)
		}
		fill(sigma, most)
	}
	return sigma
}

// rowSums sets sigma_t = sum_s n_s |M_ts| / M_tt for tasks of n_s devices, a tile
// of M at a time.
func (lr *lowRank) rowSums(sigma []float64, devices []int) {
	m, r := lr.f.Rows, lr.f.Cols
	tiles := cut(m, 128)
	lr.pool.For(tiles.count, func(i, _ int) {
		from, to := tiles.at(i)
		scaled := data.NewMatrix(to-from, r) // rows of F diag(c)
		for t := range scaled.Rows {
			for k, x := range lr.f.Row(from + t) {
				scaled.Row(t)[k] = x * lr.along[k]
			}
		}
		across, tile := data.NewMatrix(r, crossedRows), data.NewMatrix(to-from, crossedRows)
		for first := 0; first < m; first += crossedRows {
			f := rowsOf(&lr.f, first, min(first+crossedRows, m))
			transpose(&across, &f, nil)
			tile.Cols = f.Rows
			product(&tile, &scaled, &across)
			for t := range tile.Rows {
				for s, x := range tile.Row(t) {
					if first+s == from+t {
						x = lr.diag[from+t]
					}
					sigma[from+t] += float64(load(devices, first+s) * math.Abs(x))
				}
			}
		}
		for t := from; t < to; t++ {
			sigma[t] /= lr.diag[t]
		}
	})
}
