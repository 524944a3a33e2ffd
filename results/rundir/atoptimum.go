package rundir

import (
	"math"

	"fedsim/results"
)

// atOptimum has the errors and metrics of the model at the reference optimum by name: those of
// columns of rounds.parquet, and statistics over clients.
type atOptimum map[string]float64

// newAtOptimum returns the known values; nil for none.
func newAtOptimum(r *results.Round) atOptimum {
	if r == nil {
		return nil
	}
	values := atOptimum{}
	set := func(name string, v float64) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			values[name] = v
		}
	}
	for _, m := range results.Metrics() {
		set(m.Name, m.Of(r))
	}
	for i := range r.Metrics {
		set(r.Metrics[i].FullName(), r.Metrics[i].Value)
	}
	return values
}

// round returns the values as a round, given the metrics that the run declares. Other names are
// ignored.
func (a atOptimum) round(declared []results.NamedMetric) *results.Round {
	if a == nil {
		return nil
	}
	r := results.NewRound()
	for i := range results.RoundColumns {
		c := &results.RoundColumns[i]
		if v, ok := a[c.Name]; ok && c.Kind == results.MetricColumn {
			c.Set(&r, results.Real(v))
		}
	}
	for _, m := range results.WithStatistics(declared) {
		if v, ok := a[m.FullName()]; ok {
			r.Metrics = append(r.Metrics, results.NamedValue{Split: m.Split, Name: m.Name, Value: v})
		}
	}
	return &r
}
