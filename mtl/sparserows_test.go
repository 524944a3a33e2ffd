package mtl

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// sparseTwins returns a split of dense rows with few nonzero values, and the equal one of
// sparse rows.
func sparseTwins(features, classes int, sizes ...int) (dense, sparse data.Split) {
	dense = randomSplit(11, features, sizes...)
	draw := rng.New(11, rng.Share, 0, 0)
	twin := func(set *data.Set) *data.Set {
		twin := *set
		twin.Clients = slices.Clone(set.Clients)
		for t := range set.Clients {
			x := &set.Clients[t].X
			s := data.Matrix{Rows: x.Rows, Cols: x.Cols, Starts: []int{0}}
			for i := range x.Rows {
				for j, v := range x.Row(i) {
					if draw.Float64() > 0.1 {
						x.Row(i)[j] = 0
						continue
					}
					s.Indices, s.Nonzeros = append(s.Indices, int32(j)), append(s.Nonzeros, v)
				}
				s.Starts = append(s.Starts, len(s.Nonzeros))
				if classes > 0 {
					set.Clients[t].Y[i] = float64(int(draw.Float64() * float64(classes)))
				}
			}
			twin.Clients[t].X = s
		}
		return &twin
	}
	for c := range classes {
		dense.Train.Classes = append(dense.Train.Classes, fmt.Sprint(c))
	}
	dense.Test.Classes = dense.Train.Classes
	return dense, data.Split{Train: twin(dense.Train), Test: twin(dense.Test)}
}

// Sparse rows give the results of equal dense rows up to the order of sums: norms, dual
// steps, gradients, evaluations and optima.
func TestSparseRowsLikeDense(t *testing.T) {
	for _, test := range []struct {
		loss    string
		classes int
	}{{LossHinge, 0}, {LossLogistic, 0}, {LossSquaredHinge, 0}, {LossHinge, 3}, {LossLogistic, 3}, {LossSoftmax, 3}} {
		t.Run(fmt.Sprint(test.loss, test.classes), func(t *testing.T) {
			dense, sparse := sparseTwins(50, test.classes, 12, 20, 9)
			cfg := Defaults()
			cfg.Loss, cfg.Lambda = test.loss, 0.05
			problems := [2]*Problem{mustProblem(t, cfg, dense), mustProblem(t, cfg, sparse)}
			for _, p := range problems {
				p.exceedsCache = true
			}
			var numbers [2][]float64
			for k, p := range problems {
				add := func(x ...float64) { numbers[k] = append(numbers[k], x...) }
				for _, norms := range p.Norms {
					add(norms...)
				}
				c := mustStart(t, p)
				w, v := p.NewWeights(), p.NewWeights()
				duals := make([][]float64, p.Clients())
				var order Order
				for device := range duals {
					n := p.Train.Clients[device].X.Rows
					duals[device] = make([]float64, n*p.Outputs)
					if test.loss == LossSoftmax {
						continue
					}
					u := slices.Clone(w.Row(device))
					order.Reset(n, rng.New(1, rng.Solve, device, 0))
					p.Subproblem(device, 0.3).SDCA(duals[device], u, &order, 2*n)
					p.Subproblem(device, 0.3).Step(duals[device], u, n/2)
					add(u...)
					DeltaV(v.Row(device), u, w.Row(device), 0.3)
				}
				if c.Primal(&w, &v); test.loss == LossSoftmax {
					duals = nil
					copy(w.Data, randomMatrix(4, w.Rows, w.Cols).Data)
				}
				add(w.Data...)
				gradient := make([]float64, p.Values())
				p.NewGradient().Sum(&p.Train.Clients[1], []int32{0, 3, 5}, w.Row(1), 0.7, gradient)
				add(gradient...)
				o := p.Evaluate(testPool, c, &w, &v, duals)
				add(o.Primal, o.TrainError, o.TestError)
			}
			d := apart(numbers[0], numbers[1])
			expect.That(t, d <= 1e-12, "sparse and dense rows differ by %g", d)
			var optima [2]float64
			for k, p := range problems {
				optima[k] = p.Solver(testPool, 1e-9, 3000).Optimize(t.Context(), mustStart(t, p), nil).Primal
			}
			expect.That(t, math.Abs(optima[0]-optima[1]) <= 1e-8*optima[0], "optima %v differ", optima)
		})
	}
}

// apart is the largest difference of two lists of numbers, relative to the largest of
// them.
func apart(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	far, most := 0.0, 0.0
	for i := range a {
		far, most = max(far, math.Abs(a[i]-b[i])), max(most, math.Abs(a[i]))
	}
	return far / most
}
