package learning

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/federation"
	"fedsim/internal/tools/racetest"
	"fedsim/mtl"
	"fedsim/results"
)

// The baselines of Table 1 as federated methods: MOCHA on pooled data reaches the
// support vector machine on all rows, and with unrelated tasks that on each task's
// rows.
func TestLocalAndGlobalModelsComeOutOfAFederation(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	apart := learning(t)
	cfg := apart.Config
	cfg.Regularizer, cfg.Lambda, cfg.WarmOmega = mtl.RegIndependent, 0.05, 0
	problem := func(cfg mtl.Config, train, test *data.Set) *mtl.Problem {
		t.Helper()
		p := mustProblem(t, cfg, data.Split{Train: train, Test: test})
		return p
	}
	// central solves a problem of one task that lies in one place.
	central := func(cfg mtl.Config, tasks ...data.Client) float64 {
		t.Helper()
		all := data.Client{X: data.NewMatrix(0, apart.Train.Features)}
		for _, task := range tasks {
			all.X.Data = append(all.X.Data, task.X.Data...)
			all.X.Rows += task.X.Rows
			all.Y = append(all.Y, task.Y...)
		}
		p := problem(cfg, &data.Set{Features: apart.Train.Features, Clients: []data.Client{all}}, &data.Set{})
		c, err := p.Regularizer.Start(nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		return p.Solver(world(t, "mocha", federation.WaitForAll, nil).Pool, 1e-10, 100_000).Optimize(t.Context(), c,
			nil).Primal
	}
	// Each w_t of m has the strength m lambda: eq. fixed_cluster_app without Omega.
	m := float64(apart.Tasks())
	alone, sum := cfg, 0.0
	alone.Lambda *= m
	for _, task := range apart.Train.Clients {
		sum += central(alone, task)
	}
	for name, c := range map[string]struct {
		p    *mtl.Problem
		want float64
	}{
		"global": {problem(cfg, data.Pool(apart.Train), data.Pool(apart.Test)), central(cfg, apart.Train.Clients...)},
		"local":  {problem(cfg, apart.Train, apart.Test), sum},
	} {
		s := world(t, "mocha", federation.WaitForAll, func(s *Setup) {
			s.Problem = c.p
			s.Options = &algorithms.MOCHAOptions{Epochs: 20}
			s.Schedule = Schedule{Outer: 1, Rounds: 3000, EvalEvery: 1, Optimum: c.want,
				StopAt: results.ToSuboptimality(1e-7)}
		})
		out := run(t, s)
		last := out.Rounds[len(out.Rounds)-1]
		t.Logf("%s: P = %.9g after %d rounds, %.9g in one place", name, last.Primal, last.Round, c.want)
		if math.Abs(last.Primal-c.want) > 1e-6*c.want {
			t.Errorf("%s: P = %.9g after %d rounds, want %.9g", name, last.Primal, last.Round, c.want)
		}
	}
}
