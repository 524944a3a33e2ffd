package results

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Metric is a measure of the model after a round, by which runs are compared, stopped and
// drawn. Its value in a round is the column of rounds.parquet with its name.
type Metric struct {
	Name   string // as in scenarios and in rounds.parquet: "test_error"
	Label  string // in tables and on axes, with the mean that the value is: "test error by rows"
	Unit   string // of the values of a NamedMetric; empty: none
	Real   string // Label for runs on real targets (Run.Real); empty: Label
	Share  bool   // a share in [0, 1], shown in per cent; not for runs on real targets
	Higher bool   // the larger value is the better one
	Signed bool   // values may be zero or negative
	// Couples means that the value depends on the coupling: values before and after an
	// Omega update are those of two different functions.
	Couples bool
	// Complement is the name of an error: a round without the value has 1 minus that error; empty:
	// none.
	Complement string
	// Statistic is the name of a statistic over the clients of another metric; empty: it is none.
	Statistic string
}

// The declared metrics of runs with [privacy]: the epsilon spent so far, and how many rounds
// were lost since the sum of their updates could not be unmasked.
const (
	Epsilon    = "epsilon"
	LostRounds = "lost_rounds"
)

// Suboptimality is the name of the default metric of targets.
const Suboptimality = "suboptimality"

// DefaultMetric is the name of the default of Run.MainMetric.
const DefaultMetric = "test_error"

// How labels and names say which mean of the clients' errors, accuracies and losses a value is: every row
// counts the same, or every client.
const (
	byRows        = " by rows"
	overClients   = "mean over clients"
	clientsSuffix = "_clients"
)

var metrics = []Metric{
	{Name: Suboptimality, Label: "primal sub-optimality", Couples: true},
	{Name: "primal", Label: "primal objective", Signed: true, Couples: true},
	{Name: "gap", Label: "duality gap", Couples: true},
	{Name: "train_error", Label: "training error" + byRows, Real: "training RMSE" + byRows, Share: true},
	{Name: "test_error", Label: "test error" + byRows, Real: "test RMSE" + byRows, Share: true},
	{Name: "validation_error", Label: "validation error" + byRows, Real: "validation RMSE" + byRows, Share: true},
	{Name: "train_error_clients", Label: "training error, " + overClients, Real: "training RMSE, " + overClients,
		Share: true},
	{Name: "test_error_clients", Label: "test error, " + overClients, Real: "test RMSE, " + overClients, Share: true},
	{Name: "validation_error_clients", Label: "validation error, " + overClients,
		Real: "validation RMSE, " + overClients, Share: true},
}

// accuracies are the metrics that are 1 minus an error of rounds.parquet, for classes. A run may
// declare its own of the same name.
var accuracies = func() (list []Metric) {
	for _, split := range []string{"train", "test", "validation"} {
		label := split + " accuracy"
		list = append(list,
			Metric{Name: split + "_accuracy", Label: label + byRows, Share: true, Higher: true,
				Complement: split + "_error"},
			Metric{Name: split + "_accuracy_clients", Label: label + ", " + overClients, Share: true, Higher: true,
				Complement: split + "_error_clients"})
	}
	return list
}()

// Metrics returns the metrics of rounds.parquet, in the order in which targets are reported.
func Metrics() []Metric { return slices.Clone(metrics) }

// MetricNames returns the names of the metrics that need no declaration: those of rounds.parquet,
// and accuracies.
func MetricNames() []string {
	var names []string
	for _, m := range slices.Concat(metrics, accuracies) {
		names = append(names, m.Name)
	}
	return names
}

// Accuracies returns the accuracies that follow from errors of the runs, which declare none
// of that name.
func Accuracies(runs []Run) (list []Metric) {
	declared := NamedMetrics(runs)
	for _, m := range accuracies {
		there := false
		for i := range runs {
			own, ok := runs[i].Metric(m.Name)
			there = there || ok && own.Known(&runs[i])
		}
		if !slices.ContainsFunc(declared, func(x Metric) bool { return x.Name == m.Name }) && there {
			list = append(list, m)
		}
	}
	return list
}

// IsAccuracy reports whether a metric is 1 minus an error of rounds.parquet, unless a run
// declares it.
func IsAccuracy(name string) bool {
	_, is := named(accuracies, name)
	return is
}

// column returns the metric of rounds.parquet with a name.
func column(name string) (m Metric, ok bool) { return named(metrics, name) }

func named(list []Metric, name string) (m Metric, ok bool) {
	i := slices.IndexFunc(list, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return m, false
	}
	return list[i], true
}

// MetricNamed returns the metric of rounds.parquet or the accuracy with a name. For another name,
// ok is false and the metric is a statistic over clients, or a NamedMetric of which nothing
// else is known; see MetricOf.
func MetricNamed(name string) (m Metric, ok bool) {
	if m, ok = column(name); ok {
		return m, true
	}
	if m, ok = named(accuracies, name); ok {
		return m, true
	}
	if of, s := cutStatistic(name); s != nil {
		m, known := MetricNamed(of)
		if split, name, _, ok := ClientMetricNamed(of); ok && !known {
			own := ClientMetricOf(split, name)
			m = own.Metric()
		}
		return s.metric(m), false
	}
	return Metric{Name: name, Label: strings.ReplaceAll(name, "_", " "), Signed: true}, false
}

