package mtl

import (
	"sync"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
)

// grouped is the coupling that pulls each task to the mean of its cluster. On a cluster of n
// tasks M = apart (I - 11^T/n) + along 11^T/n; M is 0 between clusters. A product takes the
// sums over clusters, in O(m d). The inverse has the same form with 1/apart and 1/along.
// Products run on the pool that the coupling was created with; their bits do not depend on
// the number of workers.
type grouped struct {
	pool         *Pool
	apart, along float64
	cluster      []int32   // by task: its cluster, numbered in the order of their first tasks
	size         []float64 // by cluster: its tasks
	members      []int32   // the tasks, cluster after cluster
	pieces       []piece   // of members
	first        []int32   // by cluster: its first piece; one more at the end
	spare        sync.Pool // of *data.Matrix with a row for each piece; runs may use a coupling concurrently
}

// piece is a range of members of one cluster that one worker sums. Pieces depend only on the
// clusters.
type piece struct{ from, to int32 }

var _ Coupling = (*grouped)(nil)

// longestPiece bounds a piece.
const longestPiece = 4096

// newGrouped returns the coupling for the cluster of every task (nil: a single cluster) and
// 0 < apart <= along.
func newGrouped(pool *Pool, m int, clusters []int, apart, along float64) *grouped {
	c := &grouped{pool: pool, apart: apart, along: along, cluster: make([]int32, m), members: make([]int32, m)}
	number := map[int]int32{}
	for t := range m {
		name := 0
		if clusters != nil {
			name = clusters[t]
		}
		n, known := number[name]
		if !known {
			n = int32(len(number))
			number[name] = n
			c.size = append(c.size, 0)
		}
		c.cluster[t] = n
		c.size[n]++
	}
	c.first = make([]int32, 0, len(c.size)+1)
	next := make([]int32, len(c.size)) // where the cluster's next member goes
	end := int32(0)
	for n, size := range c.size {
		next[n] = end
		c.first = append(c.first, int32(len(c.pieces)))
		for from := end; from < end+int32(size); from += longestPiece {
			c.pieces = append(c.pieces, piece{from, min(from+longestPiece, end+int32(size))})
		}
		end += int32(size)
	}
	c.first = append(c.first, int32(len(c.pieces)))
	for t, n := range c.cluster {
		c.members[next[n]] = int32(t)
		next[n]++
	}
	return c
}

// Tasks returns m.
func (c *grouped) Tasks() int { return len(c.cluster) }

// between returns M_st of two tasks of cluster n.
func (c *grouped) between(n int32) float64 { return (c.along - c.apart) / c.size[n] }

// Diag returns M_tt.
func (c *grouped) Diag(t int) float64 { return c.apart + c.between(c.cluster[t]) }

// sums returns the sums of the rows of X over clusters, in the rows of the
// clusters' first pieces. They are to be put back into spare.
func (c *grouped) sums(x *data.Matrix) *data.Matrix {
	sums, ok := c.spare.Get().(*data.Matrix)
	if !ok || sums.Cols != x.Cols {
		s := data.NewMatrix(len(c.pieces), x.Cols)
		sums = &s
	}
	c.pool.For(len(c.pieces), func(i, _ int) {
		row := sums.Row(i)
		clear(row)
		for _, t := range c.members[c.pieces[i].from:c.pieces[i].to] {
			kernel.Axpy(1, x.Row(int(t)), row)
		}
	})
	for n := range c.size {
		for i := c.first[n] + 1; i < c.first[n+1]; i++ {
			kernel.Axpy(1, sums.Row(int(i)), sums.Row(int(c.first[n])))
		}
	}
	return sums
}

// multiply sets dst to X times the matrix that is M with other eigenvalues.
func (c *grouped) multiply(dst, x *data.Matrix, apart, along float64) {
	sums := c.sums(x)
	defer c.spare.Put(sums)
	tasks := cut(x.Rows, longestPiece)
	c.pool.For(tasks.count, func(i, _ int) {
		from, to := tasks.at(i)
		for t := from; t < to; t++ {
			n := c.cluster[t]
			kernel.Scale(apart, x.Row(t), dst.Row(t))
			kernel.Axpy((along-apart)/c.size[n], sums.Row(int(c.first[n])), dst.Row(t))
		}
	})
}

// Primal sets W = V M.
func (c *grouped) Primal(w, v *data.Matrix) { c.multiply(w, v, c.apart, c.along) }

// Gradient sets Z = W M^-1.
func (c *grouped) Gradient(z, w *data.Matrix) { c.multiply(z, w, 1/c.apart, 1/c.along) }

