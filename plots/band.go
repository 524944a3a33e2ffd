package plots

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"fedsim/results"
)

// maxPlaces is the maximum number of points of a line: about one per pixel of a panel.
const maxPlaces = 600

// band is a line and the spread of its curves, in axis space.
type band struct {
	x, mean, low, high []float64
	lower, upper       []float64 // an inner band; nil for none
	steps              bool      // a value holds until the next point
}

// bandsOf are the statistics of the values of band in a figure.
var bandsOf = map[string]showing{results.BandSE: ofMean, results.BandCI: ofInterval, results.BandRange: ofRange,
	results.BandNone: ofLine}

// Student returns half of the 95 % confidence interval of a mean of n values, in standard errors; 0 for one value.
func Student(n int) float64 {
	if n < 2 {
		return 0
	}
	return distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975)
}

// around returns the ends of a band around the mean of values. Line and band are of the same values.
func (s showing) around(values []float64) (low, high float64) {
	e := results.EstimateOf(values)
	by := 0.0
	switch {
	case s == ofRange:
		return slices.Min(values), slices.Max(values)
	case s == ofLine || e.N < 2:
	case s == ofInterval:
		by = e.SE * Student(e.N)
	default:
		by = e.SE
	}
	return e.Mean - by, e.Mean + by
}

// showing selects the statistics of the curves that a band shows.
type showing int

const (
	ofMean      showing = iota // mean and its standard error
	ofInterval                 // mean and its 95 % confidence interval
	ofRange                    // mean, lowest and highest
	ofLine                     // mean
	ofQuantiles                // median, quartiles, 5 and 95 %
	ofThree                    // three given curves, low, middle and high; or the middle alone
)

// newBand combines the curves of one line up to the position end. Values below floor
// count as floor: a seed that has converged must not move the mean of the others out of
// the figure. With steps, a value holds until the next measurement; otherwise curves are
// linear between their points.
func newBand(curves []curve, end, floor float64, shows showing, steps bool) band {
	if len(curves) == 0 {
		return band{}
	}
	first, last := math.Inf(-1), math.Inf(-1)
	for _, c := range curves {
		first = math.Max(first, c.x[0])
		last = math.Max(last, c.x[len(c.x)-1])
	}
	for _, c := range curves {
		if c.end.cuts() {
			last = math.Min(last, c.x[len(c.x)-1])
		}
	}
	if last < first {
		return band{} // the curves do not overlap
	}
	b := band{x: places(curves, first, math.Min(last, math.Max(end, first))), steps: steps}
	n := len(b.x)
	b.mean, b.low, b.high = make([]float64, n), make([]float64, n), make([]float64, n)
	if shows == ofQuantiles {
		b.lower, b.upper = make([]float64, n), make([]float64, n)
	}
	values := make([]float64, len(curves))
	for i, x := range b.x {
		for k := range curves {
			values[k] = curves[k].at(x, floor, steps)
			b.mean[i] += values[k] / float64(len(curves))
		}
		sort.Float64s(values)
		if shows < ofQuantiles {
			b.low[i], b.high[i] = shows.around(values)
			b.mean[i] = min(max(b.mean[i], b.low[i]), b.high[i]) // not for rounding
			if shows == ofRange && steps && len(curves) > 1 && i+1 < n {
				b.contain(i, curves, floor)
			}
		} else {
			b.low[i], b.high[i] = values[0], values[len(values)-1]
			b.mean[i] = quantile(values, 0.5)
		}
		if shows == ofQuantiles {
			b.low[i], b.lower[i] = quantile(values, 0.05), quantile(values, 0.25)
			b.upper[i], b.high[i] = quantile(values, 0.75), quantile(values, 0.95)
		}
	}
	return b
}

// contain extends the band at place i by the points of the curves up to the next place, which
// places left out: a band of one of two alternating values would show no spread.
func (b *band) contain(i int, curves []curve, floor float64) {
	for _, c := range curves {
		for k := sort.SearchFloat64s(c.x, b.x[i]); k < len(c.x) && c.x[k] < b.x[i+1]; k++ {
			y := math.Max(c.y[k], floor)
			b.low[i], b.high[i] = min(b.low[i], y), max(b.high[i], y)
		}
	}
}

// quantile returns a quantile of sorted values, with linear interpolation.
func quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	j := min(i+1, len(sorted)-1)
	return sorted[i] + (at-float64(i))*(sorted[j]-sorted[i])
}

// places returns the positions of all points between first and last, and these two. If
// there are too many, it divides the axis into maxPlaces equal parts and returns the last
// position in each.
func places(curves []curve, first, last float64) []float64 {
	xs := []float64{first, last}
	for _, c := range curves {
		for _, x := range c.x {
			if x > first && x < last {
				xs = append(xs, x)
			}
		}
	}
	slices.Sort(xs)
	xs = slices.Compact(xs)
	if len(xs) <= maxPlaces {
		return xs
	}
	part := func(x float64) int { return int((x - first) / (last - first) * (maxPlaces - 1)) }
	thin := xs[:1] // first, in addition to the last position of its part
	for i := 1; i < len(xs); i++ {
		if i == len(xs)-1 || part(xs[i]) != part(xs[i+1]) {
			thin = append(thin, xs[i])
		}
	}
	return thin
}

// at returns the value at x, which must not precede the first point: with steps that of
// the last point up to x, otherwise the linear interpolation in axis space. After the
// last point, it returns the last value.
func (c *curve) at(x, floor float64, steps bool) float64 {
	i := sort.SearchFloat64s(c.x, x)
	if i < len(c.x) && c.x[i] == x {
		return math.Max(c.y[i], floor)
	}
	before := math.Max(c.y[i-1], floor)
	if steps || i == len(c.x) {
		return before
	}
	return before + (math.Max(c.y[i], floor)-before)*((x-c.x[i-1])/(c.x[i]-c.x[i-1]))
}
