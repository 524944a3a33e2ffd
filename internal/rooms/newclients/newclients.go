// Package newclients evaluates the models that methods give to new clients, which took no part in the training.
//
// It must not know how a method makes such a model, time, devices or links.
package newclients

import (
	"fmt"
	"math"
	"slices"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/mtl"
)

// newTasks are the new clients of a method that minimizes P: tasks of which the models of the others are fixed, or
// further clients of the only task (data.pool).
type newTasks struct {
	algorithms.Algorithm
	problem *mtl.Problem
}

// Join writes the model that a new client would have as one more task.
func (t newTasks) Join(n *mtl.Newcomer, into []float64) algorithms.Joined {
	if t.problem.Tasks() < t.problem.Clients() { // one task for all
		copy(into, t.Model().W.Row(0))
		return algorithms.Joined{Values: len(into)}
	}
	if t.problem.HasTrace() {
		return t.trace(n, into)
	}
	center, strength, tied := t.problem.NewTask(t.Model().W)
	if rows := len(n.Rows); rows > 0 && t.problem.Config.LossScaling != mtl.Mean {
		strength /= float64(rows)
	}
	joined := algorithms.Joined{FLOPs: n.Near(center, strength, 0, into), Uninformed: !tied && len(n.Rows) == 0}
	if tied {
		joined.Values = len(center)
	}
	return joined
}

// trace is Join under the trace norm, for which a client is sent the models of all others. The minimum without rows, 0,
// is no information.
func (t newTasks) trace(n *mtl.Newcomer, into []float64) (joined algorithms.Joined) {
	if len(n.Rows) == 0 {
		return algorithms.Joined{Uninformed: true}
	}
	w, share := t.Model().W, 1.0
	if t.problem.Config.LossScaling != mtl.Mean {
		share = 1 / float64(len(n.Rows))
	}
	joined.Gap, joined.FLOPs = t.problem.NearTrace(n.Client, n.Rows, w, share, into)
	joined.Values = w.Rows * w.Cols
	return joined
}

// joining is a method whose new clients are evaluated with each of several numbers of rows. Figures are means over
// data.Orders random orders of the rows, and then over the clients with test rows.
type joining struct {
	algorithms.Joining
	reporter algorithms.Reporter // of the method; nil: it has none
	problem  *mtl.Problem
	pool     *algorithms.Pool
	space    []joiningSpace // by worker
	gaps     bool           // an iterative solver makes models
}

// joiningSpace is a worker's own space.
type joiningSpace struct {
	gradient *mtl.Gradient
	g, model []float64
}

// Start starts a run of a method, which evaluates the new clients of its problem, if there are any, beside what it
// evaluates. The error joins a config.Problem for a method that has no models for them.
func Start(f algorithms.Factory, s algorithms.Setup, o algorithms.Options) (*algorithms.Method, error) {
	m, err := f.Start(s, o)
	if err == nil {
		err = add(&s, m)
	}
	return m, err
}

// add makes a method evaluate new clients.
func add(s *algorithms.Setup, m *algorithms.Method) error {
	if s.Problem == nil || s.Problem.New == nil || len(s.Problem.New.Rows) == 0 ||
		m.About.Evaluated != algorithms.ByRun {
		return nil
	}
	gaps := m.About.MinimizesP && s.Problem.Tasks() == s.Problem.Clients() && s.Problem.HasTrace()
	added := metrics(s.Problem.New.Rows, gaps)
	if slices.Contains(m.About.Metrics, added[0]) { // it gives the answers of another run again
		return nil
	}
	of, ok := m.Algorithm.(algorithms.Joining)
	want := "must be 0: " + m.About.Name + " has no model for a new client"
	if !ok && m.About.MinimizesP {
		of = newTasks{m.Algorithm, s.Problem}
		ok = s.Problem.Tasks() < s.Problem.Clients() || s.Problem.HasTrace() ||
			s.Problem.HasNewTask() && s.Problem.Exact()
		want += " but with data.pool, or a loss of one score and problem.regularizer \"independent\", " +
			"\"probabilistic\" of convention \"authors\" or \"mean\" of one cluster; data.new_rows = [] sets them " +
			"apart and does not evaluate them"
	}
	if !ok {
		return fmt.Errorf("starting %s: %w", m.About.Name,
			config.Problem{Key: "data.new_clients", Value: len(s.Problem.New.Train.Clients), Want: want})
	}
	j := &joining{Joining: of, reporter: m.Reporter, problem: s.Problem, pool: s.Pool, gaps: gaps,
		space: make([]joiningSpace, s.Pool.Size())}
	for i := range j.space {
		j.space[i] = joiningSpace{gradient: s.Problem.NewGradient(), g: make([]float64, s.Problem.Values())}
	}
	m.Reporter = j
	m.About.Metrics = append(slices.Clone(m.About.Metrics), added...)
	return nil
}

