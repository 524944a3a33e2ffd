package federation

import (
	"fmt"

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
	reported, byClient := method.Values()
	values := make([]results.NamedValue, len(reported))
	for i := range reported {
		values[i] = results.NamedValue(reported[i])
	}
	clients := make([]results.ClientMetric, len(byClient))
	for i := range byClient {
		clients[i] = results.ClientMetric(byClient[i])
	}
	if err := r.SetNamed(f.named, values); err != nil {
		return err
	}
	return r.SetClients(f.named, len(f.devices), clients)
}

// metric returns the metric of a target.
func (f *Federation) metric(t results.Target) results.Metric {
	m, _ := (&results.Run{Metrics: f.named}).Metric(t.Metric)
	return m
}
