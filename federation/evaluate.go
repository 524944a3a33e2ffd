package federation

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/results"
)

// metrics evaluates the present model on the problem; it costs no virtual time.
func (f *Federation) metrics() algorithms.Metrics {
	m := f.method.Model()
	sent := m.V
	if m.Sent != nil {
		sent = m.Sent
	}
	return f.sample.Evaluate(f.setup.Pool, f.coupling, m.Evaluated(), sent, m.V, m.Duals)
}

// model returns the present models that the run evaluates.
func (f *Federation) model() *data.Matrix {
	m := f.method.Model()
	return m.Evaluated()
}

// modelHash returns the hash of the present model.
func (f *Federation) modelHash() uint64 {
	if !f.evaluates() {
		return f.hash
	}
	w := f.model()
	return HashWeights(w, f.setup.Problem.StoredRows(w))
}

// evaluate fills in the metrics.
func (f *Federation) evaluate(r results.Round) (results.Round, error) {
	said := algorithms.Evaluation{Metrics: algorithms.Unknown()}
	if f.method.Reporter != nil {
		var err error
		said, err = f.method.Reporter.Evaluate()
		f.fail(err)
	}
	if err := f.methodErr(); err != nil {
		return r, err
	}
	f.hash = said.Hash
	o := said.Metrics
	if f.evaluates() {
		o = f.metrics()
	}
	r.Primal, r.Dual, r.Gap = o.Primal, o.Dual, o.Gap
	r.TrainError, r.TestError, r.ValidationError = o.TrainError, o.TestError, o.ValidationError
	if err := f.evaluateNamed(&r, &said); err != nil {
		return r, fmt.Errorf("the metrics of %s in round %d: %w", f.methodName(), f.round, err)
	}
	r.Suboptimality = f.setup.Plan.suboptimality(r.Primal)
	return r, nil
}

// atOptimum evaluates the model at the reference optimum, as those of rounds: its errors and
// metrics by client.
func (f *Federation) atOptimum() (*results.Round, error) {
	w := f.setup.Plan.Solution
	if w == nil {
		return nil, nil
	}
	o := f.sample.Evaluate(f.setup.Pool, f.setup.Coupling, w, nil, nil, nil)
	r := results.NewRound()
	r.TrainError, r.TestError, r.ValidationError = o.TrainError, o.TestError, o.ValidationError
	if err := f.measureClients(&r, w); err != nil {
		return nil, err
	}
	r.ClientMetrics, r.Client = nil, nil
	return &r, nil
}
