package federation

import (
	"fmt"
	"slices"

	"fedsim/algorithms"
	"fedsim/results"
)

// Metrics returns the metrics that the method declares; nil for a method without named
// metrics.
func (f *Federation) Metrics() []results.NamedMetric { return f.named }

// named returns the metrics that a method declares.
func (s *Setup) named(method algorithms.Algorithm) ([]results.NamedMetric, error) {
	r, ok := method.(algorithms.NamedReporter)
	if !ok {
		return nil, nil
	}
	var declared []results.NamedMetric
	for _, m := range r.Named() {
		declared = append(declared, results.NamedMetric(m))
	}
	if err := results.CheckNamed(declared); err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Factory.Name, err)
	}
	return declared, nil
}

// evaluateNamed adds the named values of the present model to a round.
func (f *Federation) evaluateNamed(r *results.Round) error {
	method, ok := f.method.(algorithms.NamedReporter)
	if !ok {
		return nil
	}
	values, byClient := method.Values()
	return setNamed(r, f.named, len(f.devices), values, byClient)
}

// metric returns the metric of a target.
func (f *Federation) metric(t results.Target) results.Metric {
	m, _ := (&results.Run{Metrics: f.named}).Metric(t.Metric)
	return m
}

// CheckNamed reports what is wrong with metrics that a method declares, and with values for
// a model of so many clients. A run stores none of them then.
func CheckNamed(declared []algorithms.NamedMetric, clients int, values []algorithms.NamedValue, byClient []algorithms.ClientMetric) error {
	metrics := make([]results.NamedMetric, len(declared))
	for i := range declared {
		metrics[i] = results.NamedMetric(declared[i])
	}
	if err := results.CheckNamed(metrics); err != nil {
		return err
	}
	return setNamed(&results.Round{}, metrics, clients, values, byClient)
}

// setNamed adds named values to a round.
func setNamed(r *results.Round, declared []results.NamedMetric, clients int, values []algorithms.NamedValue, byClient []algorithms.ClientMetric) error {
	stored := make([]results.NamedValue, len(values))
	for i := range values {
		stored[i] = results.NamedValue(values[i])
	}
	if err := r.SetNamed(declared, stored); err != nil {
		return err
	}
	of := make([]results.ClientMetric, len(byClient))
	for i := range byClient {
		of[i] = results.ClientMetric(byClient[i])
	}
	return r.SetClients(declared, clients, of)
}

// declares reports whether the method declares the named values of all rounds.
func (f *Federation) declares(rounds []results.Round) bool {
	for i := range rounds {
		for _, v := range rounds[i].Metrics {
			if !slices.ContainsFunc(f.named, func(m results.NamedMetric) bool { return m.Split == v.Split && m.Name == v.Name }) {
				return false
			}
		}
	}
	return true
}