// Metric returns the metric of a name: one of rounds.parquet, one that the run declares, an
// accuracy of a run on classes, or a statistic over clients of a declared one. For another
// name, ok is false and the metric is NaN in every round of the run.
func (r *Run) Metric(name string) (m Metric, ok bool) {
	if m, ok = column(name); ok {
		return m, true
	}
	derived, ok := named(accuracies, name)
	ok = ok && !r.Real
	for i := range r.Metrics {
		if r.Metrics[i].FullName() == name {
			m = r.Metrics[i].Metric()
			if ok && m.Share {
				m.Complement = derived.Complement
			}
			return m, true
		}
	}
	of, s := cutStatistic(name)
	for i := range r.Metrics {
		if s != nil && r.Metrics[i].FullName() == of {
			m, _ := r.Metric(of)
			m = s.metric(m)
			if ok && m.Share {
				m.Complement = derived.Complement
			}
			return m, true
		}
	}
	if ok {
		return derived, true
	}
	m, _ = MetricNamed(name)
	m.Complement = ""
	return m, false
}

// MetricOf returns the metric of a name, as the first of the runs that declares it does, or
// else the first that has it.
func MetricOf(runs []Run, name string) (m Metric, ok bool) {
	for i := range runs {
		x, has := runs[i].Metric(name)
		if has && isNamed(runs[i].Metrics, name) {
			return x, true
		}
		if has && !ok {
			m, ok = x, true
		}
	}
	if !ok {
		return MetricNamed(name)
	}
	return m, true
}

// isNamed reports whether a metric is declared.
func isNamed(declared []NamedMetric, name string) bool {
	return slices.ContainsFunc(declared, func(m NamedMetric) bool { return m.FullName() == name })
}

// Of returns the value after a round, NaN where the round was not evaluated or the method
// does not have the metric.
func (m *Metric) Of(r *Round) float64 {
	if c := metricColumns[m.Name]; c != nil {
		return c.Get(r).Real()
	}
	for i := range r.Metrics {
		if r.Metrics[i].is(m.Name) {
			return r.Metrics[i].Value
		}
	}
	if c := metricColumns[m.Complement]; c != nil {
		return 1 - c.Get(r).Real()
	}
	return math.NaN()
}

// metricColumns are the columns of metrics, by name.
var metricColumns = func() map[string]*Column[Round] {
	found := map[string]*Column[Round]{}
	for i := range RoundColumns {
		if _, is := column(RoundColumns[i].Name); is {
			found[RoundColumns[i].Name] = &RoundColumns[i]
		}
	}
	return found
}()

// Known reports whether any round of the run has a value.
func (m *Metric) Known(r *Run) bool {
	for i := range r.Rounds {
		if !math.IsNaN(m.Of(&r.Rounds[i])) {
			return true
		}
	}
	return false
}

// Reached reports whether a value is as good as a target. NaN is not.
func (m *Metric) Reached(value, target float64) bool {
	if m.Higher {
		return value >= target
	}
	return value <= target
}

// Better reports whether a value is better than another. Any number is better than
// NaN.
func (m *Metric) Better(value, than float64) bool {
	if math.IsNaN(value) || math.IsNaN(than) {
		return !math.IsNaN(value)
	}
	if m.Higher {
		return value > than
	}
	return value < than
}

// Main returns the metric that tables and figures of the runs show first.
func Main(runs []Run) Metric {
	name := DefaultMetric
	if len(runs) > 0 && runs[0].MainMetric != "" {
		name = runs[0].MainMetric
	}
	m, _ := MetricOf(runs, name)
	return m
}

// Parts returns the label without the mean over clients that the value is, and that mean: "test error" and
// "by rows", or "test error" and "mean over clients". mean is empty for a metric that is none.
func (m *Metric) Parts(real bool) (what, mean string) {
	label := m.LabelFor(real)
	for _, end := range []string{byRows, ", " + overClients} {
		if what, is := strings.CutSuffix(label, end); is {
			return what, strings.TrimLeft(end, ", ")
		}
	}
	return label, ""
}

// extreme names the best values.
func (m *Metric) extreme() string {
	if m.Higher {
		return "highest"
	}
	return "lowest"
}

// LabelFor returns the label. Argument real is Run.Real.
func (m *Metric) LabelFor(real bool) string {
	if real && m.Real != "" {
		return m.Real
	}
	return m.Label
}

// Text formats a target: 1e-03, 8 %, 0.25 or 12 ms.
func (m *Metric) Text(value float64, real bool) string {
	switch {
	case m.Name == Suboptimality:
		return strconv.FormatFloat(value, 'e', -1, 64)
	case m.Share && !real:
		return strconv.FormatFloat(100*value, 'g', 6, 64) + " %"
	default:
		return m.withUnit(strconv.FormatFloat(value, 'g', -1, 64))
	}
}

func (m *Metric) withUnit(number string) string {
	if m.Unit == "" {
		return number
	}
	return number + " " + m.Unit
}

// Format formats a value for tables, rounded: 2.9e-04, 8.12 % or 0.2541; NaN is "-".
func (m *Metric) Format(value float64, real bool) string {
	switch {
	case math.IsNaN(value):
		return none
	case m.Name == Suboptimality:
		return strconv.FormatFloat(value, 'e', 1, 64)
	case m.Share && !real:
		return strconv.FormatFloat(100*value, 'f', 2, 64) + " %"
	default:
		return m.withUnit(strconv.FormatFloat(value, 'g', 5, 64))
	}
}
