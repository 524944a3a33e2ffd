package federation

import (
	"math"
	"slices"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/mtl"
	"fedsim/results"
)

// clientSplits are the splits of Plan.ClientMetrics.
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
		for _, name := range s.Plan.ClientMetrics {
			if there[split] {
				declared = append(declared, results.ClientMetricOf(split, name))
			}
		}
	}
	return declared
}

// clientsDue reports whether the plan asks for metrics by client after this round, wherever
// the run ends.
func (f *Federation) clientsDue() bool {
	every := f.setup.Plan.ClientsEvery
	return every > 0 && f.round%every == 0
}

// evaluateClients adds the metrics by client of the present model to an evaluated round. It
// costs no virtual time.
func (f *Federation) evaluateClients(r *results.Round) error {
	if !f.evaluates() {
		return nil
	}
	return f.measureClients(r, f.model())
}

// measureClients adds the metrics by client of weights to a round.
func (f *Federation) measureClients(r *results.Round, w *data.Matrix) error {
	names := f.setup.Plan.ClientMetrics
	if len(names) == 0 {
		return nil
	}
	q := f.sample.Quality(f.setup.Pool, w, slices.Contains(names, results.ClientAUC))
	var values []results.ClientMetric
	for i := range f.named {
		m := &f.named[i]
		if m.Split == "" { // not by client
			continue
		}
		fits := map[string]*mtl.Fits{"train": &q.Train, "validation": &q.Validation, "test": &q.Test}[m.Split]
		values = append(values, results.ClientMetric{Split: m.Split, Name: m.Name, Clients: q.Clients, Values: valuesOf(fits, m.Name), Rows: fits.Rows})
	}
	return f.setClients(r, values)
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
func (f *Federation) setClients(r *results.Round, values []results.ClientMetric) error {
	r.Client = f.client
	return r.SetClients(f.named, f.setup.Rows, values)
}

// client returns what is known of client t besides its metrics. No event and no random draw
// depends on it.
func (f *Federation) client(t int) results.ClientFacts {
	facts := results.ClientFacts{Class: f.clients.Class(t), Updates: int(f.updates[t]), ComputeS: math.NaN(), TransferS: math.NaN()}
	if flops := f.flopsOf(t, int(f.setup.Rows[t])); flops > 0 {
		facts.ComputeS = f.clients.UsualCompute(t, flops).Seconds()
	}
	if down, up := f.usualBytesOf(t); down > 0 || up > 0 {
		facts.TransferS = f.clients.UsualTransfers(t, down, up).Seconds()
	}
	return facts
}

// usualBytesOf returns the usual sizes of the messages to and from client t. Those of a
// driver are its last ones; 0: there was none.
func (f *Federation) usualBytesOf(t int) (down, up float64) {
	if s := f.setup.session; s != nil {
		return s.sizes[t][0], s.sizes[t][1]
	}
	return f.usualBytes(t)
}

// take counts an update of client t that the server takes.
func (f *Federation) take(t int) {
	f.tally.taken++
	f.note(UpdateTaken, t, 0)
	if f.updates != nil {
		f.updates[t]++
	}
}
