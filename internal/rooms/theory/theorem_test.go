package theory

import (
	"math"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// averaged runs a W update over seeds and returns D - D* and the duality gap of
// the mean of alpha over the rounds from+1 to to, and D - D* of the last alpha,
// each as its mean over the seeds; and the samples.
func averaged(t *testing.T, p *mtl.Problem, seeds, from, to int, epochs float64,
	drop func(int) float64) (distance, gap, last float64, samples []Trajectory) {
	t.Helper()
	lowest := least(t, p)
	for seed := range seeds {
		u := newUpdate(t, p, uint64(seed+1), epochs, drop)
		mean := p.NewBlocks()
		s := Trajectory{Gaps: []float64{u.at() - lowest}}
		for h := 1; h <= to; h++ {
			s.Thetas = append(s.Thetas, u.next())
			s.Gaps = append(s.Gaps, u.at()-lowest)
			if h <= from {
				continue
			}
			for k, a := range u.method.Model().Duals {
				for i, x := range a {
					mean[k][i] += (x - mean[k][i]) / float64(h-from) // stays in the domain
				}
			}
		}
		for k := range mean {
			for i, y := range p.Train.Clients[k].Y {
				// The mean of values in [0, y] may leave it by its rounding.
				mean[k][i] = y * math.Min(1, math.Max(0, y*mean[k][i]))
			}
		}
		d, g := dual(p, u.c, mean)
		distance += (d - lowest) / float64(seeds)
		gap += g / float64(seeds)
		last += s.Gaps[to] / float64(seeds)
		samples = append(samples, s)
	}
	return distance, gap, last, samples
}

// Theorem 2 on the hinge: after H rounds, the mean of alpha over the rounds
// H0+1..H has an expected D - D* of at most eps, and so has its duality gap
// ("similarly ... the expected duality gap"); no alpha^h crosses the curve.
func TestTheorem2OnTheHinge(t *testing.T) {
	const seeds = 4
	for _, c := range []struct {
		seed          uint64
		rows          []int
		p, epochs     float64
		scaling, rule string
		gamma         float64
	}{
		{1, []int{4, 6, 5}, 0, 1, mtl.Mean, mtl.SigmaSpectral, 1},
		{2, []int{4, 6, 5, 3}, 0.3, 0.4, mtl.Mean, mtl.SigmaLemma9, 1},
		{3, []int{8, 3}, 0.5, 1, mtl.Sum, mtl.SigmaPerTask, 1},
		{4, []int{4, 6, 5}, 0.2, 2, mtl.Mean, mtl.SigmaPerTask, 0.5},
	} {
		p := newProblem(t, c.seed, 3, c.rows, func(cfg *mtl.Config, _ *data.Set) {
			cfg.LossScaling, cfg.SigmaPrime, cfg.Gamma = c.scaling, c.rule, c.gamma
			cfg.Lambda1, cfg.Lambda2 = 0.5, 0.15
			if c.scaling == mtl.Sum {
				cfg.Lambda1, cfg.Lambda2 = 4, 1
			}
		})
		k := constants(t, p)
		drop := func(int) float64 { return c.p }
		// Theta-bar from a separate trial, a little larger for its noise.
		_, _, _, trial := averaged(t, p, seeds, 0, 50, c.epochs, drop)
		bar := ThetaBar(stragglers(trial, 0, 50))
		bar += 0.2 * (1 - bar)
		b := k.Lipschitz(bar)
		eps := k.Start / 6
		_, from, to := b.Phases(eps)
		expect.Must(t, to <= 20_000, "H = %g: choose a problem that is easier to wait for", to)
		distance, gap, last, samples := averaged(t, p, seeds, int(from), int(to), c.epochs, drop)
		t.Logf("H0 = %g, H = %g, eps = %.3g: D - D* of the mean is %.2g of eps, its gap %.2g, "+
			"D - D* of the last alpha %.2g",
			from, to, eps, distance/eps, gap/eps, last/eps)
		const rounding = 1e-9
		expect.That(t, distance <= eps && distance >= -rounding,
			"D - D* of the mean alpha = %g, want it in [0, %g]", distance, eps)
		expect.That(t, gap <= eps && gap >= distance-rounding,
			"its duality gap = %g, want it in [%g, %g]", gap, distance, eps)
		s := expect.Value(k.Study(samples, eps, rounding))(t)
		h, bound, ok := s.Violation()
		expect.That(t, ok, "round %d: %g lies above the curve at %g", h, s.Mean[h], bound)
		expect.That(t, s.Measured >= 0 && float64(s.Measured) <= s.H,
			"measured H = %d, the bound is %g", s.Measured, s.H)
	}
}

// Theorem 2 as printed, with n^2, gives too few rounds: about 20 where hundreds are needed.
// With many tasks that are strongly coupled to their mean, sigma' is near m, and a round
// changes each task little.
func TestTheorem2AsPrintedIsTooOptimistic(t *testing.T) {
	rows := make([]int, 24)
	for k := range rows {
		rows[k] = 8
	}
	p := newProblem(t, 3, 4, rows, func(cfg *mtl.Config, _ *data.Set) {
		cfg.LossScaling, cfg.Lambda1, cfg.Lambda2 = mtl.Sum, 1000, 0.2
	})
	k := constants(t, p)
	// Without dropouts and with solved subproblems, Theta-bar is below 0.05.
	b := k.Lipschitz(0.05)
	n := k.N
	printed := b
	printed.B /= n * n
	eps := 4 * k.Spread / (n * n)
	h0 := math.Max(0, 1+math.Log(2*n*n*k.Start/b.B)/b.Q)
	from := math.Ceil(h0 + 4*printed.B/(b.Q*eps))
	to := from + math.Ceil(2/b.Q*math.Max(1, printed.B/(2*eps)))
	distance, _, _, samples := averaged(t, p, 1, int(from), int(to), 200, func(int) float64 { return 0 })
	pMax, thetaMax := stragglers(samples, 0, int(to))
	expect.Must(t, pMax <= 0 && thetaMax <= 0.05, "p_max = %g, Theta_max = %g", pMax, thetaMax)
	t.Logf("as printed H0 = %g, H = %g for eps = %.3g: D - D* is %.3g; with 1 for n^2, H = %.3g", from, to, eps,
		distance, b.Rounds(eps))
	expect.That(t, distance > eps, "D - D* = %g is at most eps = %g after the printed H = %g rounds", distance, eps, to)
}

// Corollary asym in a run: with p_h = 1 - h^-1/2 the distance goes to zero, with
// p_h = 1 - h^-2 it stays at the value after the first few rounds; both lie
// below the corollary's curve.
func TestCorollaryInARun(t *testing.T) {
	p := newProblem(t, 6, 4, []int{10, 14, 12}, func(cfg *mtl.Config, _ *data.Set) {
		cfg.Loss, cfg.Smoothing = mtl.LossSmoothedHinge, 1
		cfg.Lambda1, cfg.Lambda2 = 0.1, 0.05
	})
	k := constants(t, p)
	lowest := least(t, p)
	const rounds, seeds = 3000, 4
	for _, c := range []struct {
		power float64
		zero  bool
	}{{0.5, true}, {2, false}} {
		var samples []Trajectory
		for seed := range uint64(seeds) {
			u := newUpdate(t, p, seed+1, 0.2, func(h int) float64 { return 1 - math.Pow(float64(h+1), -c.power) })
			s := Trajectory{Gaps: []float64{u.at() - lowest}}
			for range rounds {
				s.Thetas = append(s.Thetas, u.next())
				s.Gaps = append(s.Gaps, u.at()-lowest)
			}
			samples = append(samples, s)
		}
		s := expect.Value(k.Study(samples, 1e-6*k.Start, 1e-9))(t)
		for h := range s.Mean {
			if s.Mean[h] > s.Corollary[h] {
				t.Fatalf("p_h = 1 - h^-%g: in round %d the mean of %g lies above the corollary's %g", c.power, h,
					s.Mean[h], s.Corollary[h])
			}
		}
		share := s.Mean[rounds] / s.Mean[0]
		t.Logf("p_h = 1 - h^-%g: D - D* is at %.2g of its start, the curve at %.2g", c.power, share,
			s.Corollary[rounds]/s.Corollary[0])
		if c.zero && share > 1e-5 || !c.zero && share < 1e-3 {
			t.Errorf("p_h = 1 - h^-%g: D - D* is at %g of its start after %d rounds, want it to go to zero: %v",
				c.power, share, rounds, c.zero)
		}
	}
}
