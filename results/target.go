package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fedsim/config"
)

// Target is a value of a metric. In a scenario it is a table: { test_error = 0.07 }.
type Target struct {
	Metric string  `json:"metric"` // the name of the metric; empty: there is no target
	Value  float64 `json:"target"`
}

// ToSuboptimality returns a target of relative sub-optimality.
func ToSuboptimality(value float64) Target { return Target{Suboptimality, value} }

// IsSet reports whether there is a target.
func (t Target) IsSet() bool { return t.Metric != "" }

// Text formats metric and value for people: "test error by rows 8 %", or "test error, worst 10 % of
// clients: 20 %". The runs describe the metric.
func (t Target) Text(runs ...Run) string {
	m, _ := MetricOf(runs, t.Metric)
	real := slices.ContainsFunc(runs, func(r Run) bool { return r.Real })
	if label := m.LabelFor(real); strings.Contains(label, ",") {
		return label + ": " + m.Text(t.Value, real)
	}
	return m.LabelFor(real) + " " + m.Text(t.Value, real)
}

// String formats name and value: "test_error 0.08".
func (t Target) String() string { return t.Metric + " " + strconv.FormatFloat(t.Value, 'g', -1, 64) }

// Name formats metric and value for column names: test_error_0.08.
func (t Target) Name() string {
	return t.Metric + "_" + strconv.FormatFloat(t.Value, 'g', -1, 64)
}

// Check reports problems of the target under key. A name that is not of a column of
// rounds.parquet may be one that a learner declares; see CheckColumn.
func (t Target) Check(c *config.Checker, key string) {
	m, column := MetricNamed(t.Metric)
	_, old := Renamed(t.Metric)
	switch {
	case column:
		c.Require(m.Signed || t.Value > 0, t.key(key), t.Value, "must be positive")
	case old, !isMetricName(t.Metric):
		t.refuse(c, key)
	}
}

// CheckColumn reports a metric that is not a column of rounds.parquet, beyond Check.
func (t Target) CheckColumn(c *config.Checker, key string) {
	_, column := MetricNamed(t.Metric)
	if _, old := Renamed(t.Metric); !column && !old && isMetricName(t.Metric) {
		t.refuse(c, key)
	}
}

func (t Target) refuse(c *config.Checker, key string) {
	c.Require(false, key, t.Metric, wantMetric(t.Metric, MetricNames()))
}

// wantMetric says which columns a metric must be one of, with the nearest of them or of the
// statistics over clients, which are too many to list.
func wantMetric(name string, columns []string) string {
	if present, old := Renamed(name); old {
		return fmt.Sprintf("must be %q: %s is the mean by rows, and %[2]s_clients the mean over clients", present,
			strings.TrimSuffix(present, "_clients"))
	}
	names := slices.Clone(columns)
	for _, split := range []string{"test", "train"} {
		for _, metric := range ClientMetricNames {
			for i := range statistics {
				names = append(names, split+"_"+metric+"_"+statistics[i].name)
			}
		}
	}
	want := "must be one of " + strings.Join(columns, ", ")
	if near := config.Nearest(name, names); near != "" {
		want += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return want
}

// key returns where the target is when it is given under a key.
func (t Target) key(under string) string {
	return under + "." + t.Metric
}

// CheckShare reports a target above 1 whose metric is a share.
func (t Target) CheckShare(c *config.Checker, key string) {
	m, _ := MetricNamed(t.Metric)
	c.Require(!m.Share || t.Value <= 1, t.key(key), t.Value,
		"must be in (0, 1]: it is a share of the rows, and 0.08 is 8 %")
}

// DecodeTOML reads a target; an empty table is none.
func (t *Target) DecodeTOML(n *config.Node, key string) (problems config.Errors) {
	*t = Target{}
	values := map[string]float64{}
	var number float64
	switch {
	case n.IsTable():
		problems = config.Decode(n, key, &values)
	case len(config.Decode(n, key, &number)) == 0:
		problems.AddProblem(n.Place, config.Problem{Key: key, Value: n.Value(),
			Want: "must be a table: write " + config.Literal(ToSuboptimality(number))})
	default:
		problems.AddProblem(n.Place, config.Problem{Key: key, Want: oneMetric})
	}
	if len(values) > 1 {
		problems.AddProblem(n.Place, config.Problem{Key: key, Want: oneMetric})
	}
	for name, value := range values {
		*t = Target{name, value}
	}
	return problems
}

const oneMetric = "must hold one metric, as in { test_error = 0.07 }"

var (
	_ config.Custom = (*Target)(nil)
	_ config.Custom = (*Targets)(nil)
)

// TypeTOML describes the TOML type of a target.
func (Target) TypeTOML() string { return "table of floats" }

// MarshalTOML writes the target as in a scenario.
func (t Target) MarshalTOML() ([]byte, error) { return []byte(config.Literal(t.value())), nil }

func (t Target) value() map[string]float64 {
	if !t.IsSet() {
		return map[string]float64{}
	}
	return map[string]float64{t.Metric: t.Value}
}

// Targets are targets in the order of reports: by metric, then as in the scenario. In a
// scenario and in JSON they are a table with a list for each metric.
type Targets []Target

// ToSuboptimalities returns targets of relative sub-optimalities.
func ToSuboptimalities(values ...float64) Targets {
	return newTargets(map[string][]float64{Suboptimality: values})
}

// newTargets orders lists of values by metric: those of Metrics first.
func newTargets(lists map[string][]float64) Targets {
	targets := Targets{}
	add := func(name string) {
		for _, value := range lists[name] {
			targets = append(targets, Target{name, value})
		}
	}
	for i := range metrics {
		add(metrics[i].Name)
	}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if _, known := column(name); !known {
			add(name)
		}
	}
	return targets
}

