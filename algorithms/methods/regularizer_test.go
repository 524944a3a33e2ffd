package methods

import (
	"errors"
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// tyings are all regularizers. Those that learn their Omega start from the Omega of two
// central outer iterations.
var tyings = []struct {
	name   string
	learns bool
	change func(*mtl.Config)
}{
	{"independent", false, untied},
	{"mean", false, tiedToMean},
	{"mean of clusters", false, func(c *mtl.Config) { c.Regularizer, c.Clusters = mtl.RegMean, "0,1,0,1,1" }},
	{"clustered", true, func(c *mtl.Config) { c.Regularizer, c.WarmOmega = mtl.RegClustered, 2 }},
	{"probabilistic", true, learnt},
	{"probabilistic, paper", true, func(c *mtl.Config) {
		c.Convention, c.PriorPrecision, c.WarmOmega = mtl.ConventionPaper, 1, 2
	}},
	{"graphical", true, func(c *mtl.Config) {
		c.Regularizer, c.Lambda, c.Lambda1, c.Lambda2, c.WarmOmega = mtl.RegGraphical, 0.01, 0, 0.02, 2
	}},
	{"graphical, sparse W", true, func(c *mtl.Config) {
		c.Regularizer, c.Lambda, c.Lambda1, c.Lambda2, c.WarmOmega = mtl.RegGraphical, 0.01, 0.02, 0.02, 2
	}},
}

// Under every regularizer's coupling MOCHA finds the optimum of the central
// solver, sub-problems in parallel and half of the devices dropping, by every
// rule for sigma'.
func TestMOCHAFindsTheOptimumOfEveryRegularizer(t *testing.T) {
	for _, tying := range tyings {
		for _, rule := range []string{mtl.SigmaSpectral, mtl.SigmaLemma9, mtl.SigmaPerTask} {
			t.Run(tying.name+"/"+rule, func(t *testing.T) {
				p, c := randomProblem(t, func(cfg *mtl.Config) { tying.change(cfg); cfg.SigmaPrime = rule }, nil, 9, 14,
					5, 30, 8, 21)
				optimum := p.Solver(testPool, 1e-8, 20_000).Optimize(t.Context(), c, nil)
				expect.Must(t, optimum.RelativeGap <= 1e-8, "the optimum is known to %g only", optimum.RelativeGap)
				zero := p.NewWeights()
				scale := math.Abs(optimum.Primal - c.Value(&zero, nil)) // of P without the terms in Omega alone
				a := start(t, "mocha", p, c, func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 5 })
				gap := math.Inf(1)
				for h := 0; h < 4000 && gap > 1e-6; h++ {
					round(a, p, h, algorithms.NoLimit, func(k int) bool { return chance(k, h, 0.5) })
					if h%5 == 4 {
						v := evaluate(a, p, c)
						expect.Must(t, v.Gap >= -1e-9*scale, "round %d: duality gap %g", h, v.Gap)
						gap = (v.Primal - optimum.Lower()) / scale
					}
				}
				expect.That(t, gap <= 1e-6 && gap >= -1e-9,
					"P is %.3g (relative) from the central optimum %g", gap, optimum.Primal)
			})
		}
	}
}

// The whole method, as Algorithm 1 has it: rounds to a relative duality gap of
// 1e-5, then an Omega update on the server. Each outer iteration ends no higher
// than the one before, but for those gaps and a floor of 1e-9, and together they
// improve the objective. A known Omega is not updated.
func TestOuterIterationsImproveTheObjective(t *testing.T) {
	for _, tying := range tyings {
		t.Run(tying.name, func(t *testing.T) {
			p, c := randomProblem(t, func(cfg *mtl.Config) { tying.change(cfg); cfg.WarmOmega = 0 }, nil, 9, 14, 11, 30,
				18, 21)
			a := start(t, "mocha", p, c, func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 5 })
			var ends []float64
			for outer := range 5 {
				var v mtl.Objective
				for h := 0; h < 3000; h++ {
					round(a, p, 3000*outer+h, algorithms.NoLimit, nil)
					if v = evaluate(a, p, c); v.Gap <= 1e-5*math.Abs(v.Primal) {
						break
					}
				}
				ends = append(ends, v.Primal)
				next, err := p.Regularizer.Update(testPool, a.Model().W, 1e-9)
				if !tying.learns {
					expect.That(t, errors.Is(err, mtl.ErrFixed), "Update of a known Omega: %v", err)
					return
				}
				expect.NoError(t, err)
				c = next
				a.SetCoupling(c)
			}
			for i := 1; i < len(ends); i++ {
				expect.That(t, ends[i] <= ends[i-1]+1e-5*math.Abs(ends[i-1])+1e-5*math.Abs(ends[i]),
					"outer iterations end at P = %v: the objective rose in number %d", ends, i)
			}
			if last := len(ends) - 1; !(ends[last] < ends[0]-1e-2*math.Abs(ends[0])) {
				t.Errorf("outer iterations end at P = %v: they gain less than 1 %%", ends)
			}
		})
	}
}
