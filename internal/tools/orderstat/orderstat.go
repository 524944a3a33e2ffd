// Package orderstat finds order statistics without sorting all values.
package orderstat

import "math"

// Nth returns the value of rank k, from 0, which stands at k if the values are sorted; NaN comes first. It reorders
// values such that none before k is larger, and none after it smaller. It takes linear time on average (Hoare's
// quickselect, CACM 4, 1961).
func Nth(values []float64, k int) float64 {
	low := 0
	for i, x := range values {
		if math.IsNaN(x) {
			values[i], values[low] = values[low], x
			low++
		}
	}
	high := len(values) - 1
	if k < low {
		return values[k]
	}
	for low < high {
		pivot := middleOf(values[low], values[low+(high-low)/2], values[high])
		i, j := low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return values[k]
		}
	}
	return values[k]
}

func middleOf(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }

// Median returns the mean of the middle two of an even number of values, or the middle one, and NaN for none. It
// reorders values.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	upper := Nth(values, n/2)
	if n%2 == 1 {
		return (upper + upper) / 2
	}
	return (largest(values[:n/2]) + upper) / 2
}

// largest returns the largest of at least one value; NaN is smaller than all numbers.
func largest(values []float64) float64 {
	most := values[0]
	for _, x := range values[1:] {
		if x > most || math.IsNaN(most) {
			most = x
		}
	}
	return most
}

// Quantile returns a quantile of at least one value, interpolated linearly between order statistics. It reorders
// values.
func Quantile(values []float64, q float64) float64 {
	at := float64(q * float64(len(values)-1))
	i := int(at)
	if i+1 >= len(values) {
		return Nth(values, len(values)-1)
	}
	low := Nth(values, i)
	high := values[i+1]
	for _, x := range values[i+2:] {
		high = min(high, x)
	}
	return low + float64((at-float64(i))*(high-low))
}
