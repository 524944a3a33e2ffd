package results

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Metric is a measure of the model after a round, by which runs are compared, stopped and
// drawn. Its value in a round is the column of rounds.csv with its name.
type Metric struct {
	Name   string // as in scenarios and in rounds.csv: "test_error"
	Label  string // in tables and on axes: "test error"
	Unit   string // of the values of a NamedMetric; empty: none
	Real   string // Label for runs on real targets (Run.Real); empty: Label
	Share  bool   // a share in [0, 1], shown in per cent; not for runs on real targets
	Higher bool   // the larger value is the better one
	Signed bool   // values may be zero or negative
	// Couples means that the value depends on the coupling: values before and after an
	// Omega update are those of two different functions.
	Couples bool
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

var metrics = []Metric{
	{Name: Suboptimality, Label: "primal sub-optimality", Couples: true},
	{Name: "primal", Label: "primal objective", Signed: true, Couples: true},
	{Name: "gap", Label: "duality gap", Couples: true},
	{Name: "train_error", Label: "training error", Real: "root mean square error in training", Share: true},
	{Name: "test_error", Label: "test error", Real: "root mean square test error", Share: true},
}

// Metrics returns the metrics of rounds.csv, in the order in which targets are reported.
func Metrics() []Metric { return slices.Clone(metrics) }

// MetricNames returns the names of Metrics.
func MetricNames() []string {
	names := make([]string, len(metrics))
	for i := range metrics {
		names[i] = metrics[i].Name
	}
	return names
}

// MetricNamed returns the metric of rounds.csv with a name. For another name, ok is false
// and the metric is a statistic over clients, or a NamedMetric of which nothing else is
// known; see MetricOf.
func MetricNamed(name string) (m Metric, ok bool) {
	i := slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		if of, s := cutStatistic(name); s != nil {
			m, column := MetricNamed(of)
			if split, name, _, ok := ClientMetricNamed(of); ok && !column {
				own := ClientMetricOf(split, name)
				m = own.Metric()
			}
			return s.metric(m), false
		}
		return Metric{Name: name, Label: strings.ReplaceAll(name, "_", " "), Signed: true}, false
	}
	return metrics[i], true
}

// Metric returns the metric of a name: one of rounds.csv, one that the run declares, or a
// statistic over clients of a declared one. For another name, ok is false and the metric is NaN in every round of the run.
func (r *Run) Metric(name string) (m Metric, ok bool) {
	if m, ok = MetricNamed(name); ok {
		return m, true
	}
	for i := range r.Metrics {
		if r.Metrics[i].FullName() == name {
			return r.Metrics[i].Metric(), true
		}
	}
	of, s := cutStatistic(name)
	for i := range r.Metrics {
		if s != nil && r.Metrics[i].FullName() == of {
			m, _ := r.Metric(of)
			return s.metric(m), true
		}
	}
	return m, false
}

// MetricOf returns the metric of a name, as the first of the runs that has it does.
func MetricOf(runs []Run, name string) (m Metric, ok bool) {
	for i := range runs {
		if m, ok = runs[i].Metric(name); ok {
			return m, true
		}
	}
	return MetricNamed(name)
}

// Of returns the value after a round, NaN where the round was not evaluated or the method
// does not have the metric.
func (m *Metric) Of(r *Round) float64 {
	switch m.Name {
	case Suboptimality:
		return r.Suboptimality
	case "primal":
		return r.Primal
	case "gap":
		return r.Gap
	case "train_error":
		return r.TrainError
	case "test_error":
		return r.TestError
	default:
		for i := range r.Metrics {
			if r.Metrics[i].is(m.Name) {
				return r.Metrics[i].Value
			}
		}
		return math.NaN()
	}
}

// Known reports whether any round of the run has a value.
func (m *Metric) Known(r *Run) bool {
	return slices.ContainsFunc(r.Rounds, func(x Round) bool { return !math.IsNaN(m.Of(&x)) })
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
