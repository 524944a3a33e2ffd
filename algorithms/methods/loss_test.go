package methods

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// onLoss makes the problem of randomProblem one with another loss, on real
// targets where the loss takes them: the label times a number that varies from
// row to row.
func onLoss(t testing.TB, loss string, change func(*mtl.Config)) (*mtl.Problem, mtl.Coupling) {
	t.Helper()
	labels, _ := randomProblem(t, change, nil, 9, 14, 5, 30, 8, 21)
	cfg := labels.Config
	cfg.Loss = loss
	train, test := *labels.Train, *labels.Test
	if slices.Contains(mtl.RegressionLosses(), loss) {
		train.Real, test.Real = true, true
		train.Clients = append([]data.Client(nil), train.Clients...)
		for k := range train.Clients {
			task := &train.Clients[k]
			y := make([]float64, len(task.Y))
			for i, label := range task.Y {
				y[i] = label * (0.5 + math.Abs(task.X.Row(i)[0]))
			}
			task.Y = y
		}
	}
	p := mustProblem(t, cfg, data.Split{Train: &train, Test: &test})
	return p, warmed(t, p)
}

// Every method finds the optimum under every loss, with tasks tied to their mean
// and by a learnt coupling, with gamma below 1, also when each device drops in one
// round out of four. On the way dual variables stay where their conjugate is
// finite, rounding included, and the gap stays nonnegative.
func TestEveryMethodUnderEveryLoss(t *testing.T) {
	t.Parallel()
	methods := []struct {
		name      string
		set       func(algorithms.Options)
		rounds    int
		tolerance float64
	}{
		{"mocha", nil, 1500, 1e-6},
		{"cocoa", func(o algorithms.Options) { o.(*algorithms.CoCoAOptions).Theta = 0.5 }, 1500, 1e-6},
		{"async-mocha", nil, 1500, 1e-6},
		{"mb-sdca", func(o algorithms.Options) {
			*o.(*algorithms.MbSDCAOptions) = algorithms.MbSDCAOptions{Batch: 30, Beta: 3}
		}, 6000, 1e-2},
		{"mb-sgd", func(o algorithms.Options) { o.(*algorithms.MbSGDOptions).Batch = 30 }, 6000, 1e-2},
	}
	for _, loss := range mtl.ScoreLosses() {
		for _, tie := range []struct {
			name   string
			change func(*mtl.Config)
		}{{"mean", tiedToMean}, {"learnt", learnt}, {"gamma", damped}} {
			p, c := onLoss(t, loss, tie.change)
			optimum := p.Solver(testPool, 1e-10, 100_000).Optimize(t.Context(), c, nil)
			expect.Must(t, optimum.RelativeGap <= 1e-10,
				"%s, %s: the optimum is certified to %g only", loss, tie.name, optimum.RelativeGap)
			for _, m := range methods {
				t.Run(fmt.Sprintf("%s/%s/%s", loss, tie.name, m.name), func(t *testing.T) {
					a := start(t, m.name, p, c, m.set)
					best := math.Inf(1)
					for h := range m.rounds {
						round(a, p, h, algorithms.NoLimit, func(k int) bool { return chance(k, h, 0.75) })
						for k, block := range a.Model().Duals {
							for i, x := range block {
								if y := p.Loss.Conjugate(x, p.Train.Clients[k].Y[i]); math.IsInf(y, 0) ||
									math.IsNaN(y) {
									t.Fatalf("round %d: alpha_%d[%d] = %v is outside the domain", h, k, i, x)
								}
							}
						}
						if h&(h+1) != 0 && h%50 != 49 {
							continue
						}
						v := evaluate(a, p, c)
						expect.Must(t, !(v.Gap < -1e-9*math.Abs(v.Primal)),
							"round %d: duality gap %g at P = %g", h, v.Gap, v.Primal)
						best = math.Min(best, v.Primal/optimum.Primal-1)
						if best <= m.tolerance {
							break
						}
					}
					if best < -1e-9 || best > m.tolerance {
						t.Errorf("P comes within %.2g of the optimum %g in %d rounds, want %g", best, optimum.Primal,
							m.rounds, m.tolerance)
					}
				})
			}
		}
	}
}
