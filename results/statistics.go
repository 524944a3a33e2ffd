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

// statistics are the statistics in the order of tables. With x_k the value of client k of m:
//
//	clients   mean: sum x_k / m
//	sd        sqrt(sum (x_k - mean)^2 / m), of the population
//	worst10   mean of the ceil(0.1 m) worst values
//	p10, p90  quantiles at h = (m - 1) q, linear between order statistics (Hyndman and Fan's type 7)
//	jain      (sum x_k)^2 / (m sum x_k^2), Jain's fairness index: 1 when all are equal
var statistics = []statistic{
	{name: "clients", label: overClients, head: "mean", of: func(v clientValues) float64 { return mean(v.values) }},
	{name: "sd", label: "client sd", head: "sd", of: clientValues.sd, spread: true},
	{name: "worst10", label: "worst 10 % of clients", head: "worst 10 %", of: clientValues.worst},
	{name: "p10", label: "client p10", head: "p10",
		of: func(v clientValues) float64 { return quantile(v.sorted, 0.1) }},
	{name: "p90", label: "client p90", head: "p90",
		of: func(v clientValues) float64 { return quantile(v.sorted, 0.9) }},
	{name: "jain", label: "Jain's index", head: "Jain", of: clientValues.jain, own: true},
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}

// byRows returns the value of the rows of all clients: sum n_k x_k / sum n_k, with n_k the rows of client
// k. Of root mean squares it is that of all rows.
func (v clientValues) byRows(squares bool) float64 {
	sum, rows := 0.0, 0.0
	for i, x := range v.values {
		if v.rows[i] == UnknownCount {
			return math.NaN()
		}
		if squares {
			x = float64(x * x)
		}
		sum += float64(float64(v.rows[i]) * x)
		rows += float64(v.rows[i])
	}
	if squares {
		return math.Sqrt(sum / rows)
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
	of.Label = strings.TrimSuffix(of.Label, byRows) + ", " + s.label
	if of.Real != "" {
		of.Real = strings.TrimSuffix(of.Real, byRows) + ", " + s.label
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

// clientStatistics returns each metric with values by client, and behind it the statistics over them
// that have values in some round.
func clientStatistics(runs []Run) (groups [][]Metric) {
	seen := map[string]bool{}
	for i := range runs {
		r := &runs[i]
		there := r.namedValues()
		for _, of := range r.Metrics {
			var group []Metric
			for _, x := range WithStatistics([]NamedMetric{of}) {
				own := x.Name == of.Name
				if m, _ := MetricOf(runs, x.FullName()); own ||
					there[NamedValue{Split: x.Split, Name: x.Name}] && !isDeclared(r.Metrics, x.Split, x.Name) {
					group = append(group, m)
				}
			}
			if len(group) > 1 && !seen[of.FullName()] {
				groups, seen[of.FullName()] = append(groups, group), true
			}
		}
	}
	return groups
}

// ClientStatistics returns the metrics with values by client, each by rows and then the statistics over
// clients.
func ClientStatistics(runs []Run) []Metric { return slices.Concat(clientStatistics(runs)...) }

// MainStatistics returns that of one metric: the first with values by client on test rows, or else the
// first. label is that of the values.
func MainStatistics(runs []Run) (label string, list []Metric) {
	groups := clientStatistics(runs)
	if len(groups) == 0 {
		return "", nil
	}
	list =
		groups[max(0, slices.IndexFunc(groups, func(g []Metric) bool { return strings.HasPrefix(g[0].Name, "test_") }))]
	label, _ = list[0].Parts(slices.ContainsFunc(runs, func(r Run) bool { return r.Real }))
	return label, list
}

// Head returns the head of a column with a metric of MainStatistics.
func (m *Metric) Head() string {
	if _, s := cutStatistic(m.Name); s != nil {
		return s.head
	}
	return strings.TrimSpace(byRows)
}

// Renamed returns the present name of a statistic over clients that had another: a metric without a suffix is
// the mean by rows, and one over clients has the suffix _clients. ok is false for other names. The metric may be
// a declared one.
func Renamed(name string, declared ...NamedMetric) (present string, ok bool) {
	of, ok := strings.CutSuffix(name, "_weighted")
	if present = of; !ok {
		of, ok = strings.CutSuffix(name, "_mean")
		present = of + "_clients"
	}
	_, _, statistic, client := ClientMetricNamed(of)
	return present, ok && (client && !statistic || isNamed(declared, of))
}

// setStatistics adds the values by rows, where the round has none of its own, and the statistics of the
// values by client to Metrics, in the order of WithStatistics. Values that are not known are left out.
func (r *Round) setStatistics(declared []NamedMetric, real bool) {
	own := r.Metrics
	r.Metrics = nil
	taken := fullNames(declared)
	for i := range declared {
		m := &declared[i]
		known := slices.IndexFunc(own, func(v NamedValue) bool { return v.Split == m.Split && v.Name == m.Name })
		if known >= 0 {
			r.Metrics = append(r.Metrics, own[known])
		}
		for k := range r.ClientMetrics {
			if c := &r.ClientMetrics[k]; c.Split == m.Split && c.Name == m.Name {
				all := c.statistics(declared, m, taken, real && m.Name == ClientError)
				if known >= 0 && len(all) > 0 && all[0].Name == m.Name {
					all = all[1:]
				}
				r.Metrics = append(r.Metrics, all...)
			}
		}
	}
	r.setColumns(declared)
}

// statistics returns the value by rows of a declared metric, and the statistics of its values whose names are
// not taken. One that is not finite is not known: values near the largest numbers have sums beyond
// them, which no report can show.
func (c *ClientMetric) statistics(declared []NamedMetric, of *NamedMetric, taken map[string]bool,
	squares bool) []NamedValue {
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
	add := func(name string, x float64) {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			all = append(all, NamedValue{Split: of.Split, Name: name, Value: x})
		}
	}
	add(of.Name, v.byRows(squares))
	for i := range statistics {
		s := &statistics[i]
		if name := of.Name + "_" + s.name; !taken[fullName(of.Split, name)] {
			add(name, s.of(v))
		}
	}
	return all
}
