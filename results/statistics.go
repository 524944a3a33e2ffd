package results

import (
	"math"
	"slices"
	"strings"
)

// statistic is a statistic over clients of a metric by client. It is a metric of its own: its
// name is that of the metric and its own, as in test_error_worst10.
type statistic struct {
	name, label string
	// of returns the value; it may sort what it is given. values is never empty.
	of func(v clientValues) float64
	// own: it is neither in the unit of the metric nor a share, and the larger value is
	// better. sd: the smaller value is better.
	own, spread bool
}

// clientValues are the known values of a metric by client.
type clientValues struct {
	values []float64 // in the order of clients
	sorted []float64 // from the lowest
	rows   []int32   // of each of values
	higher bool      // the larger value is the better one
}

// statistics are the statistics in the order of tables. With x_k the value and n_k the rows
// of client k of m:
//
//	mean      sum x_k / m
//	weighted  sum n_k x_k / sum n_k
//	sd        sqrt(sum (x_k - mean)^2 / m), of the population
//	worst10   mean of the ceil(0.1 m) worst values
//	p10, p90  quantiles at h = (m - 1) q, linear between order statistics (Hyndman and Fan's type 7)
//	jain      (sum x_k)^2 / (m sum x_k^2), Jain's fairness index: 1 when all are equal
var statistics = []statistic{
	{name: "mean", label: "mean over clients", of: func(v clientValues) float64 { return mean(v.values) }},
	{name: "weighted", label: "row-weighted mean over clients", of: clientValues.weighted},
	{name: "sd", label: "standard deviation over clients", of: clientValues.sd, spread: true},
	{name: "worst10", label: "mean of the worst 10 % of clients", of: clientValues.worst},
	{name: "p10", label: "10th percentile of clients", of: func(v clientValues) float64 { return quantile(v.sorted, 0.1) }},
	{name: "p90", label: "90th percentile of clients", of: func(v clientValues) float64 { return quantile(v.sorted, 0.9) }},
	{name: "jain", label: "Jain's index over clients", of: clientValues.jain, own: true},
}

// StatisticNames returns the names of the statistics over clients.
func StatisticNames() []string {
	names := make([]string, len(statistics))
	for i := range statistics {
		names[i] = statistics[i].name
	}
	return names
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}

func (v clientValues) weighted() float64 {
	sum, rows := 0.0, 0.0
	for i, x := range v.values {
		sum += float64(float64(v.rows[i]) * x)
		rows += float64(v.rows[i])
	}
	return sum / rows
}

func (v clientValues) sd() float64 {
	mean, sum := mean(v.values), 0.0
	for _, x := range v.values {
		sum += float64((x - mean) * (x - mean))
	}
	return math.Sqrt(sum / float64(len(v.values)))
}

func (v clientValues) worst() float64 {
	n := (len(v.sorted) + 9) / 10
	if v.higher {
		return mean(v.sorted[:n])
	}
	return mean(v.sorted[len(v.sorted)-n:])
}

func quantile(sorted []float64, q float64) float64 {
	h := float64(len(sorted)-1) * q
	low := int(h)
	if low == len(sorted)-1 {
		return sorted[low]
	}
	return sorted[low] + float64((h-float64(low))*(sorted[low+1]-sorted[low]))
}

func (v clientValues) jain() float64 {
	sum, squares := 0.0, 0.0
	for _, x := range v.values {
		sum += x
		squares += float64(x * x)
	}
	return float64(sum*sum) / float64(float64(len(v.values))*squares)
}

// metric returns the statistic of a metric.
func (s *statistic) metric(of Metric) Metric {
	of.Name += "_" + s.name
	of.Label += ", " + s.label
	if of.Real != "" {
		of.Real += ", " + s.label
	}
	of.Signed = true
	of.Higher = of.Higher && !s.spread || s.own
	if s.own {
		of.Share, of.Unit = false, ""
	}
	return of
}

