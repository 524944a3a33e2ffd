package learning

import (
	"fmt"
	"math"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/mtl"
	"fedsim/results"
)

// evaluation is the evaluations of the present model. They cost no virtual time.
type evaluation struct {
	f        *Federation
	named    []results.NamedMetric // that the method and the plan declare
	hash     uint64                // of the model at the last evaluation, of a method that evaluates itself
	sample   *mtl.Sample           // tasks that a model is evaluated on; nil: there is no problem
	diverged int                   // the first round whose training loss is infinite or NaN; 0: none
}

// newSample draws the tasks that a model is evaluated on.
func (e *evaluation) newSample() error {
	s := &e.f.setup
	if s.Problem == nil {
		return nil
	}
	if m := s.Problem.Tasks(); s.Schedule.EvalClients > m {
		return config.Problem{Key: "run.eval_clients", Value: s.Schedule.EvalClients,
			Want: fmt.Sprintf("must be at most %d, the number of clients of the set", m)}
	}
	e.sample = s.Problem.NewSample(s.Schedule.EvalClients, s.Seed)
	return nil
}

// metrics evaluates the present model on the problem.
func (e *evaluation) metrics() algorithms.Metrics {
	f := e.f
	m := f.method.Model()
	sent := m.V
	if m.Sent != nil {
		sent = m.Sent
	}
	return e.sample.Evaluate(f.setup.Pool, f.coupling, m.Evaluated(), sent, m.V, m.Duals)
}

// model returns the present models that the run evaluates.
func (e *evaluation) model() *data.Matrix {
	m := e.f.method.Model()
	return m.Evaluated()
}

func (e *evaluation) modelHash() uint64 {
	if !e.f.evaluates() {
		return e.hash
	}
	w := e.model()
	return HashWeights(w, e.f.setup.Problem.StoredRows(w))
}

// evaluate fills in the metrics.
func (e *evaluation) evaluate(r results.Round) (results.Round, error) {
	f := e.f
	own := algorithms.Evaluation{Metrics: algorithms.Unknown()}
	if f.method.Reporter != nil {
		var err error
		own, err = f.method.Reporter.Evaluate()
		f.fail(err)
	}
	if err := f.methodErr(); err != nil {
		return r, err
	}
	e.hash = own.Hash
	o := own.Metrics
	if f.evaluates() {
		if o = e.metrics(); f.methodErr() != nil {
			return r, f.methodErr()
		}
		own.Values = append(own.Values, ProgramValues(f.setup.Problem, &o)...)
	}
	r.Primal, r.Dual, r.Gap = o.Primal, o.Dual, o.Gap
	setErrors(&r, &o)
	if err := e.evaluateNamed(&r, &own); err != nil {
		return r, fmt.Errorf("the metrics of %s in round %d: %w", f.methodName(), f.server.Rounds(), err)
	}
	r.Suboptimality = f.setup.Schedule.suboptimality(r.Primal)
	return r, nil
}

// atOptimum evaluates the model at the reference optimum, as those of rounds: its errors and
// metrics by client.
func (e *evaluation) atOptimum() (*results.Round, error) {
	s := &e.f.setup
	w := s.Schedule.Solution
	if w == nil {
		return nil, nil
	}
	o := e.sample.Evaluate(s.Pool, s.Coupling, w, nil, nil, nil)
	r := results.NewRound()
	setErrors(&r, &o)
	if err := e.measureClients(&r, w); err != nil {
		return nil, err
	}
	r.ClientMetrics, r.Client = nil, nil
	return &r, nil
}

// setErrors sets the errors of a round, by rows and over clients.
func setErrors(r *results.Round, o *mtl.Objective) {
	r.TrainError, r.TestError, r.ValidationError = o.TrainError, o.TestError, o.ValidationError
	r.TrainErrorClients, r.TestErrorClients, r.ValidationErrorClients = o.TrainErrorClients, o.TestErrorClients,
		o.ValidationErrorClients
}

// checkLoss notes the first round whose training loss is not finite.
func (e *evaluation) checkLoss(r *results.Round) {
	learnerLoss := e.f.setup.Problem == nil || e.f.method.About.Own
	if e.diverged == 0 && (math.IsInf(r.Primal, 0) || math.IsNaN(r.Primal) && !learnerLoss) {
		e.diverged = max(r.Round, 1)
	}
}

// warnings returns what makes the model of the run doubtful.
func (e *evaluation) warnings() []results.Warning {
	if e.diverged == 0 {
		return nil
	}
	return []results.Warning{
		{About: "diverged",
			Text: fmt.Sprintf("the training loss is not finite from round %d on: the method diverges", e.diverged)},
	}
}
