package learning

import (
	"slices"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/mtl"
	"fedsim/results"
)

// clientSplits are the splits of Schedule.ClientMetrics.
var clientSplits = [...]string{"train", "validation", "test"}

// clientMetrics returns the metrics by client that the plan asks for of a linear method, and
// on held-out rows only if there are any.
func (s *Setup) clientMetrics(about *algorithms.Description) (declared []results.NamedMetric) {
	if about.Evaluated != algorithms.ByRun {
		return nil
	}
	p := s.Problem
	there := map[string]bool{"train": true, "validation": p.Validation != nil && p.Validation.Rows() > 0, "test": p.Test.Rows() > 0}
	for _, split := range clientSplits {
		for _, name := range s.Schedule.ClientMetrics {
			if there[split] {
				declared = append(declared, results.ClientMetricOf(split, name))
			}
		}
	}
	return declared
}

// clientsDue reports whether the plan asks for metrics by client after this round, wherever
// the run ends.
func (e *evaluation) clientsDue() bool {
	every := e.f.setup.Schedule.ClientsEvery
	return every > 0 && e.f.server.Rounds()%every == 0
}

// evaluateClients adds the metrics by client of the present model to an evaluated round. It
// costs no virtual time.
func (e *evaluation) evaluateClients(r *results.Round) error {
	if !e.f.evaluates() {
		return nil
	}
	return e.measureClients(r, e.model())
}

// measureClients adds the metrics by client of weights to a round.
func (e *evaluation) measureClients(r *results.Round, w *data.Matrix) error {
	s := &e.f.setup
	names := s.Schedule.ClientMetrics
	if len(names) == 0 {
		return nil
	}
	q := e.sample.Quality(s.Pool, w, slices.Contains(names, results.ClientAUC))
	if err := e.f.methodErr(); err != nil {
		return err
	}
	var values []results.ClientMetric
	for i := range e.named {
		m := &e.named[i]
		if m.Split == "" { // not by client
			continue
		}
		fits := map[string]*mtl.Fits{"train": &q.Train, "validation": &q.Validation, "test": &q.Test}[m.Split]
		values = append(values, results.ClientMetric{Split: m.Split, Name: m.Name, Clients: q.Clients, Values: valuesOf(fits, m.Name), Rows: fits.Rows})
	}
	return e.setClients(r, values)
}

// valuesOf returns the values of one of results.ClientMetricNames.
func valuesOf(fits *mtl.Fits, name string) []float64 {
	switch name {
	case results.ClientError:
		return fits.Error
	case results.ClientLoss:
		return fits.Loss
	case results.ClientAUC:
		return fits.AUC
	default: // results.ClientAccuracy
		shares := make([]float64, len(fits.Error))
		for i, e := range fits.Error {
			shares[i] = 1 - e
		}
		return shares
	}
}

// setClients adds values by client to a round.
func (e *evaluation) setClients(r *results.Round, values []results.ClientMetric) error {
	r.Client = e.client
	return r.SetClients(e.named, e.f.setup.Rows, values)
}

// client returns the facts of client t besides its metrics.
func (e *evaluation) client(t int) results.ClientFacts {
	down, up := e.f.work.usualBytes(t)
	return e.f.server.Accounts().Facts(t, down, up)
}
