package learning

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedsim/algorithms"
	"fedsim/mtl"
	"fedsim/results"
)

// Metrics returns the metrics that the method declares; nil for a method without named
// metrics.
func (f *Federation) Metrics() []results.NamedMetric { return f.evaluation.named }

// named returns the metrics by client that the plan asks for, and those that a method
// declares.
func (s *Setup) named(about *algorithms.Description) ([]results.NamedMetric, error) {
	own := named(about.Metrics)
	declared := append(s.clientMetrics(about), own...)
	if s.Problem != nil && !about.Own {
		own = s.programMetrics()
		for _, m := range own {
			if !slices.Contains(declared, m) {
				declared = append(declared, m)
			}
		}
	}
	if err := cmp.Or(results.CheckNamed(declared), results.CheckOwn(own)); err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Factory.Name, err)
	}
	return declared, nil
}

// programMetrics returns the metrics of the program of an external model, on each split that has rows.
func (s *Setup) programMetrics() (declared []results.NamedMetric) {
	for _, split := range s.splits() {
		for _, m := range named(s.Problem.Metrics()) {
			m.Split = split
			declared = append(declared, m)
		}
	}
	return declared
}

// ProgramValues returns the values of the metrics of the program of an external model, as a
// Reporter returns its own; none of another model.
func ProgramValues(p *mtl.Problem, o *mtl.Objective) (values []algorithms.NamedValue) {
	metrics := p.Metrics()
	for part := range p.Parts() {
		for i, x := range o.Own[part] {
			if !math.IsNaN(x) && !math.IsInf(x, 0) { // of a part without rows, or of a model that diverges
				values = append(values, algorithms.NamedValue{Split: partSplits[part], Name: metrics[i].Name, Value: x})
			}
		}
	}
	return values
}

// evaluateNamed adds the named values of an evaluation to a round.
func (e *evaluation) evaluateNamed(r *results.Round, own *algorithms.Evaluation) error {
	err := setNamed(r, e.named, append(own.Values, e.f.private.measured()...))
	if err != nil || e.f.method.Reporter == nil {
		return err
	}
	return e.setClients(r, clientMetrics(own.Clients))
}

func named(metrics []algorithms.NamedMetric) []results.NamedMetric {
	declared := make([]results.NamedMetric, len(metrics))
	for i, m := range metrics {
		declared[i] = results.NamedMetric(m)
	}
	return declared
}

func (e *evaluation) metric(t results.Target) results.Metric {
	m, _ := (&results.Run{Metrics: e.named}).Metric(t.Metric)
	return m
}

// CheckNamed reports errors in the metrics that a method declares, and in values for
// a model of so many clients. A run stores none of them then.
func CheckNamed(declared []algorithms.NamedMetric, clients int, values []algorithms.NamedValue,
	byClient []algorithms.ClientMetric) error {
	metrics := named(declared)
	if err := cmp.Or(results.CheckNamed(metrics), results.CheckOwn(metrics)); err != nil {
		return err
	}
	var r results.Round
	if err := setNamed(&r, metrics, values); err != nil {
		return err
	}
	return r.SetClients(metrics, make([]int32, clients), false, clientMetrics(byClient))
}

// CheckProgram reports errors in the metrics that the program of an external model declares.
func CheckProgram(declared []algorithms.NamedMetric) error {
	metrics := named(declared)
	for i := range metrics {
		metrics[i].Split = partSplits[0]
	}
	return cmp.Or(results.CheckNamed(metrics), results.CheckOwn(metrics))
}

func setNamed(r *results.Round, declared []results.NamedMetric, values []algorithms.NamedValue) error {
	stored := make([]results.NamedValue, len(values))
	for i := range values {
		stored[i] = results.NamedValue(values[i])
	}
	return r.SetNamed(declared, stored)
}

func clientMetrics(reported []algorithms.ClientMetric) []results.ClientMetric {
	values := make([]results.ClientMetric, len(reported))
	for i, m := range reported {
		values[i] = results.ClientMetric{Split: m.Split, Name: m.Name, Clients: m.Clients, Values: m.Values}
	}
	return values
}

// declares reports whether the method declares the named values of a round, or the metrics of
// which they are statistics over clients.
func (e *evaluation) declares(r *results.Round) bool {
	declared := results.WithStatistics(e.named)
	for _, v := range r.Metrics {
		if !slices.ContainsFunc(declared,
			func(m results.NamedMetric) bool { return m.Split == v.Split && m.Name == v.Name }) {
			return false
		}
	}
	return true
}