// The metrics of new clients by the number n of their rows: "new_error_5" and so on.
const (
	newError  = "new_error_%d"  // mean error over the clients
	newWorst  = "new_worst_%d"  // of the tenth of the clients with the largest errors, at least one
	newSpread = "new_spread_%d" // standard deviation of the error over clients
	newShort  = "new_short_%d"  // clients that have fewer rows, and use all they have
	newFLOPs  = "new_flops_%d"  // mean work of a client to get its model
	newValues = "new_values_%d" // mean number of values that it is sent
	newGap    = "new_gap_%d"    // largest relative gap of its model, where an iterative solver makes it
)

// metrics returns the metrics of new clients with such numbers of rows.
func metrics(rows []int, gaps bool) (metrics []algorithms.NamedMetric) {
	for _, n := range rows {
		names := []string{newError, newWorst, newSpread, newShort, newFLOPs, newValues}
		if gaps {
			names = append(names, newGap)
		}
		for _, name := range names {
			metrics = append(metrics, algorithms.NamedMetric{Name: fmt.Sprintf(name, n), Better: "lower"})
		}
	}
	return metrics
}

// Evaluate evaluates the new clients. It costs no virtual time.
func (j *joining) Evaluate() (e algorithms.Evaluation, err error) {
	if j.reporter != nil {
		if e, err = j.reporter.Evaluate(); err != nil {
			return e, err
		}
	}
	model := j.Model()
	values := model.Evaluated().Cols
	for i := range j.space {
		if len(j.space[i].model) < values {
			j.space[i].model = make([]float64, values)
		}
	}
	of := j.problem.New
	clients := len(of.Train.Clients)
	errors, work, sent := make([]float64, clients), make([]float64, clients), make([]float64, clients)
	gaps := make([]float64, clients)
	for _, n := range of.Rows {
		j.pool.For(clients, func(client, worker int) {
			errors[client], work[client], sent[client], gaps[client] = j.evaluate(client, n, &j.space[worker])
		})
		short := 0
		for k := range clients {
			if of.Train.Clients[k].X.Rows < n {
				short++
			}
		}
		add := func(name string, x float64) {
			e.Values = append(e.Values, algorithms.NamedValue{Name: fmt.Sprintf(name, n), Value: x})
		}
		mean, worst, spread := summarize(errors)
		add(newError, mean)
		add(newWorst, worst)
		add(newSpread, spread)
		add(newShort, float64(short))
		flops, _, _ := summarize(work)
		add(newFLOPs, flops)
		values, _, _ := summarize(sent)
		add(newValues, values)
		if j.gaps {
			add(newGap, slices.Max(gaps))
		}
	}
	return e, nil
}

// evaluate returns the mean error of a new client with so many rows on its test rows, the work and the values sent; the
// error is NaN without test rows, or where nothing is known of the client.
func (j *joining) evaluate(client, n int, space *joiningSpace) (miss, flops, values, gap float64) {
	of := j.problem.New
	newcomer := mtl.Newcomer{Client: &of.Train.Clients[client], Steps: of.Steps, Problem: j.problem,
		Gradient: space.gradient, G: space.g}
	orders := data.Orders
	if n == 0 || n >= newcomer.Client.X.Rows { // they are all the same
		orders = 1
	}
	for order := range orders {
		drawn := of.Order(client, order)
		newcomer.Rows = drawn[:min(n, len(drawn))]
		joined := j.Join(&newcomer, space.model)
		if joined.Uninformed {
			return math.NaN(), 0, 0, 0
		}
		miss += j.problem.ErrorOf(&of.Test.Clients[client], space.model) / float64(orders)
		flops += (joined.FLOPs + float64(of.Encoding*float64(len(newcomer.Rows)))) / float64(orders)
		values += float64(joined.Values) / float64(orders)
		gap = max(gap, joined.Gap)
	}
	return miss, flops, values, gap
}

// summarize returns the mean of the numbers that are known, the mean of the largest tenth of them, and their standard
// deviation; NaN if none is known.
func summarize(all []float64) (mean, worst, spread float64) {
	known := slices.DeleteFunc(slices.Clone(all), math.IsNaN)
	if len(known) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	slices.Sort(known)
	n := float64(len(known))
	for _, x := range known {
		mean += x / n
	}
	for _, x := range known {
		spread += float64((x-mean)*(x-mean)) / n
	}
	tenth := max(1, len(known)/10)
	for _, x := range known[len(known)-tenth:] {
		worst += x / float64(tenth)
	}
	return mean, worst, math.Sqrt(spread)
}
