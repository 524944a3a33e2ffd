package mtl

import (
	"fmt"
	"math"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/rng"
)

var testPool = parallel.NewPool(2)

// randomSplit makes a small classification problem with the given task sizes:
// labels follow a task's own direction, with one row in ten flipped.
func randomSplit(seed uint64, features int, sizes ...int) data.Split {
	set := func(purpose rng.Purpose) *data.Set {
		s := &data.Set{Name: "random", Features: features, Generated: true}
		for t, n := range sizes {
			shared := rng.New(seed, rng.Skew, 0, 0)
			own := rng.New(seed, rng.Skew, t+1, 0)
			w := make([]float64, features)
			for j := range w {
				w[j] = shared.Normal() + own.Normal()
			}
			draw := rng.New(seed, purpose, t, 0)
			task := data.Client{Name: fmt.Sprint(t), X: data.NewMatrix(n, features), Y: make([]float64, n)}
			for i := range n {
				z := 0.0
				x := task.X.Row(i)
				for j := range x {
					x[j] = draw.Normal()
					z += x[j] * w[j]
				}
				task.Y[i] = math.Copysign(1, z)
				if draw.Float64() < 0.1 {
					task.Y[i] = -task.Y[i]
				}
			}
			s.Clients = append(s.Clients, task)
		}
		return s
	}
	return data.Split{Train: set(rng.Synthetic), Test: set(rng.Split)}
}

func mustProblem(t testing.TB, cfg Config, split data.Split) *Problem {
	t.Helper()
	p := expect.Value(NewProblem(cfg, split))(t)
	return p
}

func mustStart(t testing.TB, p *Problem) Coupling {
	t.Helper()
	c := expect.Value(p.Regularizer.Start(testPool, p.Tasks()))(t)
	return c
}

func randomMatrix(seed uint64, rows, cols int) data.Matrix {
	s := rng.New(seed, rng.Synthetic, 0, 1)
	m := data.NewMatrix(rows, cols)
	for i := range rows {
		for j := range cols {
			m.Row(i)[j] = s.Normal()
		}
	}
	return m
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*(1+math.Abs(want))
}
