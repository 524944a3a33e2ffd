package theory

import (
	"math"
	"slices"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// Definition of sigma_t: no a has a larger quotient, and power iteration finds
// one whose quotient is as large.
func TestSigmaIsTheLargestQuotient(t *testing.T) {
	for _, scaling := range []string{mtl.Sum, mtl.Mean} {
		// Devices 0 and 1 share a task; some have more rows than features.
		p := newProblem(t, 5, 7, []int{3, 20, 11, 7}, func(cfg *mtl.Config, set *data.Set) {
			cfg.LossScaling = scaling
			set.Owner = []int{0, 0, 1, 2}
		})
		c := start(t, p)
		k := constants(t, p)
		for device, sigma := range k.Sigma {
			n := p.Train.Clients[device].X.Rows
			quotient := func(a []float64) (float64, []float64) {
				v := make([]float64, 7)
				p.AddV(device, v, a) // c X^T a
				top, bottom := 0.0, 0.0
				for _, x := range v {
					top += x * x
				}
				for _, x := range a {
					bottom += x * x
				}
				return c.Diag(p.TaskOf(device)) * top / (p.Scale[device] * bottom), v
			}
			s := rng.New(1, rng.Synthetic, device, 3)
			a := make([]float64, n)
			for range 200 {
				for i := range a {
					a[i] = s.Normal()
				}
				q, _ := quotient(a)
				expect.Must(t, q <= sigma, "%s, device %d: sigma_t = %g, but some a has %g", scaling, device, sigma, q)
			}
			best := 0.0
			for range 5000 {
				q, v := quotient(a)
				best = math.Max(best, q)
				size := 0.0
				for i := range a {
					a[i] = 0
					for j, x := range p.Train.Clients[device].X.Row(i) {
						a[i] += x * v[j]
					}
					size += a[i] * a[i]
				}
				for i := range a {
					a[i] /= math.Sqrt(size)
				}
			}
			expect.That(t, best <= sigma && sigma <= best*(1+1e-9),
				"%s, device %d: sigma_t = %.15g, power iteration finds %.15g", scaling, device, sigma, best)
		}
		if len(k.SigmaPrime) != 4 || k.SigmaPrime[0] != p.SigmaPrime(c)[0] || k.SigmaPrime[3] != p.SigmaPrime(c)[2] {
			t.Errorf("sigma' by device = %v, by task %v", k.SigmaPrime, p.SigmaPrime(c))
		}
	}
}

// A worked example: rows that are c_i times unit vectors have sigma_t = M_tt max c_i^2
// under "sum".
func TestConstantsByHand(t *testing.T) {
	p := newProblem(t, 1, 3, []int{2, 2}, func(cfg *mtl.Config, set *data.Set) {
		cfg.Loss, cfg.Smoothing, cfg.LossScaling = mtl.LossSmoothedHinge, 0.5, mtl.Sum
		for k, rows := range [][2]float64{{1, 2}, {3, 1}} {
			clear(set.Clients[k].X.Data)
			set.Clients[k].X.Row(0)[0], set.Clients[k].X.Row(1)[1] = rows[0], rows[1]
			set.Clients[k].Y = []float64{1, -1}
		}
	})
	k := expect.Value(Of(p, diagonal(t, 0.5, 0.25)))(t)
	// sigma' of a coupling without sharing is 1.
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"sigma_0", k.Sigma[0], 0.5 * 4}, {"sigma_1", k.Sigma[1], 0.25 * 9}, {"sigma_max", k.SigmaMax, 2.25},
		{"sigma'", k.SigmaPrime[0], 1}, {"n", k.N, 4}, {"sigma sigma'", k.Spread, 2*2 + 2.25*2},
		{"mu", k.Mu, 0.5}, {"L", k.L, 1}, {"s", k.S, 0.5 / (0.5 + 2.25)},
		// The smoothed hinge at 0 is 1 - 0.25, and its conjugate 0.
		{"start", k.Start, 4},
	} {
		expect.That(t, near(c.got, c.want, 1e-9), "%s = %.12g, want %.12g", c.name, c.got, c.want)
	}
}

// weighted is the loss c times another.
type weighted struct {
	mtl.Loss
	c float64
}

func (w weighted) Value(z, y float64) float64     { return w.c * w.Loss.Value(z, y) }
func (w weighted) Conjugate(a, y float64) float64 { return w.c * w.Loss.Conjugate(a/w.c, y) }
func (w weighted) Traits() mtl.LossTraits {
	of := w.Loss.Traits()
	return mtl.LossTraits{Smoothness: of.Smoothness / w.c, Lipschitz: of.Lipschitz * w.c}
}

// The weights c_t are the paper's c_t = 1 with the loss c loss: both must have
// the same s and the same 4 L^2 sigma sigma'.
func TestWeightsEqualScaledLosses(t *testing.T) {
	rows := []int{9, 9, 9}
	problem := func(scaling string) *mtl.Problem {
		return newProblem(t, 8, 5, rows, func(cfg *mtl.Config, _ *data.Set) {
			cfg.Loss, cfg.LossScaling, cfg.Gamma = mtl.LossSmoothedHinge, scaling, 0.7
		})
	}
	mean, sum := problem(mtl.Mean), problem(mtl.Sum)
	sum.Loss = weighted{sum.Loss, 1.0 / 9}
	a, b := constants(t, mean), constants(t, sum)
	expect.That(t, near(a.S, b.S, 1e-12), "s = %g with c = 1/9, %g with the loss divided by 9", a.S, b.S)
	x, y := a.Lipschitz(0.3).B, b.Lipschitz(0.3).B
	expect.That(t, near(x, y, 1e-12), "4 L^2 sigma sigma' = %g with c = 1/9, %g with the loss divided by 9", x, y)
}

