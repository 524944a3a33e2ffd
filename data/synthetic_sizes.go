package data

import (
	"math"

	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/rng"
)

// attainableDeviation returns the smallest and the largest sample standard deviation of
// m sizes from low to high in taskSizes: all but two in the middle, and all at the ends
// (an odd one in the middle).
func attainableDeviation(m, low, high int) (smallest, largest float64) {
	if m < 2 {
		return 0, 0
	}
	spread := float64(high - low)
	smallest = spread / math.Sqrt(2*float64(m-1))
	largest = spread / 2 * math.Sqrt(float64(m-m%2)/float64(m-1))
	return smallest, max(smallest, largest)
}

// taskSizes returns m sizes from low to high with the given sample standard deviation,
// up to rounding. They are quantiles of a truncated normal distribution around the
// middle, whose width is chosen to match the deviation. A single task has high rows. The
// stream assigns sizes to tasks.
func taskSizes(m, low, high int, deviation float64, stream *rng.Stream) []int {
	if m == 1 {
		return []int{high}
	}
	middle, half := float64(float64(low+high)/2), float64(float64(high-low)/2)
	offsets, quantiles := make([]float64, m), make([]float64, m)
	for i := range quantiles {
		quantiles[i] = math.Sqrt2 * elementary.Erfinv((2*float64(i)+1)/float64(m)-1)
	}
	fill := func(width float64) float64 {
		sum := 0.0
		for i, z := range quantiles {
			offsets[i] = min(max(float64(width*z), -half), half)
			if i == 0 {
				offsets[i] = -half
			}
			if i == m-1 {
				offsets[i] = half
			}
			sum += float64(offsets[i] * offsets[i])
		}
		return math.Sqrt(sum / float64(m-1)) // the offsets are symmetric, so their mean is 0
	}
	narrow, wide := 0.0, half*float64(m)*float64(m)
	for range 100 { // bisection far below rounding: the deviation increases with the width
		width := (narrow + wide) / 2
		if fill(width) < deviation {
			narrow = width
		} else {
			wide = width
		}
	}
	fill(wide)
	order := numbersTo(m)
	stream.Shuffle(order)
	sizes := make([]int, m)
	for i, t := range order {
		sizes[t] = int(math.Round(middle + offsets[i]))
	}
	return sizes
}
