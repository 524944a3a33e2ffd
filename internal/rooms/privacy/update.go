package privacy

import (
	"math"

	"fedsim/algorithms"
	"fedsim/internal/tools/rng"
)

// guard is what the table has an effect by on updates and their sums.
type guard struct {
	config  Config
	cohort  float64 // responses that a round is for
	seed    uint64
	step    float64 // of the ring's values
	largest float64 // of them, in steps
	sums    int     // to which the server has added noise
}

// NewGuard returns the guard of a run whose rounds are for cohort responses.
func (cfg *Config) NewGuard(cohort int, seed uint64) algorithms.Guard {
	g := &guard{config: *cfg, cohort: float64(cohort), seed: seed}
	g.largest = float64(int64(1)<<(cfg.ValueBits-1) - 1)
	g.step = cfg.ValueRange / g.largest
	return g
}

// Leave makes a device's update what leaves the device, in place: clipped, with the device's
// share of distributed noise, and rounded to the ring. s is the randomness of the device's
// local work in this round.
func (g *guard) Leave(update []float64, s algorithms.Stream) {
	own := s.Fork(rng.Privacy)
	if g.clips() {
		clip(update, g.config.Clip)
	}
	if g.adds() {
		addNoise(update, g.deviation()/math.Sqrt(g.cohort), &own)
	}
	if g.config.Secure() {
		g.round(update, &own)
	}
}

// clips and adds report whether devices clip their updates, and add noise to them.
func (g *guard) clips() bool { return g.config.Differential() && g.config.Clip > 0 }
func (g *guard) adds() bool  { return g.config.Mechanism == Distributed && g.deviation() > 0 }

// FLOPs returns those of Leave on so many values. Rounding is a part of masking.
func (g *guard) FLOPs(values int) (flops float64) {
	if g.clips() {
		flops += float64(clipFLOPs * values)
	}
	if g.adds() {
		flops += float64(noiseFLOPs * values)
	}
	return flops
}

// deviation returns the standard deviation of the noise on a sum of a whole cohort.
func (g *guard) deviation() float64 { return g.config.Noise * g.config.Clip }

// Sum completes the sum of the updates of a round and returns the number to
// divide it by, and the FLOPs. A differentially private mean has a fixed denominator, so that
// no client changes it: the cohort. Otherwise it is the weight of the updates.
func (g *guard) Sum(sum []float64, weight float64) (denominator, flops float64) {
	if !g.config.Differential() {
		return weight, 0
	}
	if std := g.deviation(); g.config.Mechanism == Central && std > 0 {
		s := rng.New(g.seed, rng.Privacy, -1, g.sums)
		addNoise(sum, std, &s)
		flops = float64(noiseFLOPs * len(sum))
		g.sums++
	}
	return g.cohort, flops
}

// State codes how often the server has drawn noise.
func (g *guard) State(c *algorithms.Coder) {
	c.Int(&g.sums)
}

// clipFLOPs is the cost of clip for each value.
const clipFLOPs = 3

// clip scales a vector to a norm, if it is longer.
func clip(x []float64, most float64) {
	square := 0.0
	for _, v := range x {
		square += float64(v * v)
	}
	if norm := math.Sqrt(square); norm > most {
		factor := most / norm
		for i := range x {
			x[i] *= factor
		}
	}
}

// normalFLOPs is the cost of a normal number by the polar method: 1.27 pairs of uniform
// numbers on average, a square root and a logarithm of 20 operations.
const normalFLOPs = 32

// noiseFLOPs is the cost of addNoise for each value.
const noiseFLOPs = normalFLOPs + 2

// addNoise adds independent Gaussian noise to the values of x.
func addNoise(x []float64, std float64, s *rng.Stream) {
	for i := range x {
		x[i] += float64(std * s.Normal())
	}
}

// round rounds values to the steps of the ring, to one of the two nearest at random so that
// the mean is the value, after clipping them to the range.
func (g *guard) round(x []float64, s *rng.Stream) {
	for i, v := range x {
		scaled := max(-g.largest, min(g.largest, v/g.step))
		low := math.Floor(scaled)
		if s.Float64() < scaled-low {
			low++
		}
		x[i] = float64(low * g.step)
	}
}

// Sensitivity returns the largest norm of an update of some values that leaves a device:
// rounding lengthens a clipped one by at most a step in every value.
func (cfg *Config) Sensitivity(values int) float64 {
	if !cfg.Secure() {
		return cfg.Clip
	}
	largest := float64(int64(1)<<(cfg.ValueBits-1) - 1)
	return cfg.Clip + float64(cfg.ValueRange/largest*math.Sqrt(float64(values)))
}
