package mtl

import (
	"fmt"
	"math"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/linalg"
	"fedsim/internal/tools/rng"
)

// The model of a new task under the trace norm has a small gap for every loss, with fewer and with more tasks than
// features, and no point around it is below its objective by more than the gap, with the norm from a decomposition of A
// itself.
func TestNearTraceIsCertified(t *testing.T) {
	draw := rng.New(5, rng.Skew, 0, 0)
	for _, loss := range ScoreLosses() {
		for _, shape := range [][2]int{{3, 7}, {9, 4}} {
			t.Run(fmt.Sprint(loss, shape), func(t *testing.T) {
				m, d, n := shape[0], shape[1], 5
				set := &data.Set{Name: "new", Features: d, Real: loss == LossSquared || loss == LossAbsolute}
				for range 2 {
					client := data.Client{X: data.NewMatrix(n, d)}
					for i := range n {
						for j := range d {
							client.X.Row(i)[j] = draw.Normal()
						}
						client.Y = append(client.Y, math.Copysign(1, float64(i%2)-0.5))
					}
					set.Clients = append(set.Clients, client)
				}
				w := data.NewMatrix(m, d)
				for i := range w.Rows {
					for j := range d {
						w.Row(i)[j] = draw.Normal()
					}
				}
				cfg := Defaults()
				cfg.Loss, cfg.Lambda = loss, 0.05
				p := expect.Value(NewProblem(cfg, data.Split{Train: set, Test: set}))(t)
				objective := func(v []float64) float64 {
					a := make([]float64, (m+1)*(m+1))
					for i := range m + 1 {
						for j := range m + 1 {
							of := func(k int) []float64 {
								if k == m {
									return v
								}
								return w.Row(k)
							}
							for c := range d {
								a[i*(m+1)+j] += of(i)[c] * of(j)[c]
							}
						}
					}
					squares, _ := linalg.Singular(m+1, a)
					sum, total := 0.0, 0.0
					for _, x := range squares {
						sum += math.Sqrt(max(0, x))
					}
					for i := range 3 {
						x := &set.Clients[0]
						total += p.Loss.Value(x.X.Dot(i, v), x.Y[i]) / 3
					}
					return total + cfg.Lambda/2*sum*sum
				}
				v := make([]float64, d)
				gap, flops := p.NearTrace(&set.Clients[0], []int32{0, 1, 2}, &w, 1, v)
				best := objective(v)
				expect.That(t, gap > -1e-6 && gap < 1e-3 && flops > 0, "gap %g, %g FLOPs", gap, flops)
				for k := range 400 {
					near := make([]float64, d)
					for j := range near {
						near[j] = v[j] + draw.Normal()*math.Pow(10, -float64(k%8))
					}
					below := best - objective(near)
					expect.That(t, below <= (gap+1e-7)*best, "%g below the minimum %g, with a gap of %g", below, best,
						gap)
				}
				clear(v)
				v[0] = 1
				gap, _ = p.NearTrace(&set.Clients[0], nil, &w, 1, v)
				expect.That(t, gap == 0 && v[0] == 0, "without rows %v", v)
			})
		}
	}
}
