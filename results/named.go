package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// NamedMetric is a metric that a learner declares before its first round.
type NamedMetric struct {
	Split  string `json:"split"`  // the rows that it is measured on: "train", "validation", "test", or empty
	Name   string `json:"name"`   // "accuracy"
	Better string `json:"better"` // "higher", "lower", or empty: higher for an accuracy, lower for others
	Unit   string `json:"unit"`   // of its values; empty: none
}

// NamedValue is a value of a declared metric.
type NamedValue struct {
	Split, Name string
	Value       float64
}

// ClientMetric is the values of a declared metric by client, at the end of a round.
type ClientMetric struct {
	Split, Name string
	Clients     []int32   // numbers of clients, from 0
	Values      []float64 // of each of them
	Rows        []int32   // of the split, of each of them, UnknownCount where it is not known; nil: their training rows
}

// Splits and Directions are what NamedMetric.Split and NamedMetric.Better may be.
var (
	Splits     = []string{"", "train", "validation", "test"}
	Directions = []string{"", "higher", "lower"}
)

// FullName returns the name of a metric in scenarios and tables: "test_accuracy", or
// "accuracy" without a split.
func (m *NamedMetric) FullName() string { return fullName(m.Split, m.Name) }

// FullName returns the name of the metric of the value.
func (v *NamedValue) FullName() string { return fullName(v.Split, v.Name) }

// is reports whether name is the full name.
func (v *NamedValue) is(name string) bool {
	n := len(v.Split)
	if n == 0 {
		return name == v.Name
	}
	return len(name) > n && name[:n] == v.Split && name[n] == '_' && name[n+1:] == v.Name
}

func fullName(split, name string) string {
	if split == "" {
		return name
	}
	return split + "_" + name
}

// Metric returns the metric. An accuracy without a unit is a share, as the errors of
// rounds.parquet are.
func (m *NamedMetric) Metric() Metric {
	name := m.FullName()
	label := m.Name
	if label == ClientAUC {
		label = "AUC"
	}
	label = strings.ReplaceAll(fullName(m.Split, label), "_", " ")
	if m.Split != "" && slices.Contains(ClientMetricNames, m.Name) {
		label += byRows
	}
	return Metric{
		Name: name, Label: label, Unit: m.Unit,
		Share: m.Name == accuracy && m.Unit == "", Higher: m.Better == "higher" || m.Better == "" && m.Name == accuracy,
		Signed: true,
	}
}

// accuracy is the name of the metric that is 1 minus an error.
const accuracy = "accuracy"

// NamedMetrics returns the metrics that the runs declare, and the statistics over clients
// that have values in some round, in the order of their first appearance and of
// WithStatistics. Metrics of rounds.parquet are not among them, nor those that have values by
// client only.
func NamedMetrics(runs []Run) []Metric {
	var list []Metric
	for i := range runs {
		r := &runs[i]
		if len(r.Metrics) == 0 {
			continue
		}
		there := r.namedValues()
		for _, x := range WithStatistics(r.Metrics) {
			name := x.FullName()
			m, _ := MetricOf(runs, name)
			_, column := column(name)
			declared := isDeclared(r.Metrics, x.Split, x.Name)
			shown := there[NamedValue{Split: x.Split, Name: x.Name}] ||
				declared && !slices.ContainsFunc(statistics, func(s statistic) bool {
					return there[NamedValue{Split: x.Split, Name: x.Name + "_" + s.name}]
				})
			if shown && !column && !slices.ContainsFunc(list, func(other Metric) bool { return other.Name == name }) {
				list = append(list, m)
			}
		}
	}
	return list
}

// namedValues returns split and name of the named values of the rounds.
func (r *Run) namedValues() map[NamedValue]bool {
	there := map[NamedValue]bool{}
	for i := range r.Rounds {
		for _, v := range r.Rounds[i].Metrics {
			there[NamedValue{Split: v.Split, Name: v.Name}] = true
		}
	}
	return there
}

// MostNamed is the largest number of metrics that a run can declare.
const MostNamed = 1000

