package methods

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// Remark 4: tasks may be shared by devices; the center adds up their results.
// The problem stays the same, so that every dual method, with every rule for sigma' and
// any gamma, must reach the optimum found without sharing.
func TestSharedTasksReachTheSameOptimum(t *testing.T) {
	t.Parallel()
	prepare := func(devices int, rule string, gamma float64) (*mtl.Problem, mtl.Coupling) {
		cfg := data.Defaults()
		cfg.Synthetic.Clients, cfg.Synthetic.Features = 6, 8
		cfg.ClientsPerTask = devices
		split := expect.Value(data.Prepare(cfg))(t)
		problem := mtl.Defaults()
		problem.SigmaPrime, problem.Gamma, problem.Lambda = rule, gamma, 0.1
		p := mustProblem(t, problem, *split)
		c := expect.Value(p.Solver(testPool, 1e-6, 2000).LearnCoupling(t.Context(), 2, 0.1))(t)
		return p, c
	}
	p, c := prepare(1, mtl.SigmaSpectral, 1)
	optimum := p.Solver(testPool, 1e-9, 20000).Optimize(t.Context(), c, nil)
	for _, rule := range []string{mtl.SigmaSpectral, mtl.SigmaLemma9, mtl.SigmaPerTask} {
		for _, gamma := range []float64{1, 0.5} {
			q, _ := prepare(3, rule, gamma)
			expect.Must(t, q.Tasks() == 6 && q.Clients() == 18,
				"%d tasks on %d devices, want 6 on 18", q.Tasks(), q.Clients())
			if central := q.Solver(testPool, 1e-9, 20000).Optimize(t.Context(), c,
				nil); math.Abs(central.Primal-optimum.Primal) > 1e-8*optimum.Primal {
				t.Errorf("P* = %.12g with shared tasks, %.12g without", central.Primal, optimum.Primal)
			}
			for _, method := range []string{"mocha", "cocoa", "async-mocha"} {
				a := start(t, method, q, c, nil)
				last := math.Inf(1)
				for h := range 3000 {
					round(a, q, h, algorithms.NoLimit, nil)
					v := evaluate(a, q, c)
					expect.Must(t, v.Gap >= -1e-9*math.Abs(v.Primal),
						"%s/%s/%g: duality gap %g in round %d", method, rule, gamma, v.Gap, h)
					expect.Must(t, v.Dual <= last+1e-12*math.Abs(last),
						"%s/%s/%g: round %d raised the dual from %.15g to %.15g", method, rule, gamma, h, last, v.Dual)
					last = v.Dual
					if v.Primal-optimum.Primal <= 1e-5*optimum.Primal {
						break
					}
				}
				m := a.Model()
				expect.That(t, m.W.Rows == 6, "W has %d rows, want one for each of 6 tasks", m.W.Rows)
				if v := evaluate(a, q, c); v.Primal-optimum.Primal > 1e-5*optimum.Primal {
					t.Errorf("%s/%s/%g: P = %g, want %g", method, rule, gamma, v.Primal, optimum.Primal)
				}
			}
		}
	}
}