// With returns the targets and those of more that are not among them.
func (t Targets) With(more Targets) Targets {
	lists := map[string][]float64{}
	for _, x := range slices.Concat(t, more) {
		if !slices.Contains(lists[x.Metric], x.Value) {
			lists[x.Metric] = append(lists[x.Metric], x.Value)
		}
	}
	return newTargets(lists)
}

// Check reports problems of the targets under key.
func (t Targets) Check(c *config.Checker, key string) {
	for i, x := range t {
		x.Check(c, key)
		c.Require(!slices.Contains(t[:i], x), x.key(key), x.Value, "must be there once")
	}
}

// DecodeTOML reads targets.
func (t *Targets) DecodeTOML(n *config.Node, key string) config.Errors {
	lists := map[string][]float64{}
	if n.IsTable() {
		problems := config.Decode(n, key, &lists)
		*t = newTargets(lists)
		return problems
	}
	var problems config.Errors
	problems.AddProblem(n.Place,
		config.Problem{Key: key, Want: "must be a table with a list for each metric" + rewritten(n.Items())})
	return problems
}

// rewritten suggests the table of targets that were given one by one; empty if they are none.
func rewritten(items []*config.Node) string {
	var targets Targets
	for _, n := range items {
		var t Target
		if config.Decode(n, "", &t.Value) == nil {
			t.Metric = Suboptimality
		} else if len(t.DecodeTOML(n, "")) > 0 || !t.IsSet() {
			return ""
		}
		targets = append(targets, t)
	}
	if len(targets) == 0 {
		return ""
	}
	return ": write " + config.Literal(targets)
}

// TypeTOML describes the TOML type of targets.
func (Targets) TypeTOML() string { return "table of lists of floats" }

// MarshalTOML writes the targets as in a scenario.
func (t Targets) MarshalTOML() ([]byte, error) { return []byte(config.Literal(t.lists())), nil }

// lists returns the values by metric.
func (t Targets) lists() map[string][]float64 {
	lists := map[string][]float64{}
	for _, x := range t {
		lists[x.Metric] = append(lists[x.Metric], x.Value)
	}
	return lists
}

// MarshalJSON writes an object with a list for each metric.
func (t Targets) MarshalJSON() ([]byte, error) { return json.Marshal(t.lists()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Targets) UnmarshalJSON(text []byte) error {
	var lists map[string][]float64
	if err := json.Unmarshal(text, &lists); err != nil {
		return errors.New("targets: must be an object with a list of numbers for each metric")
	}
	*t = newTargets(lists)
	return nil
}

// AtStop reports whether the run ended at StopAt.
func (r *Run) AtStop() bool {
	if m, ok := r.Metric(r.StopAt.Metric); ok && r.StopAt.IsSet() && len(r.Rounds) > 0 {
		return m.Reached(m.Of(&r.Rounds[len(r.Rounds)-1]), r.StopAt.Value)
	}
	return false
}