// CheckNamed reports the first declared metric that cannot be stored or told from others, and
// more than MostNamed.
func CheckNamed(declared []NamedMetric) error {
	if len(declared) > MostNamed {
		return fmt.Errorf("%d metrics are declared: must be at most %d: report values of many clients or classes as "+
			"a metric by client, or fewer of them", len(declared), MostNamed)
	}
	seen := make(map[string]bool, len(declared))
	for i := range declared {
		m := &declared[i]
		name := m.FullName()
		known, reserved := column(name)
		switch {
		case !slices.Contains(Splits, m.Split):
			return fmt.Errorf("metric %q: split = %q: must be one of %q", m.Name, m.Split, Splits)
		case !slices.Contains(Directions, m.Better):
			return fmt.Errorf("metric %q: better = %q: must be one of %q", name, m.Better, Directions)
		case !isMetricName(m.Name):
			return fmt.Errorf(
				"metric %q: its name must be 1 to 64 letters, digits, \"_\", \"-\" or \".\", the first a letter",
				m.Name)
		case len(m.Unit) > 16 ||
			strings.ContainsFunc(m.Unit, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }):
			return fmt.Errorf("metric %q: unit = %q: must be at most 16 bytes of text", name, m.Unit)
		case reserved && (m.Split == "" || m.Name != "error"), IsAccuracy(name) && m.Split == "",
			!reserved && isColumn(name):
			return fmt.Errorf("metric %q: must have another name: results have a column of that name", name)
		case reserved && m.Better == "higher" && !known.Higher:
			return fmt.Errorf("metric %q: better = %q: must be \"lower\"", name, m.Better)
		}
		if seen[name] {
			return fmt.Errorf("metric %q: must be declared once", name)
		}
		seen[name] = true
	}
	return nil
}

// CheckOwn reports a metric of a program with the name of a metric that fedsim computes: of privacy, or
// of a statistic over clients.
func CheckOwn(declared []NamedMetric) error {
	for i := range declared {
		name := declared[i].FullName()
		of, s := cutStatistic(name)
		if present, old := Renamed(name); old {
			return fmt.Errorf("metric %q: must have another name: it is %q, which follows from values by client", name,
				present)
		}
		_, column := MetricNamed(of)
		_, _, _, client := ClientMetricNamed(of)
		switch {
		case name == Epsilon, name == LostRounds:
			return fmt.Errorf("metric %q: must have another name: it is that of a metric of runs with privacy", name)
		case s != nil && (column || client || isNamed(declared, of)):
			return fmt.Errorf("metric %q: must have another name: it is that of a statistic over clients, of %q", name,
				of)
		}
	}
	return nil
}

// isColumn reports whether tables, figures or reports have a column of that name, other than an
// accuracy that runs may declare.
func isColumn(name string) bool {
	return slices.ContainsFunc(RoundColumns, func(c Column[Round]) bool { return c.Name == name }) ||
		slices.Contains(YNames, name) && !IsAccuracy(name) ||
		slices.Contains([]string{"run", "experiment", "method", "algorithm", "seed", "device", "cause", "idle",
			"excess_s"}, name) || strings.HasPrefix(name, "path_")
}

