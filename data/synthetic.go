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
	return &maker{generator: g, u: make([]float64, g.scores()*g.Factors), base: make([]float64, g.Features), z: make([]float64, g.Factors)}
}

// make generates task t with all its rows.
func (g *maker) make(t int) *Client {
	stream := rng.New(g.seed, rng.Synthetic, t, drawTask)
	randomDirections(&stream, g.u, g.Factors)
	cluster := g.clusters[t%g.Clusters]
	for f := range g.u {
		g.u[f] = g.common[f] + float64(g.ClusterSpread*cluster[f]) + float64(g.ClientSpread*g.u[f])
	}
	for from := 0; from < len(g.u); from += g.Factors {
		normalize(g.u[from : from+g.Factors])
	}
	lean := float64(shareSpread * stream.Normal())
	difficulty := elementary.Exp(float64(g.DifficultySpread * stream.Normal()))
	for j := range g.base {
		g.base[j] = g.offset[j] + float64(g.Shift*stream.Normal())
	}

	g.task.resize(false, totalRows(g.sizes[t]), g.Features)
	draw := rng.New(g.seed, rng.Synthetic, t, drawRows)
	if g.real {
		g.realRows(g.TargetNoise*difficulty, &draw)
		return &g.task
	}
	if g.Classes > 0 {
		g.classesRows(t, g.Margin*difficulty, &draw)
		return &g.task
	}
	odds := elementary.Log(g.PositiveShare/(1-g.PositiveShare)) + lean
	threshold := math.Sqrt2 * elementary.Erfinv(1-2/(1+elementary.Exp(-odds))) // the score's quantile
	g.classRows(threshold, g.Margin*difficulty, &draw)
	return &g.task
}

// classRows fills the task with rows and labels.
func (g *maker) classRows(threshold, margin float64, draw *rng.Stream) {
	for i := range g.task.Y {
		y := -1.0
		if latent(g.z, g.u, draw) > threshold {
			y = 1
		}
		for f := range g.z {
			g.z[f] += float64(y * margin * g.u[f])
		}
		g.row(g.task.X.Row(i), g.base, g.z, draw)
		if draw.Float64() < g.Noise {
			y = -y
		}
		g.task.Y[i] = y
	}
}

// classesRows fills task t with rows and the numbers of several classes.
func (g *maker) classesRows(t int, margin float64, draw *rng.Stream) {
	stream := rng.New(g.seed, rng.Synthetic, t, drawOffsets)
	offsets := make([]float64, g.Classes)
	for c := range offsets {
		offsets[c] = shareSpread * stream.Normal()
	}
	for i := range g.task.Y {
		best := latent(g.z, g.u[:g.Factors], draw) + offsets[0]
		class := 0
		for c := 1; c < g.Classes; c++ {
			score := offsets[c]
			for f, u := range g.u[c*g.Factors : (c+1)*g.Factors] {
				score += float64(u * g.z[f])
			}
			if score > best {
				best, class = score, c
			}
		}
		for f, u := range g.u[class*g.Factors : (class+1)*g.Factors] {
			g.z[f] += float64(margin * u)
		}
		g.row(g.task.X.Row(i), g.base, g.z, draw)
		if u := draw.Float64(); u < g.Noise {
			class = (class + 1 + between(0, g.Classes-2, u/g.Noise)) % g.Classes
		}
		g.task.Y[i] = float64(class)
	}
}

// realRows fills the task with rows and real targets.
func (g *maker) realRows(noise float64, draw *rng.Stream) {
	for i := range g.task.Y {
		score := latent(g.z, g.u, draw)
		g.row(g.task.X.Row(i), g.base, g.z, draw)
		g.task.Y[i] = score + float64(noise*draw.Normal())
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
