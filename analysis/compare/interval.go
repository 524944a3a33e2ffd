package compare

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"fedsim/internal/rng"
)

const (
	// Level is the confidence of the intervals.
	Level = 0.95

	// Resamples is how many resamples an interval is made from: with so many the
	// share of them in a tail of 2.5 % is within 10 % of the right one with
	// probability 0.95, 1.96 sqrt(0.975/(0.025 Resamples)) = 0.1 (Hesterberg asks for the same).
	Resamples = 15000
)

// Ratio is how many times as long one side takes as the other.
type Ratio struct {
	Value     float64 // mean time of the one over that of the other; NaN when there is none
	Low, High float64 // interval at Level; NaN when there is none
	Seeds     int     // behind Value: pairs, or the fewer of the two sides when there are none
	Paired    bool    // times of the same seed belong together
}

// PairedRatio returns the ratio of the means of times to those of base, where
// times[i] and base[i] are of the same seed, in seconds. One pair has no
// interval. There is no ratio without pairs, nor when a time is zero.
func PairedRatio(times, base []float64) Ratio {
	if len(times) != len(base) {
		panic("comparison: pairs need as many times on both sides")
	}
	return newRatio(times, base, true)
}

// UnpairedRatio returns the ratio of the means of times to those of base, which
// have no seed in common. A side of one seed has no interval.
func UnpairedRatio(times, base []float64) Ratio { return newRatio(times, base, false) }

func newRatio(times, base []float64, paired bool) Ratio {
	n := min(len(times), len(base))
	r := Ratio{Value: math.NaN(), Low: math.NaN(), High: math.NaN(), Seeds: n, Paired: paired}
	if n == 0 || !(slices.Min(times) > 0) || !(slices.Min(base) > 0) {
		return r
	}
	r.Value = mean(times) / mean(base)
	if n == 1 {
		return r
	}
	ratios := make([]float64, Resamples)
	stream := rng.New(0, rng.Resample, -1, 0)
	for i := range ratios {
		ratios[i] = resampled(times, base, paired, &stream)
	}
	slices.Sort(ratios)
	k := int(tail(n) * Resamples)
	r.Low, r.High = ratios[k], ratios[Resamples-1-k]
	return r
}

// resampled returns the ratio of one resample.
func resampled(times, base []float64, paired bool, stream *rng.Stream) float64 {
	var above, below float64
	if paired {
		for range times {
			i := stream.IntN(len(times))
			above += times[i]
			below += base[i]
		}
		return above / below
	}
	for range times {
		above += times[stream.IntN(len(times))]
	}
	for range base {
		below += base[stream.IntN(len(base))]
	}
	return above / float64(len(times)) / (below / float64(len(base)))
}

// enoughPairs and enoughUnpaired are how many seeds an interval needs for the
// coverage that it states. The ends of an interval are at most those of all
// resamples, the least and the greatest ratio of a pair: n pairs cover the
// ratio, when it is about their median, with a probability of at most
// 1 - 2^(1-n), which is 0.94 for five. The least over the greatest time of two
// sides reach further; TestCoverage has what they come to.
const (
	enoughPairs    = 6
	enoughUnpaired = 4
)

// narrow reports whether the interval covers less than Level for want of seeds.
func (r *Ratio) narrow() bool {
	enough := enoughUnpaired
	if r.Paired {
		enough = enoughPairs
	}
	return !math.IsNaN(r.Low) && r.Seeds < enough
}

// tail returns the share of resamples beyond each end of the interval over n
// seeds, p with z_p sqrt((n-1)/n) = t_{n-1} (Hesterberg's expanded percentiles).
func tail(n int) float64 {
	f := float64(n)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: f - 1}.Quantile((1 - Level) / 2)
	return distuv.UnitNormal.CDF(t * math.Sqrt(f/(f-1)))
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