func isMetricName(name string) bool {
	for i, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || !('0' <= r && r <= '9') && r != '_' && r != '-' && r != '.') {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// SetNamed sets the named values of a round: those that are declared, in that order. NaN
// stands for an unknown value and is left out. It also sets the columns of rounds.parquet
// that these are and that are still NaN: Primal is (train, loss), and the errors are (train,
// error), (validation, error) and (test, error), or 1 minus the accuracy where there is no error; those over
// clients come from values by client. A
// unit of "%" is taken into account. The error names a value that was not declared, or
// was given twice.
func (r *Round) SetNamed(declared []NamedMetric, values []NamedValue) error {
	r.Metrics = nil
	type key struct{ split, name string }
	places := make(map[key]int, len(declared))
	for i := range declared {
		places[key{declared[i].Split, declared[i].Name}] = i
	}
	known := make([]*NamedValue, len(declared)) // by place
	for i := range values {
		v := &values[i]
		place, ok := places[key{v.Split, v.Name}]
		switch {
		case !ok:
			return undeclared(declared, v.Split, v.Name)
		case math.IsNaN(v.Value):
		case known[place] != nil:
			return fmt.Errorf("metric %q: must have one value a round", declared[place].FullName())
		default:
			known[place] = v
		}
	}
	for _, v := range known {
		if v != nil {
			r.Metrics = append(r.Metrics, *v)
		}
	}
	r.setColumns(declared)
	return nil
}

// setColumns fills the columns of the round from its named values.
func (r *Round) setColumns(declared []NamedMetric) {
	value := func(split, name, suffix string) float64 {
		for i := range r.Metrics {
			if v := &r.Metrics[i]; v.Split == split && v.Name == name+suffix {
				if at := slices.IndexFunc(declared,
					func(m NamedMetric) bool { return m.Split == split && m.Name == name }); declared[at].Unit == "%" {
					return v.Value / 100
				}
				return v.Value
			}
		}
		return math.NaN()
	}
	fill := func(column *float64, values ...float64) {
		for _, v := range values {
			if math.IsNaN(*column) {
				*column = v
			}
		}
	}
	fill(&r.Primal, value("train", "loss", ""))
	for _, of := range []struct {
		split               string
		byRows, overClients *float64
	}{{"train", &r.TrainError, &r.TrainErrorClients}, {"test", &r.TestError, &r.TestErrorClients},
		{"validation", &r.ValidationError, &r.ValidationErrorClients}} {
		fill(of.byRows, value(of.split, "error", ""), 1-value(of.split, accuracy, ""))
		fill(of.overClients, value(of.split, "error", "_clients"), 1-value(of.split, accuracy, "_clients"))
	}
}

// SetClients sets the values by client of a round, and the statistics over clients among its
// named values, which must be set before. training is the number of training rows of each
// client. Of real targets, the error of a client is a root mean square error. The error names a metric that was not
// declared or was given twice, or a client that is not one of them, or not in increasing order.
func (r *Round) SetClients(declared []NamedMetric, training []int32, real bool, values []ClientMetric) error {
	for i := range values {
		v := &values[i]
		name := fullName(v.Split, v.Name)
		if !isDeclared(declared, v.Split, v.Name) {
			return undeclared(declared, v.Split, v.Name)
		}
		if len(v.Clients) != len(v.Values) || v.Rows != nil && len(v.Rows) != len(v.Values) {
			return fmt.Errorf("metric %q by client: has %d values for %d clients", name, len(v.Values), len(v.Clients))
		}
		last := int32(-1)
		for _, k := range v.Clients {
			if k <= last || int(k) >= len(training) {
				return fmt.Errorf(
					"metric %q by client: client %d: must be the number of a client, 0 to %d, in increasing order",
					name, k, len(training)-1)
			}
			last = k
		}
		for k := range values[:i] {
			if values[k].Split == v.Split && values[k].Name == v.Name {
				return fmt.Errorf("metric %q by client: must be there once a round", name)
			}
		}
	}
	if r.ClientMetrics = values; len(values) == 0 {
		return nil
	}
	for i := range values {
		if v := &values[i]; v.Rows == nil {
			v.Rows = make([]int32, len(v.Clients))
			for k, client := range v.Clients {
				v.Rows[k] = training[client]
			}
		}
	}
	r.setStatistics(declared, real)
	return nil
}

func isDeclared(declared []NamedMetric, split, name string) bool {
	return slices.ContainsFunc(declared, func(m NamedMetric) bool { return m.Split == split && m.Name == name })
}

func undeclared(declared []NamedMetric, split, name string) error {
	return fmt.Errorf("metric %q was not declared: the learner has %s", fullName(split, name), listNamed(declared))
}

// listNamed lists the full names of declared metrics.
func listNamed(declared []NamedMetric) string {
	if len(declared) == 0 {
		return "none"
	}
	names := make([]string, len(declared))
	for i := range declared {
		names[i] = declared[i].FullName()
	}
	return strings.Join(names, ", ")
}
