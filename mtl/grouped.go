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
func (g *grouped) Tasks() int { return len(g.cluster) }

// between returns M_st of two tasks of cluster n.
func (g *grouped) between(n int32) float64 { return (g.along - g.apart) / g.size[n] }

// Diag returns M_tt.
func (g *grouped) Diag(t int) float64 { return g.apart + g.between(g.cluster[t]) }

// sums returns the sums of the rows of X over clusters, in the rows of the
// clusters' first pieces. They are to be put back into spare.
func (g *grouped) sums(x *data.Matrix) *data.Matrix {
	sums, ok := g.spare.Get().(*data.Matrix)
	if !ok || sums.Cols != x.Cols {
		s := data.NewMatrix(len(g.pieces), x.Cols)
		sums = &s
	}
	g.pool.For(len(g.pieces), func(i, _ int) {
		row := sums.Row(i)
		clear(row)
		for _, t := range g.members[g.pieces[i].from:g.pieces[i].to] {
			kernel.Axpy(1, x.Row(int(t)), row)
		}
	})
	for n := range g.size {
		for i := g.first[n] + 1; i < g.first[n+1]; i++ {
			kernel.Axpy(1, sums.Row(int(i)), sums.Row(int(g.first[n])))
		}
	}
	return sums
}

// multiply sets dst to X times the matrix that is M with other eigenvalues.
func (g *grouped) multiply(dst, x *data.Matrix, apart, along float64) {
	sums := g.sums(x)
	defer g.spare.Put(sums)
	tasks := cut(x.Rows, longestPiece)
	g.pool.For(tasks.count, func(i, _ int) {
		from, to := tasks.at(i)
		for t := from; t < to; t++ {
			n := g.cluster[t]
			kernel.Scale(apart, x.Row(t), dst.Row(t))
			kernel.Axpy((along-apart)/g.size[n], sums.Row(int(g.first[n])), dst.Row(t))
		}
	})
}

// Primal sets W = V M.
func (g *grouped) Primal(w, v *data.Matrix) { g.multiply(w, v, g.apart, g.along) }

// Gradient sets Z = W M^-1.
func (g *grouped) Gradient(z, w *data.Matrix) { g.multiply(z, w, 1/g.apart, 1/g.along) }

// Value returns 1/2 tr(W M^-1 W^T). Without V it is the squares of the clusters'
// means and of the distances from them, so that no digits are lost.
func (g *grouped) Value(w, v *data.Matrix) float64 {
	if v != nil {
		return half(g, w, v)
	}
	sums := g.sums(w)
	defer g.spare.Put(sums)
	value := 0.0
	for n, size := range g.size {
		row := sums.Row(int(g.first[n]))
		value += kernel.Dot(row, row) / size / g.along
	}
	tasks := cut(w.Rows, longestPiece)
	rest := make([]float64, tasks.count)
	g.pool.For(tasks.count, func(i, _ int) {
		from, to := tasks.at(i)
		row := make([]float64, w.Cols)
		for t := from; t < to; t++ {
			n := g.cluster[t]
			copy(row, w.Row(t))
			kernel.Axpy(-1/g.size[n], sums.Row(int(g.first[n])), row)
			rest[i] += kernel.Dot(row, row)
		}
	})
	for _, x := range rest {
		value += x / g.apart
	}
	return value / 2
}

// Convexity returns 1/along.
func (g *grouped) Convexity() float64 { return 1 / g.along }

// FLOPs returns 4 m d.
func (g *grouped) FLOPs(d int) float64 { return 4 * float64(len(g.cluster)) * float64(d) }

// Incremental keeps the sums over clusters, so that a row of W and a change of V take
// O(d) each.
func (g *grouped) Incremental(v *data.Matrix) IncrementalPrimal {
	sums := g.sums(v)
	defer g.spare.Put(sums)
	f := &groupedFollower{g, summing{v, data.NewMatrix(len(g.size), v.Cols)}}
	for n := range g.size {
		copy(f.total.Row(n), sums.Row(int(g.first[n])))
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
func (g *grouped) SigmaPrime(rule string, devices []int) []float64 {
	sigma := make([]float64, len(g.cluster))
	most := 0.0
	for n := range g.size {
		between := g.between(int32(n))
		diag := g.apart + between
		members := g.of(n)
		if rule == SigmaSpectral {
			most = max(most, g.spectral(n, devices))
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
func (g *grouped) of(n int) []int32 {
	return g.members[g.pieces[g.first[n]].from:g.pieces[g.first[n+1]-1].to]
}

// spectral returns the largest eigenvalue of D^-1/2 M D^-1/2 on cluster n with the
// row and column of a task repeated for each of its devices: topEigenvalue with
// P = n_t apart/M_tt and one column (n_t between/M_tt)^1/2.
func (g *grouped) spectral(n int, devices []int) float64 {
	between := g.between(int32(n))
	diag := g.apart + between
	if devices == nil {
		return g.along / diag
	}
	least, most := 0.0, 0.0
	members := g.of(n)
	for _, t := range members {
		least = max(least, load(devices, int(t)))
		most += load(devices, int(t))
	}
	return topEigenvalue(least, most, func(lambda float64) secular {
		var s secular
		for _, t := range members {
			own := load(devices, int(t))
			below := float64(lambda*diag) - float64(own*g.apart)
			s.value += own * between / below
			s.slope -= own * between * diag / square(below)
		}
		s.rounding = float64(len(members)+10) * 0x1p-52 * s.value
		return s
	})
}
