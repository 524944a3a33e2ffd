package learning

import (
	"fmt"
	"slices"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/mtl"
	"fedsim/results"
)

// partSplits are the splits of the parts of the data, as data.Split.Parts has them.
var partSplits = [...]string{"train", "test", "validation"}

// splits returns the splits that have rows, in the order of metrics.
func (s *Setup) splits() (there []string) {
	parts := s.Problem.Parts()
	for _, part := range []int{0, 2, 1} {
		if part < len(parts) && parts[part].Rows() > 0 {
			there = append(there, partSplits[part])
		}
	}
	return there
}

// clientMetrics returns the metrics by client that the plan asks for of a linear method, and
// on held-out rows only if there are any.
func (s *Setup) clientMetrics(about *algorithms.Description) (declared []results.NamedMetric) {
	if about.Evaluated != algorithms.ByRun {
		return nil
	}
	for _, split := range s.splits() {
		for _, name := range s.Schedule.ClientMetrics {
			m := results.ClientMetricOf(split, name)
			if i := s.programMetric(name); i >= 0 {
				m = results.NamedMetric(s.Problem.Metrics()[i])
				m.Split = split
			}
			declared = append(declared, m)
		}
	}
	return declared
}

// programMetric returns the index of a metric of the program of an external model; -1 if it has none
// of that name.
func (s *Setup) programMetric(name string) int {
	return slices.IndexFunc(s.Problem.Metrics(), func(m mtl.NamedMetric) bool { return m.Name == name })
}

// checkClientMetrics finds metrics by client that the program of an external model does not declare.
func (s *Setup) checkClientMetrics(c *config.Checker) {
	known := []string{results.ClientError, results.ClientAccuracy, results.ClientLoss}
	for _, m := range s.Problem.Metrics() {
		known = append(known, m.Name)
	}
	for i, name := range s.Schedule.ClientMetrics {
		c.OneOf(fmt.Sprintf("run.client_metrics[%d]", i), name, known...)
	}
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
	// which has no scores
	auc := slices.Contains(names, results.ClientAUC) && s.Problem.Config.Model != mtl.ModelExternal
	q := e.sample.Quality(s.Pool, w, auc)
	if err := e.f.methodErr(); err != nil {
		return err
	}
	var values []results.ClientMetric
	for i := range e.named {
		m := &e.named[i]
		if m.Split == "" || !slices.Contains(names, m.Name) { // not by client
			continue
		}
		fits := map[string]*mtl.Fits{"train": &q.Train, "validation": &q.Validation, "test": &q.Test}[m.Split]
		values = append(values,
			results.ClientMetric{Split: m.Split, Name: m.Name, Clients: q.Clients, Values: s.valuesOf(fits, m.Name),
				Rows: fits.Rows})
	}
	return e.setClients(r, values)
}

// valuesOf returns the values of one of results.ClientMetricNames, or of the program's own metrics.
func (s *Setup) valuesOf(fits *mtl.Fits, name string) []float64 {
	if i := s.programMetric(name); i >= 0 {
		return fits.Own[i]
	}
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

func (e *evaluation) setClients(r *results.Round, values []results.ClientMetric) error {
	r.Client = e.client
	return r.SetClients(e.named, e.f.setup.Rows, e.f.setup.Schedule.Real, values)
}

// client returns the facts of a client besides its metrics.
func (e *evaluation) client(c int) results.ClientFacts {
	down, up := e.f.work.usualBytes(c)
	return e.f.server.Facts(c, down, up)
}
