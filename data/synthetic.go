package data

import (
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/rng"
)

// The random streams of a generated set. A task draws from (seed, Synthetic, task, one
// of these), a cluster from (seed, Synthetic, cluster, drawCluster), and common parts
// from device -1. So tasks may be generated in any order.
const (
	drawSizes = iota
	drawFeatures
	drawCommon
	drawCluster
	drawTask
	drawRows
	drawOffsets
	drawAlphaBeta
)

// Standard deviations before features are squashed. They bring the human-activity preset
// near the second moments of the real data. There the mean has 85 % of the squared norm
// of a row (here 82 %), the first principal component 51 % of the variance (41 %), the
// 41st 0.2 % (0.1 %).
const (
	offsetSpread = 1.5 // over features, of a feature's mean; a linear model then needs no bias
	factorSpread = 0.6 // of all factors together, within a feature
	featureNoise = 0.1 // of a feature's own noise
	shareSpread  = 0.2 // over tasks, of the log odds of the positive share
)

// generator has the common parts of a generated set. A row is made from k latent factors
// z:
//
//	z    ~ N(0, I),  y = +1 if u.z > threshold, else -1,  z += y margin u
//	x_j  = squash(offset_j + shift_j + loading_j.z + N(0, featureNoise^2))
//	u    = unit(common + ClusterSpread cluster + ClientSpread own)
//
// and y is flipped with probability Noise. A real target is the score with noise, and z
// does not change:
//
//	y = u.z + N(0, (TargetNoise difficulty)^2)
//
// Several classes have a direction u_c each, and each task adds an offset N(0,
// shareSpread^2) to the score of a class:
//
//	y = argmax_c u_c.z + offset_c,  z += margin u_y
//
// So the score of the row's class grows by the margin, and that of others by less. With
// probability Noise, y is then replaced by another class.
//
// Loadings decrease from factor to factor (factorWeights). So features are correlated,
// and the problem is as badly conditioned as a real one. squash keeps features in (-1,
// 1), the range of HAR's.
type generator struct {
	SyntheticConfig
	real     bool // targets are real numbers
	seed     uint64
	sizes    []int       // training rows per task under the default split
	offset   []float64   // d
	loading  []float64   // d x k, row by row
	common   []float64   // k, for each of several classes
	clusters [][]float64 // as common, each
}

// generate generates the set of a configuration with source "synthetic". Its bits depend
// only on the configuration, not on the number of processors.
func generate(cfg Config) *Set {
	g, set := generatorOf(cfg)
	g.each(func(t int, task *Client) {
		set.Clients[t] = Client{Name: task.Name, X: task.X.clone(), Y: slices.Clone(task.Y)}
	})
	return set
}

// generatorOf returns the generator of a configuration, and the set without tasks.
func generatorOf(cfg Config) (*generator, *Set) {
	resolved := cfg.Resolve().Synthetic
	g := newGenerator(resolved, cfg.Seed)
	g.real = cfg.Target == TargetReal
	set := &Set{
		Name:      "synthetic (generated)",
		Features:  resolved.Features,
		Clients:   make([]Client, resolved.Clients),
		Generated: true,
		Real:      g.real,
	}
	for c := range g.Classes {
		set.Classes = append(set.Classes, strconv.Itoa(c))
	}
	if cfg.Preset != "" {
		set.Name = cfg.Preset + " (generated)"
	}
	return g, set
}

// each generates all tasks in parallel and passes each to take. The task is overwritten
// after take returns.
func (g *generator) each(take func(t int, task *Client)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), g.Clients) {
		workers.Go(func() {
			m := g.maker()
			for t := next.Add(1) - 1; t < int64(g.Clients); t = next.Add(1) - 1 {
				task := m.make(int(t))
				task.Name = strconv.Itoa(int(t) + 1)
				take(int(t), task)
			}
		})
	}
	workers.Wait()
}

// newGenerator draws the common parts.
func newGenerator(s SyntheticConfig, seed uint64) *generator {
	g := &generator{SyntheticConfig: s, seed: seed}
	sizes := rng.New(seed, rng.Synthetic, -1, drawSizes)
	g.sizes = taskSizes(s.Clients, s.RowsMin, s.RowsMax, s.RowsDeviation, &sizes)

	features := rng.New(seed, rng.Synthetic, -1, drawFeatures)
	weights := factorWeights(s.Factors)
	g.offset = make([]float64, s.Features)
	g.loading = make([]float64, s.Features*s.Factors)
	for j := range g.offset {
		g.offset[j] = offsetSpread * features.Normal()
		row := g.loading[j*s.Factors : (j+1)*s.Factors]
		for f := range row {
			row[f] = float64(factorSpread*weights[f]) * features.Normal()
		}
	}

	common := rng.New(seed, rng.Synthetic, -1, drawCommon)
	g.common = directions(&common, g.scores(), s.Factors)
	g.clusters = make([][]float64, s.Clusters)
	for c := range g.clusters {
		stream := rng.New(seed, rng.Synthetic, c, drawCluster)
		g.clusters[c] = directions(&stream, g.scores(), s.Factors)
	}
	return g
}

// scores returns the number of latent scores of a row.
func (g *generator) scores() int { return max(1, g.Classes) }

// factorWeights returns the standard deviations of k factors, together 1: the first has
// half of the variance, and the share of each later factor number f is proportional to
// 1/f.
func factorWeights(k int) []float64 {
	variance := make([]float64, k)
	rest := 0.0
	for f := 1; f < k; f++ {
		variance[f] = 1 / float64(f)
		rest += variance[f]
	}
	variance[0] = max(rest, 1)
	weights := make([]float64, k)
	for f := range weights {
		weights[f] = math.Sqrt(variance[f] / (variance[0] + rest))
	}
	return weights
}