// D(0) - D* is at most Start, also for squares of large targets, where the paper's n is too
// small.
func TestStartBoundsTheDistanceOfZero(t *testing.T) {
	for _, loss := range mtl.ScoreLosses() {
		for _, scaling := range []string{mtl.Sum, mtl.Mean} {
			for _, size := range []float64{1, 20} {
				p := newProblem(t, 8, 5, []int{12, 6}, func(cfg *mtl.Config, set *data.Set) {
					cfg.Loss, cfg.LossScaling = loss, scaling
					if slices.Contains(mtl.RegressionLosses(), loss) {
						set.Real = true
						for k := range set.Clients {
							for i := range set.Clients[k].Y {
								set.Clients[k].Y[i] *= size
							}
						}
					}
				})
				k := constants(t, p)
				at, _ := dual(p, start(t, p), p.NewBlocks())
				if distance := at - least(t, p); distance > k.Start {
					t.Errorf("%s, %s, size %g: D(0) - D* = %g > %g", loss, scaling, size, distance, k.Start)
				}
				expect.That(t, size != 20 || loss != mtl.LossSquared || k.Start > k.N,
					"%s: start = %g is not above n = %g, which is not a bound here", loss, k.Start, k.N)
			}
		}
	}
}

// Lemma ThetaBound, by drawing theta: devices that drop with probabilities up to
// p_max and otherwise have means up to Theta_max stay below Theta-bar, and reach
// it when both are as large as they may be.
func TestLemmaThetaBound(t *testing.T) {
	const draws = 40_000
	for _, c := range []struct{ p, theta float64 }{{0, 0.3}, {0.5, 0}, {0.5, 0.9}, {0.9, 0.5}, {0.25, 0.25}} {
		bar := ThetaBar(c.p, c.theta)
		for device, share := range []float64{1, 0.7, 0} {
			p, theta := c.p*share, c.theta*share
			s := rng.New(4, rng.Synthetic, device, 0)
			sum, squares := 0.0, 0.0
			for range draws {
				x := 1.0
				if s.Float64() >= p {
					// Uniform around its mean within [0, 1).
					x = theta + (2*s.Float64()-1)*math.Min(theta, 1-theta)
				}
				sum += x
				squares += x * x
			}
			mean := sum / draws
			noise := 4*math.Sqrt(math.Max(0, squares/draws-mean*mean)/draws) + 1e-12
			expect.That(t, mean <= bar+noise,
				"p_max = %g, Theta_max = %g: a mean theta of %g exceeds Theta-bar = %g", c.p, c.theta, mean, bar)
			expect.That(t, share != 1 || mean >= bar-noise,
				"p_max = %g, Theta_max = %g: a mean theta of %g, but Theta-bar = %g", c.p, c.theta, mean, bar)
			expect.That(t, bar < 1, "Theta-bar = %g, want less than 1", bar)
		}
	}
}

// With several classes the constants are those of the binary problem with a block of
// features for each class.
func TestConstantsOfSeveralClasses(t *testing.T) {
	const classes, d = 3, 4
	rows := []int{7, 12}
	label := func(k, i int) int { return (i + k) % classes }
	p := newProblem(t, 3, d, rows, func(cfg *mtl.Config, set *data.Set) {
		cfg.Loss, cfg.LossScaling = mtl.LossSmoothedHinge, mtl.Sum
		set.Classes = []string{"a", "b", "c"}
		for k := range set.Clients {
			for i := range set.Clients[k].Y {
				set.Clients[k].Y[i] = float64(label(k, i))
			}
		}
	})
	wide := newProblem(t, 3, classes*d, []int{classes * rows[0], classes * rows[1]},
		func(cfg *mtl.Config, set *data.Set) {
			cfg.Loss, cfg.LossScaling = mtl.LossSmoothedHinge, mtl.Sum
			for k := range set.Clients {
				x := &set.Clients[k].X
				clear(x.Data)
				for i := range rows[k] {
					for c := range classes {
						copy(x.Row(i*classes + c)[c*d:], p.Train.Clients[k].X.Row(i))
						set.Clients[k].Y[i*classes+c] = -1
						if label(k, i) == c {
							set.Clients[k].Y[i*classes+c] = 1
						}
					}
				}
			}
		})
	got, want := constants(t, p), constants(t, wide)
	for _, c := range [][2]float64{{got.SigmaMax, want.SigmaMax}, {got.N, want.N}, {got.Start, want.Start},
		{got.Spread, want.Spread}, {got.S, want.S}} {
		expect.That(t, near(c[0], c[1], 1e-9), "constants %+v, of the expansion %+v", got, want)
	}
	p.Config.Model = mtl.ModelMLP
	if _, err := Of(p, start(t, p)); err == nil || err.Error() != "the theorems hold for linear models, not for mlp" {
		t.Error(err)
	}
	p.Loss = nil
	if _, err := Of(p, start(t, p)); err == nil {
		t.Error("softmax has constants")
	}
}
