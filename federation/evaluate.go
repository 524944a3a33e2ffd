package federation

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/results"
)

// metrics evaluates the present model; it costs no virtual time.
func (f *Federation) metrics() algorithms.Metrics {
	if r, ok := f.method.(algorithms.Reporter); ok {
		return r.Metrics()
	}
	m := f.linearModel()
	sent := m.V
	if m.Sent != nil {
		sent = m.Sent
	}
	return f.setup.Problem.EvaluateBehind(f.setup.Pool, f.sample, f.coupling, m.W, sent, m.V, m.Duals)
}

// linearModel returns the present model of a method that is Linear.
func (f *Federation) linearModel() algorithms.Model { return f.method.(algorithms.Linear).Model() }

// hash returns the hash of the present model.
func (f *Federation) hash() uint64 {
	if r, ok := f.method.(algorithms.Reporter); ok {
		return r.Hash()
	}
	w := f.linearModel().W
	return HashWeights(w, f.setup.Problem.StoredRows(w))
}

// evaluate fills in the metrics.
func (f *Federation) evaluate(r results.Round) (results.Round, error) {
	o := f.metrics()
	if err := f.methodErr(); err != nil {
		return r, err
	}
	r.Primal, r.Dual, r.Gap = o.Primal, o.Dual, o.Gap
	r.TrainError, r.TestError, r.ValidationError = o.TrainError, o.TestError, o.ValidationError
	if err := f.evaluateNamed(&r); err != nil {
		return r, fmt.Errorf("the metrics of %s in round %d: %w", f.methodName(), f.round, err)
	}
	r.Suboptimality = f.setup.Plan.suboptimality(r.Primal)
	f.checkLoss(&r, f.setup.Problem == nil || f.setup.Factory.OwnMetrics)
	return r, nil
}

// atOptimum evaluates the model at the reference optimum, as those of rounds: its errors and
// metrics by client.
func (f *Federation) atOptimum() (*results.Round, error) {
	w := f.setup.Plan.Solution
	if w == nil {
		return nil, nil
	}
	o := f.setup.Problem.EvaluateOn(f.setup.Pool, f.sample, f.setup.Coupling, w, nil, nil)
	r := results.NewRound()
	r.TrainError, r.TestError, r.ValidationError = o.TrainError, o.TestError, o.ValidationError
	if err := f.measureClients(&r, w); err != nil {
		return nil, err
	}
	r.ClientMetrics, r.Client = nil, nil
	return &r, nil
}
