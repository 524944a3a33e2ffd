package mtl

import (
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
)

// pooledSplit is a split whose tasks are all one.
func pooledSplit(split data.Split) data.Split {
	return data.Split{Train: data.Pool(split.Train), Test: data.Pool(split.Test)}
}

// merged returns a set with the rows of all tasks in one element.
func merged(set *data.Set) *data.Set {
	one := data.Client{Name: "all", X: data.NewMatrix(set.Rows(), set.Features)}
	for t := range set.Clients {
		for i := range set.Clients[t].X.Rows {
			copy(one.X.Row(len(one.Y)), set.Clients[t].X.Row(i))
			one.Y = append(one.Y, set.Clients[t].Y[i])
		}
	}
	return &data.Set{Name: set.Name, Features: set.Features, Clients: []data.Client{one}}
}

// Pooled tasks are the problem of one model on all rows, wherever these lie; its
// test error alone is still a mean over the tasks there were.
func TestPooledTasksAreOneModelOfAllRows(t *testing.T) {
	split := randomSplit(5, 6, 12, 30, 9, 21)
	for _, reg := range []string{RegIndependent, RegProbabilistic, RegMean, RegGraphical} {
		for _, scaling := range []string{Mean, Sum} {
			cfg := Defaults()
			cfg.Regularizer, cfg.LossScaling, cfg.Lambda = reg, scaling, 0.05
			p := mustProblem(t, cfg, pooledSplit(split))
			whole := mustProblem(t, cfg, data.Split{Train: merged(split.Train), Test: merged(split.Test)})
			expect.Must(t, p.Tasks() == 1 && p.Clients() == 4,
				"%d tasks on %d devices, want 1 on 4", p.Tasks(), p.Clients())
			got := p.Solver(testPool, 1e-10, 20_000).Optimize(t.Context(), mustStart(t, p), nil)
			want := whole.Solver(testPool, 1e-10, 20_000).Optimize(t.Context(), mustStart(t, whole), nil)
			if !near(got.Primal, want.Primal, 1e-8) || !near(got.Dual, want.Dual, 1e-8) {
				t.Errorf("%s/%s: optimum P = %.12g, D = %.12g; on all rows in one place %.12g and %.12g",
					reg, scaling, got.Primal, got.Dual, want.Primal, want.Dual)
			}
			mean := 0.0
			for k := range split.Test.Clients {
				alone := *p.Test
				alone.Clients, alone.Owner = split.Test.Clients[k:k+1], []int{0}
				one := mustProblem(t, cfg, data.Split{Train: p.Train, Test: &alone})
				mean += one.Evaluate(testPool, mustStart(t, one), &got.W, nil, nil).TestError / 4
			}
			expect.That(t, near(got.TestErrorClients, mean, 1e-12),
				"%s/%s: test error %g, want %g, the mean over tasks", reg, scaling, got.TestErrorClients, mean)
			together := whole.Evaluate(testPool, mustStart(t, whole), &got.W, nil, nil)
			if !near(got.TrainError, together.TrainError, 1e-12) {
				t.Errorf("%s/%s: training error %g, want that of all rows, %g", reg, scaling, got.TrainError,
					together.TrainError)
			}
			expect.That(t, mean != together.TestError,
				"%s/%s: the mean over tasks equals the mean over rows: the test is too weak", reg, scaling)
		}
	}
}
