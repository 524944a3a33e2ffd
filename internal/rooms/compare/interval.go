package compare

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"fedsim/internal/tools/certainty"
	"fedsim/internal/tools/orderstat"
	"fedsim/internal/tools/rng"
)

const (
	// level is the confidence level of the intervals.
	level = 0.95

	// resamples is the number of bootstrap resamples of an interval. With so many, the
	// share of them in a tail of 2.5 % is within 10 % of the exact one with probability
	// 0.95: 1.96 sqrt(0.975/(0.025 resamples)) = 0.1. Hesterberg recommends the same.
	resamples = 15000
)

// Ratio is the ratio of the mean times of two sides, with its confidence interval; or, of pairs with a run that
// did not reach the target, the median of their ratios.
type Ratio struct {
	Value  float64 `json:"ratio"`       // NaN: undefined
	Low    float64 `json:"ratio_low"`   // the lower end of the 95 % interval; NaN: undefined
	High   float64 `json:"ratio_high"`  // the upper end of the interval
	Seeds  int     `json:"ratio_seeds"` // the number of pairs, or of seeds of the smaller side if unpaired
	Paired bool    `json:"paired"`      // times of the same seed form pairs

	// Censored means that a run did not reach the target. Value is then the median of the ratios of the pairs, if
	// that is known; it lies between MedianLow and MedianHigh, which are NaN otherwise.
	Censored   bool    `json:"censored"`
	MedianLow  float64 `json:"ratio_median_low"`
	MedianHigh float64 `json:"ratio_median_high"`
}

// pairedRatio returns the ratio of pairs of times, each with the one of the baseline first.
func pairedRatio(pairs [][2]certainty.Bounds) Ratio {
	var times, base, low, high []float64
	var ratios []certainty.Bounds
	median := certainty.Test{Confidence: level, Pairs: 1}
	censored := false
	for _, p := range pairs {
		x := median.Of(p[0], p[1])
		censored = censored || !p[0].Known() || !p[1].Known()
		times, base, ratios = append(times, p[1].Low), append(base, p[0].Low), append(ratios, x)
		low, high = append(low, x.Low), append(high, x.High)
	}
	if !censored {
		return newRatio(times, base, true)
	}
	r := Ratio{Value: math.NaN(), Low: math.NaN(), High: math.NaN(), Seeds: len(pairs), Paired: true, Censored: true}
	r.MedianLow, r.MedianHigh = orderstat.Median(low), orderstat.Median(high)
	if r.MedianLow == r.MedianHigh && !math.IsInf(r.MedianLow, 1) {
		r.Value = r.MedianLow
	}
	if median.Dropped(len(pairs)) >= 0 {
		interval := median.Interval(ratios)
		r.Low, r.High = interval.Low, interval.High
	}
	return r
}

// newRatio returns the ratio of the mean of times to that of base, in seconds. If they are paired,
// times[i] and base[i] have the same seed; else the sides have no seed in common. The ratio is
// undefined without seeds on a side or with a time of 0; the interval needs two on each side.
func newRatio(times, base []float64, paired bool) Ratio {
	if paired && len(times) != len(base) {
		panic("compare: pairs need the same number of times on both sides")
	}
	n := min(len(times), len(base))
	r := Ratio{Value: math.NaN(), Low: math.NaN(), High: math.NaN(), Seeds: n, Paired: paired, MedianLow: math.NaN(),
		MedianHigh: math.NaN()}
	if n == 0 || !(slices.Min(times) > 0) || !(slices.Min(base) > 0) {
		return r
	}
	r.Value = mean(times) / mean(base)
	if n == 1 {
		return r
	}
	ratios := make([]float64, resamples)
	stream := rng.New(0, rng.Resample, -1, 0)
	for i := range ratios {
		ratios[i] = resampled(times, base, paired, &stream)
	}
	slices.Sort(ratios)
	k := int(tail(n) * resamples)
	r.Low, r.High = ratios[k], ratios[resamples-1-k]
	return r
}

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

// enoughPairs and enoughUnpaired are the fewest seeds for which an interval has its
// nominal coverage. An interval lies between the smallest and the largest ratio of a
// pair, so n pairs cover the ratio, if it is near their median, with probability at most
// 1 - 2^(1-n): 0.94 for five. Unpaired intervals are wider; see TestCoverage.
const (
	enoughPairs    = 6
	enoughUnpaired = 4
)

// narrow reports whether the interval has too few seeds for its nominal coverage.
func (r *Ratio) narrow() bool {
	enough := enoughUnpaired
	if r.Paired {
		enough = enoughPairs
	}
	return !r.Censored && !math.IsNaN(r.Low) && r.Seeds < enough
}

// tail returns the share p of resamples outside each end of an interval over n seeds:
// z_p sqrt((n-1)/n) = t_{n-1} (Hesterberg's expanded percentiles).
func tail(n int) float64 {
	f := float64(n)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: f - 1}.Quantile((1 - level) / 2)
	return distuv.UnitNormal.CDF(t * math.Sqrt(f/(f-1)))
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
