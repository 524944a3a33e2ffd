package main

import (
	"fmt"
	"slices"
)

// contestant is a program in the comparison. run does the work once and returns the
// nanoseconds per unit of work.
type contestant struct {
	name string
	run  func() (float64, error)
}

// race runs the contestants in turn, A B C A B C and so on, and returns the times of each
// by repetition. A disturbance that is longer than a turn slows all of them.
func race(repetitions int, contestants []contestant) ([][]float64, error) {
	took := make([][]float64, len(contestants))
	for range repetitions {
		for k, c := range contestants {
			ns, err := c.run()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			took[k] = append(took[k], ns)
		}
	}
	return took, nil
}

// spread is the median and the quartiles of a sample.
type spread struct{ low, median, high float64 }

func spreadOf(sample []float64) spread {
	sorted := slices.Sorted(slices.Values(sample))
	return spread{quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)}
}

// quantile returns a quantile of a sorted sample, with linear interpolation. The first
// value is quantile 0, the last is quantile 1.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 1 {
		return sorted[0]
	}
	at := p * float64(len(sorted)-1)
	k := min(int(at), len(sorted)-2)
	return sorted[k] + (at-float64(k))*(sorted[k+1]-sorted[k])
}

// ratios returns the spread of theirs / ours over the repetitions.
func ratios(theirs, ours []float64) spread {
	r := make([]float64, len(ours))
	for k := range r {
		r[k] = theirs[k] / ours[k]
	}
	return spreadOf(r)
}
