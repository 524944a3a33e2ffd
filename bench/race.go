package main

import (
	"fmt"
	"slices"
)

// contestant is one who does the work. run does it once and returns the
// nanoseconds that a unit of it took.
type contestant struct {
	name string
	run  func() (float64, error)
}

// race lets the contestants do the work in turn, A B C A B C and so on, and
// returns for each what it took in each repetition. Whatever slows the machine
// for longer than a turn slows them all.
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

// spread is the median of a sample between its quartiles.
type spread struct{ low, median, high float64 }

func spreadOf(sample []float64) spread {
	sorted := slices.Sorted(slices.Values(sample))
	return spread{quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)}
}

// quantile interpolates between the values of a sorted sample, of which the first
// is the quantile 0 and the last the quantile 1.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 1 {
		return sorted[0]
	}
	at := p * float64(len(sorted)-1)
	k := min(int(at), len(sorted)-2)
	return sorted[k] + (at-float64(k))*(sorted[k+1]-sorted[k])
}

// ratios returns the spread of theirs over ours, repetition by repetition.
func ratios(theirs, ours []float64) spread {
	r := make([]float64, len(ours))
	for k := range r {
		r[k] = theirs[k] / ours[k]
	}
	return spreadOf(r)
}
