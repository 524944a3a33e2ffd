package newclients

import (
	"math"
	"strings"
	"testing"

	"fedsim/algorithms"
	_ "fedsim/algorithms/methods"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parallel"
	"fedsim/mtl"
)

// method starts a method on a set with new clients.
func method(t *testing.T, name string, change func(*mtl.Config),
	rows ...int) (*algorithms.Method, *mtl.Problem, error) {
	t.Helper()
	cfg := data.Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.Features = 12, 6
	cfg.NewClients, cfg.NewRows = 0.25, data.NewRowCounts(rows...)
	problem := mtl.Defaults()
	problem.Regularizer, problem.Loss = mtl.RegMean, mtl.LossLogistic
	if change != nil {
		change(&problem)
	}
	p := expect.Value(mtl.NewProblem(problem, *expect.Value(data.Prepare(cfg))(t)))(t)
	pool := parallel.NewPool(2)
	c := expect.Value(p.Regularizer.Start(pool, p.Tasks()))(t)
	f, _ := algorithms.Lookup(name)
	s := algorithms.Setup{Problem: p, Shape: p.Shape, Rows: p.RowCounts(), Coupling: c, Workers: 2, Pool: pool}
	m, err := Start(f, s, f.Options())
	return m, p, err
}

// values returns the values of the new clients by name.
func values(t *testing.T, m *algorithms.Method) map[string]float64 {
	t.Helper()
	byName := map[string]float64{}
	e := expect.Value(m.Reporter.Evaluate())(t)
	for _, v := range e.Values {
		byName[v.Name] = v.Value
	}
	return byName
}

// Without rows a new client has w, whose error on its test rows is computed here row by row; clients with fewer rows
// use all they have, and are counted; a method without models for them is refused.
func TestNewClientsAreEvaluated(t *testing.T) {
	m, p, err := method(t, "fedavg", nil, 0, 3, 100_000)
	expect.NoError(t, err)
	for h := range 5 {
		expect.Value(m.Begin())(t)
		for k := range p.Clients() {
			m.Solve(algorithms.Request{Device: k, Round: h, Steps: algorithms.NoLimit})
			m.Commit(k, 1)
		}
		expect.Value(m.End())(t)
	}
	w, want := m.Model().W.Row(0), 0.0
	fresh := p.New
	expect.Must(t, p.Clients() == 9 && len(fresh.Test.Clients) == 3, "%d clients, %d new", p.Clients(),
		len(fresh.Test.Clients))
	for k := range fresh.Test.Clients {
		c, wrong := &fresh.Test.Clients[k], 0.0
		for i, y := range c.Y {
			z := 0.0
			for j, x := range c.X.Row(i) {
				z += x * w[j]
			}
			if z*y <= 0 {
				wrong++
			}
		}
		want += wrong / float64(len(c.Y)) / 3
	}
	got := values(t, m)
	expect.That(t, math.Abs(got["new_error_0"]-want) < 1e-12, "an error of %g, want %g", got["new_error_0"], want)
	expect.That(t, got["new_short_0"] == 0 && got["new_short_100000"] == 3, "%v", got)
	expect.That(t, got["new_values_3"] == 6 && got["new_flops_0"] == 0 && got["new_flops_3"] == 5*(3*4*6+5*6), "%v",
		got)
	expect.That(t, got["new_error_100000"] < want+0.2 && got["new_worst_3"] >= got["new_error_3"], "%v", got)

	m, _, err = method(t, "local", func(c *mtl.Config) { c.Regularizer = mtl.RegIndependent }, 0, 3)
	expect.NoError(t, err)
	got = values(t, m)
	expect.That(t, math.IsNaN(got["new_error_0"]) && !math.IsNaN(got["new_error_3"]), "%v", got)

	m, _, err = method(t, "mocha", func(c *mtl.Config) { c.Regularizer = mtl.RegProbabilistic })
	expect.NoError(t, err)
	expect.That(t, m.Reporter == nil, "new clients without numbers of rows are evaluated")

	for _, name := range []string{"gossip", "mocha"} {
		_, _, err = method(t, name, func(c *mtl.Config) { c.Regularizer = mtl.RegGraphical }, 0)
		expect.That(t, err != nil && strings.Contains(err.Error(), "data.new_clients = 3: must be 0: "+name), "%v", err)
	}
}

// Under the trace norm a new client is sent all models, and the gap of its own is known, also while these are 0.
// Without rows nothing is known.
func TestNewClientsUnderTheTraceNorm(t *testing.T) {
	m, p, err := method(t, "mocha", func(c *mtl.Config) { c.Regularizer = mtl.RegProbabilistic }, 0, 3)
	expect.NoError(t, err)
	for h := range 3 {
		got := values(t, m)
		expect.That(t, math.IsNaN(got["new_error_0"]) && got["new_error_3"] >= 0 && got["new_error_3"] < 0.6, "%v", got)
		expect.That(t, got["new_gap_3"] > -1e-6 && got["new_gap_3"] < 1e-3, "%v", got)
		expect.That(t, got["new_values_3"] == float64(p.Tasks()*p.Values()) && got["new_flops_3"] > 0, "%v", got)
		expect.Value(m.Begin())(t)
		for k := range p.Clients() {
			m.Solve(algorithms.Request{Device: k, Round: h, Steps: 50})
			m.Commit(k, 1)
		}
		expect.Value(m.End())(t)
	}
}

// One task of all clients is the model of a new one, with any number of its rows.
func TestNewClientsOfOneTaskHaveItsModel(t *testing.T) {
	cfg := data.Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.Features = 8, 6
	cfg.NewClients, cfg.NewRows, cfg.Pool = 0.25, data.NewRowCounts(0, 3), true
	problem := mtl.Defaults()
	problem.Regularizer, problem.Loss = mtl.RegIndependent, mtl.LossLogistic
	p := expect.Value(mtl.NewProblem(problem, *expect.Value(data.Prepare(cfg))(t)))(t)
	pool := parallel.NewPool(1)
	c := expect.Value(p.Regularizer.Start(pool, p.Tasks()))(t)
	w := p.NewWeights()
	for j := range w.Row(0) {
		w.Row(0)[j] = float64(j%3) - 0.75
	}
	f, _ := algorithms.Lookup("optimum")
	m := expect.Value(Start(f, algorithms.Setup{Problem: p, Shape: p.Shape, Rows: p.RowCounts(), Coupling: c,
		Solution: &w, Workers: 1, Pool: pool}, f.Options()))(t)
	want := 0.0
	for k := range p.New.Test.Clients {
		want += p.ErrorOf(&p.New.Test.Clients[k], w.Row(0)) / float64(len(p.New.Test.Clients))
	}
	got := values(t, m)
	expect.That(t, got["new_error_0"] == want && got["new_error_3"] == want && want > 0, "%v, want %g", got, want)
	expect.That(t, got["new_values_3"] == 6 && got["new_flops_3"] == 0, "%v", got)
}