// maker generates tasks one after another in its own memory.
type maker struct {
	*generator
	u, base, z []float64
	task       Client // the last task; overwritten by the next
}

func (g *generator) maker() *maker {
	return &maker{generator: g, u: make([]float64, g.scores()*g.Factors), base: make([]float64, g.Features),
		z: make([]float64, g.Factors)}
}

// make generates task t with all its rows.
func (m *maker) make(t int) *Client {
	stream := rng.New(m.seed, rng.Synthetic, t, drawTask)
	randomDirections(&stream, m.u, m.Factors)
	cluster := m.clusters[t%m.Clusters]
	for f := range m.u {
		m.u[f] = m.common[f] + float64(m.ClusterSpread*cluster[f]) + float64(m.ClientSpread*m.u[f])
	}
	for from := 0; from < len(m.u); from += m.Factors {
		normalize(m.u[from : from+m.Factors])
	}
	lean := float64(shareSpread * stream.Normal())
	difficulty := elementary.Exp(float64(m.DifficultySpread * stream.Normal()))
	for j := range m.base {
		m.base[j] = m.offset[j] + float64(m.Shift*stream.Normal())
	}

	m.task.resize(false, totalRows(m.sizes[t]), m.Features)
	draw := rng.New(m.seed, rng.Synthetic, t, drawRows)
	if m.real {
		m.realRows(m.TargetNoise*difficulty, &draw)
		return &m.task
	}
	if m.Classes > 0 {
		m.classesRows(t, m.Margin*difficulty, &draw)
		return &m.task
	}
	odds := elementary.Log(m.PositiveShare/(1-m.PositiveShare)) + lean
	threshold := math.Sqrt2 * elementary.Erfinv(1-2/(1+elementary.Exp(-odds))) // the score's quantile
	m.classRows(threshold, m.Margin*difficulty, &draw)
	return &m.task
}

// classRows fills the task with rows and labels.
func (m *maker) classRows(threshold, margin float64, draw *rng.Stream) {
	for i := range m.task.Y {
		y := -1.0
		if latent(m.z, m.u, draw) > threshold {
			y = 1
		}
		for f := range m.z {
			m.z[f] += float64(y * margin * m.u[f])
		}
		m.row(m.task.X.Row(i), m.base, m.z, draw)
		if draw.Float64() < m.Noise {
			y = -y
		}
		m.task.Y[i] = y
	}
}

// classesRows fills task t with rows and the numbers of several classes.
func (m *maker) classesRows(t int, margin float64, draw *rng.Stream) {
	stream := rng.New(m.seed, rng.Synthetic, t, drawOffsets)
	offsets := make([]float64, m.Classes)
	for c := range offsets {
		offsets[c] = shareSpread * stream.Normal()
	}
	for i := range m.task.Y {
		best := latent(m.z, m.u[:m.Factors], draw) + offsets[0]
		class := 0
		for c := 1; c < m.Classes; c++ {
			score := offsets[c]
			for f, u := range m.u[c*m.Factors : (c+1)*m.Factors] {
				score += float64(u * m.z[f])
			}
			if score > best {
				best, class = score, c
			}
		}
		for f, u := range m.u[class*m.Factors : (class+1)*m.Factors] {
			m.z[f] += float64(margin * u)
		}
		m.row(m.task.X.Row(i), m.base, m.z, draw)
		if u := draw.Float64(); u < m.Noise {
			class = (class + 1 + between(0, m.Classes-2, u/m.Noise)) % m.Classes
		}
		m.task.Y[i] = float64(class)
	}
}

// realRows fills the task with rows and real targets.
func (m *maker) realRows(noise float64, draw *rng.Stream) {
	for i := range m.task.Y {
		score := latent(m.z, m.u, draw)
		m.row(m.task.X.Row(i), m.base, m.z, draw)
		m.task.Y[i] = score + float64(noise*draw.Normal())
	}
}

// latent draws the factors z and returns the score u.z, a standard normal number.
func latent(z, u []float64, draw *rng.Stream) float64 {
	score := 0.0
	for f := range z {
		z[f] = draw.Normal()
		score += float64(u[f] * z[f])
	}
	return score
}

// row fills x with the features of the latent factors z.
func (g *generator) row(x, base, z []float64, draw *rng.Stream) {
	for j := range x {
		v := base[j] + float64(featureNoise*draw.Normal())
		for f, l := range g.loading[j*g.Factors : (j+1)*g.Factors] {
			v += float64(l * z[f])
		}
		x[j] = squash(v)
	}
}

// squash maps a number to (-1, 1). Unlike tanh it has the same bits on every platform.
func squash(v float64) float64 { return v / math.Sqrt(1+float64(v*v)) }

// totalRows returns the smallest number of rows for which the default split gives n
// training rows.
func totalRows(n int) int {
	total, usual := n, holdout{share: defaultTestFraction, least: 1}
	for usual.staying(total) < n {
		total++
	}
	return total
}

// directions returns n random unit vectors of length k, one after another.
func directions(stream *rng.Stream, n, k int) []float64 {
	u := make([]float64, n*k)
	randomDirections(stream, u, k)
	return u
}

// randomDirections fills u with random unit vectors of length k.
func randomDirections(stream *rng.Stream, u []float64, k int) {
	for f := range u {
		u[f] = stream.Normal()
	}
	for from := 0; from < len(u); from += k {
		normalize(u[from : from+k])
	}
}

// normalize scales u to length 1; a zero vector does not change.
func normalize(u []float64) {
	sum := 0.0
	for _, x := range u {
		sum += float64(x * x)
	}
	if sum == 0 {
		return
	}
	for f := range u {
		u[f] /= math.Sqrt(sum)
	}
}
