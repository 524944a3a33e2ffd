package results

import (
	"math"
	"slices"
)

// ClientMetrics returns the names of the metrics in ByClient of the runs, in the order of
// their first appearance.
func ClientMetrics(runs []Run) []string {
	var names []string
	for i := range runs {
		split, name := "", ""
		for k := range runs[i].ByClient {
			x := &runs[i].ByClient[k]
			if k > 0 && x.Split == split && x.Name == name {
				continue
			}
			split, name = x.Split, x.Name
			if full := fullName(split, name); !slices.Contains(names, full) {
				names = append(names, full)
			}
		}
	}
	return names
}

// ByClientOf returns the rows of ByClient with a metric.
func (r *Run) ByClientOf(metric string) []ClientRow {
	var rows []ClientRow
	for i := range r.ByClient {
		if x := &r.ByClient[i]; fullName(x.Split, x.Name) == metric {
			rows = append(rows, *x)
		}
	}
	return rows
}

// EmpiricalDistribution returns the distinct values in increasing order, and the share of
// the values at or below each. NaN is left out.
func EmpiricalDistribution(values []float64) (x, share []float64) {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(sorted)
	for i, v := range sorted {
		if i+1 == len(sorted) || sorted[i+1] != v {
			x, share = append(x, v), append(share, float64(i+1)/float64(len(sorted)))
		}
	}
	return x, share
}

// WorstTenth returns the mean of the worst 10 % of values: the ceil(n/10) largest, or the
// smallest if higher values are better. Values must be known.
func WorstTenth(values []float64, higher bool) float64 {
	return clientValues{sorted: slices.Sorted(slices.Values(values)), higher: higher}.worst()
}
