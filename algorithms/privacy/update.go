package privacy

import (
	"math"

	"fedsim/internal/tools/rng"
	"fedsim/internal/tools/state"
)

type (
	// Stream is a source of random numbers.
	Stream = rng.Stream
	// Coder writes state to a checkpoint, or reads it back into place.
	Coder = state.Coder
)

// Guard changes the updates that leave the devices of a run, and the sums that the server
// makes of them. A nil Guard changes nothing.
type Guard struct {
	config  Config
	cohort  float64 // responses that a round is for
	seed    uint64
	step    float64 // of the ring's values
	largest float64 // of them, in steps
	sums    int     // to which the server has added noise
}

// NewGuard returns the guard of a run whose rounds are for cohort responses; nil if the
// table has no effect.
func (p *Config) NewGuard(cohort int, seed uint64) *Guard {
	if !p.On() {
		return nil
	}
	g := &Guard{config: *p, cohort: float64(cohort), seed: seed}
	g.largest = float64(int64(1)<<(p.ValueBits-1) - 1)
	g.step = p.ValueRange / g.largest
	return g
}

// Leave makes a device's update what leaves the device, in place: clipped, with the device's
// share of distributed noise, and rounded to the ring. s is the randomness of the device's
// local work in this round. It returns the FLOPs.
func (g *Guard) Leave(update []float64, s Stream) (flops float64) {
	if g == nil {
		return 0
	}
	own := s.Fork(rng.Privacy)
	if g.config.Differential() && g.config.Clip > 0 {
		flops += clip(update, g.config.Clip)
	}
	if std := g.deviation() / math.Sqrt(g.cohort); g.config.Mechanism == Distributed && std > 0 {
		flops += addNoise(update, std, &own)
	}
	if g.config.Secure() {
		g.round(update, &own)
	}
	return flops
}

// deviation returns the standard deviation of the noise on a sum of a whole cohort.
func (g *Guard) deviation() float64 { return g.config.Noise * g.config.Clip }

// Sum completes the sum of the updates of a round and returns the number to
// divide it by, and the FLOPs. A differentially private mean has a fixed denominator, so that
// no client changes it: the cohort. Otherwise it is the weight of the updates.
func (g *Guard) Sum(sum []float64, weight float64) (denominator, flops float64) {
	if g == nil || !g.config.Differential() {
		return weight, 0
	}
	if std := g.deviation(); g.config.Mechanism == Central && std > 0 {
		s := rng.New(g.seed, rng.Privacy, -1, g.sums)
		flops = addNoise(sum, std, &s)
		g.sums++
	}
	return g.cohort, flops
}

// State codes how often the server has drawn noise.
func (g *Guard) State(c *Coder) {
	if g != nil {
		c.Int(&g.sums)
	}
}

// clip scales a vector to a norm, if it is longer, and returns the FLOPs.
func clip(x []float64, most float64) float64 {
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
	return float64(3 * len(x))
}

// normalFLOPs is the cost of a normal number by the polar method: 1.27 pairs of uniform
// numbers on average, a square root and a logarithm of 20 operations.
const normalFLOPs = 32

// addNoise adds independent Gaussian noise to the values of x and returns the FLOPs.
func addNoise(x []float64, std float64, s *rng.Stream) float64 {
	for i := range x {
		x[i] += float64(std * s.Normal())
	}
	return float64((normalFLOPs + 2) * len(x))
}

// round rounds values to the steps of the ring, to one of the two nearest at random so that
// the mean is the value, after clipping them to the range.
func (g *Guard) round(x []float64, s *rng.Stream) {
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
func (p *Config) Sensitivity(values int) float64 {
	if !p.Secure() {
		return p.Clip
	}
	largest := float64(int64(1)<<(p.ValueBits-1) - 1)
	return p.Clip + float64(p.ValueRange/largest*math.Sqrt(float64(values)))
}