// Value returns 1/2 tr(W M^-1 W^T). Without V it is the squares of the clusters'
// means and of the distances from them, so that no digits are lost.
func (c *grouped) Value(w, v *data.Matrix) float64 {
	if v != nil {
		return half(c, w, v)
	}
	sums := c.sums(w)
	defer c.spare.Put(sums)
	value := 0.0
	for n, size := range c.size {
		row := sums.Row(int(c.first[n]))
		value += kernel.Dot(row, row) / size / c.along
	}
	tasks := cut(w.Rows, longestPiece)
	rest := make([]float64, tasks.count)
	c.pool.For(tasks.count, func(i, _ int) {
		from, to := tasks.at(i)
		row := make([]float64, w.Cols)
		for t := from; t < to; t++ {
			n := c.cluster[t]
			copy(row, w.Row(t))
			kernel.Axpy(-1/c.size[n], sums.Row(int(c.first[n])), row)
			rest[i] += kernel.Dot(row, row)
		}
	})
	for _, x := range rest {
		value += x / c.apart
	}
	return value / 2
}

// Convexity returns 1/along.
func (c *grouped) Convexity() float64 { return 1 / c.along }

// FLOPs returns 4 m d.
func (c *grouped) FLOPs(d int) float64 { return 4 * float64(len(c.cluster)) * float64(d) }

// Incremental keeps the sums over clusters, so that a row of W and a change of V take
// O(d) each.
func (c *grouped) Incremental(v *data.Matrix) IncrementalPrimal {
	sums := c.sums(v)
	defer c.spare.Put(sums)
	f := &groupedFollower{c, summing{v, data.NewMatrix(len(c.size), v.Cols)}}
	for n := range c.size {
		copy(f.total.Row(n), sums.Row(int(c.first[n])))
	}
	return f
}

// groupedFollower has the sums of V over clusters.
type groupedFollower struct {
	*grouped
	summing
}

// summing is a V and sums over its rows, which cannot be recomputed to the same bits.
type summing struct {
	v     *data.Matrix
	total data.Matrix
}

// State encodes or decodes the sums.
func (s *summing) State(c *Coder) {
	for k := range s.total.Rows {
		c.Float64s(s.total.Row(k))
	}
}

// Task sets dst to row t of W.
func (f *groupedFollower) Task(dst []float64, t int) {
	n := f.cluster[t]
	kernel.Scale(f.apart, f.v.Row(t), dst)
	kernel.Axpy(f.between(n), f.total.Row(int(n)), dst)
}

// Add adds dv to row t of V.
func (f *groupedFollower) Add(t int, dv []float64) {
	kernel.Axpy(1, dv, f.v.Row(t))
	kernel.Axpy(1, dv, f.total.Row(int(f.cluster[t])))
}

// FLOPs returns 3 d and 2 d.
func (f *groupedFollower) FLOPs() (task, add float64) {
	d := float64(f.v.Cols)
	return 3 * d, 2 * d
}

// SigmaPrime applies the rules as Dense does, in O(m). Where every task of a
// cluster has one device, they give along/M_tt, all three: no entry of M is
// negative, and the cluster's mean is an eigenvector. Otherwise the largest
// eigenvalue of a cluster is the root of a scalar equation.
func (c *grouped) SigmaPrime(rule string, devices []int) []float64 {
	sigma := make([]float64, len(c.cluster))
	most := 0.0
	for n := range c.size {
		between := c.between(int32(n))
		diag := c.apart + between
		members := c.of(n)
		if rule == SigmaSpectral {
			most = max(most, c.spectral(n, devices))
			continue
		}
		held := 0.0 // devices of the cluster
		for _, t := range members {
			held += load(devices, int(t))
		}
		for _, t := range members {
			own := load(devices, int(t))
			sigma[t] = own + (held-own)*between/diag
			most = max(most, sigma[t])
		}
	}
	if rule != SigmaPerTask {
		fill(sigma, most)
	}
	return sigma
}

// of returns the tasks of cluster n.
func (c *grouped) of(n int) []int32 {
	return c.members[c.pieces[c.first[n]].from:c.pieces[c.first[n+1]-1].to]
}

// spectral returns the largest eigenvalue of D^-1/2 M D^-1/2 on cluster n with the
// row and column of a task repeated for each of its devices: topEigenvalue with
// P = n_t apart/M_tt and one column (n_t between/M_tt)^1/2.
func (c *grouped) spectral(n int, devices []int) float64 {
	between := c.between(int32(n))
	diag := c.apart + between
	if devices == nil {
		return c.along / diag
	}
	least, most := 0.0, 0.0
	members := c.of(n)
	for _, t := range members {
		least = max(least, load(devices, int(t)))
		most += load(devices, int(t))
	}
	return topEigenvalue(least, most, func(lambda float64) secular {
		var s secular
		for _, t := range members {
			own := load(devices, int(t))
			below := float64(lambda*diag) - float64(own*c.apart)
			s.value += own * between / below
			s.slope -= own * between * diag / square(below)
		}
		s.rounding = float64(len(members)+10) * 0x1p-52 * s.value
		return s
	})
}
