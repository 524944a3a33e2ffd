package report

import (
	"math"
	"slices"

	"fedsim/internal/rooms/fairness"
	"fedsim/plots"
	"fedsim/results"
)

func init() { ofRooms = append(ofRooms, addLeft) }

// addLeft sets Left from the values by client of the runs.
func addLeft(e *experimentPage, runs []results.Run, places []plots.Place) {
	for _, metric := range results.ClientMetrics(runs) {
		if r := fairness.Of(runs, metric); len(r.Methods) > 0 {
			e.Left = append(e.Left, leftBehind{r.Metric, r.Label, r.Share, r.Unit,
				distributionsOf(runs, places, metric), r.Sections()})
		}
	}
}

// mostSteps is the maximum number of points of a distribution.
const mostSteps = 600

// distributionsOf returns the distributions of a metric, with the clients of all seeds
// together.
func distributionsOf(runs []results.Run, places []plots.Place, metric string) []distribution {
	var list []distribution
	low, high := math.Inf(1), math.Inf(-1)
	for at := range runs {
		if slices.Contains(places[:at], places[at]) {
			continue
		}
		var values []float64
		for k := at; k < len(runs); k++ {
			if places[k] != places[at] {
				continue
			}
			for _, row := range runs[k].ByClientOf(metric) {
				if !math.IsInf(row.Value, 0) {
					values = append(values, row.Value)
				}
			}
		}
		x, share := results.EmpiricalDistribution(values)
		if len(x) == 0 {
			continue
		}
		low, high = math.Min(low, x[0]), math.Max(high, x[len(x)-1])
		list = append(list, thinned(distribution{places[at].Panel, places[at].Line, x, share}))
	}
	margin := float64(0.03 * (high - low))
	if low > 0 && low < high/2 {
		low = 0
	} else if low != 0 {
		low -= margin
	}
	for i := range list {
		d := &list[i]
		if low < d.X[0] {
			d.X, d.Share = append([]float64{low}, d.X...), append([]float64{0}, d.Share...)
		}
		if end := high + margin; end > d.X[len(d.X)-1] {
			d.X, d.Share = append(d.X, end), append(d.Share, 1)
		}
	}
	return list
}

// thinned returns a distribution with at most mostSteps points, the last one among them.
func thinned(d distribution) distribution {
	n := len(d.X)
	if n <= mostSteps {
		return d
	}
	few := distribution{Panel: d.Panel, Line: d.Line}
	for k := range mostSteps {
		i := (k+1)*n/mostSteps - 1
		few.X, few.Share = append(few.X, d.X[i]), append(few.Share, d.Share[i])
	}
	return few
}