// CutStatistic splits the name of a statistic over clients into those of its metric and of
// itself: test_error_worst10 into test_error and worst10.
func CutStatistic(name string) (metric, statistic string, ok bool) {
	base, s := cutStatistic(name)
	if s == nil {
		return name, "", false
	}
	return base, s.name, true
}

func cutStatistic(name string) (string, *statistic) {
	for i := range statistics {
		if base, ok := strings.CutSuffix(name, "_"+statistics[i].name); ok && base != "" {
			return base, &statistics[i]
		}
	}
	return name, nil
}

// WithStatistics returns declared metrics, each with the statistics over its clients behind
// it. A statistic whose name another metric has is left out.
func WithStatistics(declared []NamedMetric) []NamedMetric {
	all := make([]NamedMetric, 0, len(declared)*(1+len(statistics)))
	for _, m := range declared {
		all = append(all, m)
		for i := range statistics {
			m := NamedMetric{Split: m.Split, Name: m.Name + "_" + statistics[i].name}
			name := m.FullName()
			if !slices.ContainsFunc(declared, func(x NamedMetric) bool { return x.FullName() == name }) {
				all = append(all, m)
			}
		}
	}
	return all
}

// HasStatistics reports whether any of the values is a statistic over clients of a declared
// metric, not declared itself.
func HasStatistics(declared []NamedMetric, values []NamedValue) bool {
	return slices.ContainsFunc(values, func(v NamedValue) bool { return !isDeclared(declared, v.Split, v.Name) })
}

// ClientStatistics returns the statistics over clients that have a value in some round of the
// runs, in the order of the runs and of WithStatistics.
func ClientStatistics(runs []Run) []Metric {
	var list []Metric
	for i := range runs {
		declared := runs[i].Metrics
		for _, x := range WithStatistics(declared) {
			name := x.FullName()
			if _, s := cutStatistic(name); s == nil || isDeclared(declared, x.Split, x.Name) ||
				slices.ContainsFunc(list, func(m Metric) bool { return m.Name == name }) {
				continue
			}
			if m, _ := runs[i].Metric(name); m.Known(&runs[i]) {
				list = append(list, m)
			}
		}
	}
	return list
}

// setStatistics adds the statistics of the values by client to Metrics, in the order of
// WithStatistics. Values that are not known are left out.
func (r *Round) setStatistics(declared []NamedMetric) {
	own := r.Metrics
	r.Metrics = nil
	for i := range declared {
		m := &declared[i]
		for k := range own {
			if own[k].Split == m.Split && own[k].Name == m.Name {
				r.Metrics = append(r.Metrics, own[k])
			}
		}
		for k := range r.ClientMetrics {
			if c := &r.ClientMetrics[k]; c.Split == m.Split && c.Name == m.Name {
				r.Metrics = append(r.Metrics, c.statistics(declared, m)...)
			}
		}
	}
}

// statistics returns the statistics of the values of a declared metric.
func (c *ClientMetric) statistics(declared []NamedMetric, of *NamedMetric) []NamedValue {
	metric, _ := (&Run{Metrics: declared}).Metric(of.FullName())
	v := clientValues{higher: metric.Higher}
	for i, x := range c.Values {
		if !math.IsNaN(x) {
			v.values, v.rows = append(v.values, x), append(v.rows, c.Rows[i])
		}
	}
	if len(v.values) == 0 {
		return nil
	}
	v.sorted = slices.Sorted(slices.Values(v.values))
	var all []NamedValue
	for i := range statistics {
		s := &statistics[i]
		name := NamedMetric{Split: of.Split, Name: of.Name + "_" + s.name}
		taken := slices.ContainsFunc(declared, func(x NamedMetric) bool { return x.FullName() == name.FullName() })
		if x := s.of(v); !taken && !math.IsNaN(x) {
			all = append(all, NamedValue{Split: name.Split, Name: name.Name, Value: x})
		}
	}
	return all
}
