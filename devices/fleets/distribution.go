package fleets

import (
	"math"
	"slices"
)

// Distribution is the distribution of a quantity over the devices of each class.
type Distribution struct {
	Quantity string // with its unit
	Classes  []ECDF // by class
}

// ECDF is an empirical distribution function: the share Up[i] of the devices has at most
// X[i], up to X[i+1]. It begins at 0 and ends at 1. All ECDFs of a Distribution have the
// same range of X. Without devices both slices are empty.
type ECDF struct {
	X, Up []float64
}

// ecdfSteps limits the steps of an ECDF; a figure shows fewer.
const ecdfSteps = 500

// Distributions returns the distributions of the speed and both rates of n devices of a
// valid fleet. n must be at least 1.
func (f *Fleet) Distributions(n int, seed uint64) (all []Distribution) {
	quantities, class := f.measure(n, seed)
	for _, q := range quantities {
		values := make([][]float64, len(f.Classes))
		low, high := math.Inf(1), 0.0
		for device := range n {
			v := q.of(device)
			values[class[device]] = append(values[class[device]], v)
			low, high = min(low, v), max(high, v)
		}
		const beyond = 1.1 // makes the first and the last step visible
		d := Distribution{Quantity: q.quantity}
		for _, v := range values {
			d.Classes = append(d.Classes, newECDF(v, low/beyond, high*beyond))
		}
		all = append(all, d)
	}
	return all
}

// newECDF returns the distribution of values, which it sorts, from low to high.
func newECDF(values []float64, low, high float64) (e ECDF) {
	n := len(values)
	if n == 0 {
		return e
	}
	slices.Sort(values)
	e.X, e.Up = append(e.X, low), append(e.Up, 0)
	steps := min(n, ecdfSteps)
	for k := 1; k <= steps; k++ {
		up := k * n / steps // devices
		x := values[up-1]
		if last := len(e.X) - 1; e.X[last] == x {
			e.Up[last] = float64(up) / float64(n)
			continue
		}
		e.X, e.Up = append(e.X, x), append(e.Up, float64(up)/float64(n))
	}
	e.X, e.Up = append(e.X, high), append(e.Up, 1)
	return e
}
