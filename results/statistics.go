package results

import (
	"math"
	"slices"
	"strings"
)

// statistic is a statistic over clients of a metric by client. It is a metric, too: its
// name is that of the metric and that of the statistic, as in test_error_worst10.
type statistic struct {
	name, label, head string // head is of a column of a table about one metric
	// of returns the value; it may sort its argument. values is never empty.
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
	{name: "mean", label: "client mean", head: "mean", of: func(v clientValues) float64 { return mean(v.values) }},
	{name: "weighted", label: "weighted client mean", head: "weighted", of: clientValues.weighted},
	{name: "sd", label: "client sd", head: "sd", of: clientValues.sd, spread: true},
	{name: "worst10", label: "worst 10 % of clients", head: "worst 10 %", of: clientValues.worst},
	{name: "p10", label: "client p10", head: "p10", of: func(v clientValues) float64 { return quantile(v.sorted, 0.1) }},
	{name: "p90", label: "client p90", head: "p90", of: func(v clientValues) float64 { return quantile(v.sorted, 0.9) }},
	{name: "jain", label: "Jain's index", head: "Jain", of: clientValues.jain, own: true},
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
		if v.rows[i] == UnknownCount {
			return math.NaN()
		}
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
	h := float64(float64(len(sorted)-1) * q)
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
	of.Statistic, of.Complement = s.name, ""
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

// cutStatistic returns the name of the metric of a statistic over clients, and the statistic:
// of test_error_worst10, test_error and worst10. It is nil for another name.
func cutStatistic(name string) (metric string, of *statistic) {
	for i := range statistics {
		if metric, ok := strings.CutSuffix(name, "_"+statistics[i].name); ok && metric != "" {
			return metric, &statistics[i]
		}
	}
	return name, nil
}

// ClientMetricNamed returns the split and the name of a metric by client that runs can
// compute, by the full name of the metric or of a statistic over its clients. For another
// name, ok is false.
func ClientMetricNamed(name string) (split, metric string, statistic, ok bool) {
	full, s := cutStatistic(name)
	split, metric, _ = strings.Cut(full, "_")
	return split, metric, s != nil, slices.Contains(Splits[1:], split) && slices.Contains(ClientMetricNames, metric)
}

// WithStatistics returns declared metrics, each with the statistics over its clients behind
// it. A statistic whose name another metric has is left out.
func WithStatistics(declared []NamedMetric) []NamedMetric {
	all := make([]NamedMetric, 0, len(declared)*(1+len(statistics)))
	taken := fullNames(declared)
	for _, m := range declared {
		all = append(all, m)
		for i := range statistics {
			m := NamedMetric{Split: m.Split, Name: m.Name + "_" + statistics[i].name}
			if !taken[m.FullName()] {
				all = append(all, m)
			}
		}
	}
	return all
}

// fullNames returns the full names of metrics.
func fullNames(metrics []NamedMetric) map[string]bool {
	names := make(map[string]bool, len(metrics))
	for i := range metrics {
		names[metrics[i].FullName()] = true
	}
	return names
}

// HasStatistics reports whether any of the values is a statistic over clients of a declared
// metric, not declared itself.
func HasStatistics(declared []NamedMetric, values []NamedValue) bool {
	return slices.ContainsFunc(values, func(v NamedValue) bool { return !isDeclared(declared, v.Split, v.Name) })
}

// ClientStatistics returns the statistics over clients among NamedMetrics.
func ClientStatistics(runs []Run) []Metric {
	return slices.DeleteFunc(NamedMetrics(runs), func(m Metric) bool { return m.Statistic == "" })
}

// MainStatistics returns the statistics over clients of one metric: the first with values by
// client on test rows, or else the first. label is that of the metric.
func MainStatistics(runs []Run) (label string, list []Metric) {
	all := ClientStatistics(runs)
	metric := func(m Metric) string { return strings.TrimSuffix(m.Name, "_"+m.Statistic) }
	first := slices.IndexFunc(all, func(m Metric) bool { return strings.HasPrefix(m.Name, "test_") })
	if len(all) == 0 {
		return "", nil
	}
	of := metric(all[max(0, first)])
	m, _ := MetricOf(runs, of)
	real := slices.ContainsFunc(runs, func(r Run) bool { return r.Real })
	return m.LabelFor(real), slices.DeleteFunc(all, func(m Metric) bool { return metric(m) != of })
}

// Head returns the head of a column with a statistic over clients, in a table about one
// metric.
func (m *Metric) Head() string {
	i := slices.IndexFunc(statistics, func(s statistic) bool { return s.name == m.Statistic })
	return statistics[i].head
}

// setStatistics adds the statistics of the values by client to Metrics, in the order of
// WithStatistics. Values that are not known are left out.
func (r *Round) setStatistics(declared []NamedMetric) {
	own := r.Metrics
	r.Metrics = nil
	taken := fullNames(declared)
	for i := range declared {
		m := &declared[i]
		for k := range own {
			if own[k].Split == m.Split && own[k].Name == m.Name {
				r.Metrics = append(r.Metrics, own[k])
			}
		}
		for k := range r.ClientMetrics {
			if c := &r.ClientMetrics[k]; c.Split == m.Split && c.Name == m.Name {
				r.Metrics = append(r.Metrics, c.statistics(declared, m, taken)...)
			}
		}
	}
}

// statistics returns the statistics of the values of a declared metric whose names are not
// taken. One that is not finite is not known: values near the largest numbers have sums beyond
// them, which no report can show.
func (c *ClientMetric) statistics(declared []NamedMetric, of *NamedMetric, taken map[string]bool) []NamedValue {
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
		if x := s.of(v); !taken[name.FullName()] && !math.IsNaN(x) && !math.IsInf(x, 0) {
			all = append(all, NamedValue{Split: name.Split, Name: name.Name, Value: x})
		}
	}
	return all
}
