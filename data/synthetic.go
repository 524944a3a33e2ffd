package data

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"fedsim/internal/rng"
)

// The streams of a generated set. What belongs to a task is drawn from
// (seed, Synthetic, task, one of these), what belongs to a cluster from
// (seed, Synthetic, cluster, drawCluster), what all tasks share from device -1;
// so tasks may be generated in any order.
const (
	drawSizes = iota
	drawFeatures
	drawCommon
	drawCluster
	drawTask
	drawRows
)

// Standard deviations, before features are squashed. They are set so that the
// human-activity preset comes near the second moments of the real data: there
// the mean makes up 85 % of the squared length of a row (here 82 %), the first
// principal component 51 % of the variance (41 %), the 41st 0.2 % (0.1 %).
const (
	offsetSpread = 1.5 // over features, of a feature's mean; a linear model needs no bias for it
	factorSpread = 0.6 // of all factors together, within a feature
	featureNoise = 0.1 // of a feature's own noise
	shareSpread  = 0.2 // over tasks, of the log odds of the positive share
)

// generator holds what all tasks of a generated set share. A row is made from
// k latent factors z:
//
//	z    ~ N(0, I),  y = +1 if u.z > threshold, else -1,  z += y margin u
//	x_j  = squash(offset_j + shift_j + loading_j.z + N(0, featureNoise^2))
//	u    = unit(common + ClusterSpread cluster + TaskSpread own)
//
// and y is flipped with probability Noise. Real targets are instead the score with
// noise, and z stays:
//
//	y = u.z + N(0, (TargetNoise difficulty)^2)
//
// Loadings fall off from factor to
// factor (factorWeights), so features are correlated and the problem is as
// badly conditioned as a real one; squash keeps features in (-1, 1), the range
// of HAR's.
type generator struct {
	SyntheticConfig
	real     bool // targets are real numbers
	seed     uint64
	sizes    []int       // training rows per task under the default split
	offset   []float64   // d
	loading  []float64   // d x k, row by row
	common   []float64   // k
	clusters [][]float64 // k each
}

// generate makes the set that a configuration with source "synthetic"
// describes. Its bits depend on the configuration alone, not on the number of
// processors it is made on.
func generate(cfg Config) *Set {
	resolved := cfg.Resolve().Synthetic
	g := newGenerator(resolved, cfg.Seed)
	g.real = cfg.Target == TargetReal
	set := &Set{
		Name:      "synthetic (generated)",
		Features:  resolved.Features,
		Tasks:     make([]Task, resolved.Tasks),
		Generated: true,
		Real:      g.real,
	}
	if cfg.Preset != "" {
		set.Name = cfg.Preset + " (generated)"
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), resolved.Tasks) {
		workers.Go(func() {
			for t := next.Add(1) - 1; t < int64(resolved.Tasks); t = next.Add(1) - 1 {
				set.Tasks[t] = g.task(int(t))
			}
		})
	}
	workers.Wait()
	return set
}

// newGenerator draws what all tasks share.
func newGenerator(s SyntheticConfig, seed uint64) *generator {
	g := &generator{SyntheticConfig: s, seed: seed}
	sizes := rng.New(seed, rng.Synthetic, -1, drawSizes)
	g.sizes = taskSizes(s.Tasks, s.RowsMin, s.RowsMax, s.RowsDeviation, &sizes)

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
	g.common = direction(&common, s.Factors)
	g.clusters = make([][]float64, s.Clusters)
	for c := range g.clusters {
		stream := rng.New(seed, rng.Synthetic, c, drawCluster)
		g.clusters[c] = direction(&stream, s.Factors)
	}
	return g
}

// factorWeights returns the standard deviation of each of k factors, together
// 1: the first has half of the variance, of the others number f has a share in
// proportion to 1/f.
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

// task generates task t with all its rows.
func (g *generator) task(t int) Task {
	stream := rng.New(g.seed, rng.Synthetic, t, drawTask)
	u := direction(&stream, g.Factors)
	cluster := g.clusters[t%g.Clusters]
	for f := range u {
		u[f] = g.common[f] + float64(g.ClusterSpread*cluster[f]) + float64(g.TaskSpread*u[f])
	}
	normalise(u)
	lean := float64(shareSpread * stream.Normal())
	difficulty := math.Exp(float64(g.DifficultySpread * stream.Normal()))
	base := make([]float64, g.Features)
	for j := range base {
		base[j] = g.offset[j] + float64(g.Shift*stream.Normal())
	}

	rows := totalRows(g.sizes[t])
	task := Task{Name: fmt.Sprint(t + 1), X: NewMatrix(rows, g.Features), Y: make([]float64, rows)}
	draw := rng.New(g.seed, rng.Synthetic, t, drawRows)
	if g.real {
		g.realRows(&task, u, base, g.TargetNoise*difficulty, &draw)
		return task
	}
	odds := math.Log(g.PositiveShare/(1-g.PositiveShare)) + lean
	threshold := math.Sqrt2 * math.Erfinv(1-2/(1+math.Exp(-odds))) // the score's quantile
	g.classRows(&task, u, base, threshold, g.Margin*difficulty, &draw)
	return task
}

// classRows fills a task with rows and labels.
func (g *generator) classRows(task *Task, u, base []float64, threshold, margin float64, draw *rng.Stream) {
	z := make([]float64, g.Factors)
	for i := range task.Y {
		y := -1.0
		if latent(z, u, draw) > threshold {
			y = 1
		}
		for f := range z {
			z[f] += float64(y * margin * u[f])
		}
		g.row(task.X.Row(i), base, z, draw)
		if draw.Float64() < g.Noise {
			y = -y
		}
		task.Y[i] = y
	}
}

// realRows fills a task with rows and real targets.
func (g *generator) realRows(task *Task, u, base []float64, noise float64, draw *rng.Stream) {
	z := make([]float64, g.Factors)
	for i := range task.Y {
		score := latent(z, u, draw)
		g.row(task.X.Row(i), base, z, draw)
		task.Y[i] = score + float64(noise*draw.Normal())
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

// squash maps a number to (-1, 1); unlike tanh it has the same bits everywhere.
func squash(v float64) float64 { return v / math.Sqrt(1+float64(v*v)) }

// totalRows returns the fewest rows of which the default split trains on n.
func totalRows(n int) int {
	total := n
	for trainingRows(total, defaultTestFraction) < n {
		total++
	}
	return total
}

// direction returns a random unit vector.
func direction(stream *rng.Stream, k int) []float64 {
	u := make([]float64, k)
	for f := range u {
		u[f] = stream.Normal()
	}
	normalise(u)
	return u
}

// normalise scales u to length 1; a zero vector stays.
func normalise(u []float64) {
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
