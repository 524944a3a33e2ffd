package driven

import (
	"errors"
	"fmt"
	"slices"

	"fedsim/results"
)

// closeRound ends a round. It checks the metrics before the session changes.
func (s *server) closeRound(r *request) *Error {
	all := s.run.Metrics
	values := make([]results.NamedValue, len(r.metrics))
	for i := range r.metrics {
		m := &r.metrics[i]
		if !m.hasValue {
			return &Error{Code: CodeType, Field: fmt.Sprintf("metrics[%d]", i), Message: "value is missing"}
		}
		all = declared(all, m.NamedMetric)
		values[i] = results.NamedValue{Split: m.Split, Name: m.Name, Value: m.value}
	}
	for i := range r.named {
		all = declared(all, r.named[i])
	}
	var scratch results.Round
	err := results.CheckNamed(all)
	for i := range all[len(s.run.Metrics):] {
		if err == nil {
			err = s.checkLate(&all[len(s.run.Metrics)+i])
		}
	}
	if err == nil {
		err = scratch.SetNamed(all, values)
	}
	field := "metrics"
	if err == nil {
		err, field = scratch.SetClients(all, s.training, s.run.Real, r.clients), "clients"
	}
	if err != nil {
		return &Error{Code: CodeMetric, Field: field, Message: err.Error()}
	}
	if err := s.session.Fail(r.broken); err != nil {
		return s.refuse(err)
	}
	row, err := s.session.Close(r.round, r.taken, r.work.FLOPs)
	if err != nil {
		return s.refuse(err)
	}
	if len(all) > len(s.run.Metrics) {
		if err := s.declare(all); err != nil {
			return internal(err)
		}
	}
	if err := errors.Join(row.SetNamed(all, values),
		row.SetClients(all, s.training, s.run.Real, r.clients)); err != nil {
		return internal(err)
	}
	row.Client = s.session.Client
	if err := s.rows.Round(&row); err != nil {
		return internal(err)
	}
	row.ClientMetrics, row.Client = nil, nil
	s.run.Rounds = append(s.run.Rounds, row)
	s.response.begin(s.session.Now())
	s.response.row(&row)
	return nil
}

// checkLate refuses a metric that hello did not declare if it has the name of a statistic
// over the clients of one that was: earlier rounds may have the statistic.
func (s *server) checkLate(m *results.NamedMetric) error {
	if of, ok := s.run.Metric(m.FullName()); ok && of.Statistic != "" {
		return fmt.Errorf("metric %q: must be declared in hello: it has the name of a statistic over clients",
			m.FullName())
	}
	return nil
}

// declare takes metrics that hello did not declare. Those who follow the run hear of it
// from the first round again.
func (s *server) declare(all []results.NamedMetric) (err error) {
	s.run.Metrics = all
	if s.rows, err = s.directory.Options.Recorder.Begin(0, s.run); err != nil {
		return err
	}
	for i := range s.run.Rounds {
		if err := s.rows.Round(&s.run.Rounds[i]); err != nil {
			return err
		}
	}
	return nil
}

// declared returns the metrics with another one, unless it is there or they are too many.
func declared(all []results.NamedMetric, m results.NamedMetric) []results.NamedMetric {
	if len(all) > results.MostNamed ||
		slices.ContainsFunc(all, func(x results.NamedMetric) bool { return x.Split == m.Split && x.Name == m.Name }) {
		return all
	}
	return append(slices.Clip(all), m)
}
