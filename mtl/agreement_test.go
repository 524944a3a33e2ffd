package mtl

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/expect"
)

// penalty is a regularizer with a fixed Omega, by this package and by the formulas of the
// paper.
type penalty struct {
	name      string
	configure func(*Config)
	// learned: the coupling is that of the Omega learned from penaltyW, else the
	// one that is known from the start.
	learned bool
	// plain returns A, l1 and the constant of R(W) = 1/2 tr(W A W^T) + l1 |W|_1 +
	// constant, for m tasks of d features.
	plain func(m, d int) (a *mat.SymDense, l1, constant float64)
}

const penaltyFloor = 0.01

// penaltyW is the W for Omega updates.
func penaltyW(m, d int) data.Matrix { return randomMatrix(77, m, d) }

var penalties = []penalty{
	{
		name:      "independent",
		configure: func(c *Config) { c.Regularizer, c.Lambda = RegIndependent, 0.05 },
		// lambda m/2 tr(W W^T)
		plain: func(m, _ int) (*mat.SymDense, float64, float64) {
			return symmetric(m, func(s, t int) float64 { return 0.05 * float64(m) * delta(s, t) }), 0, 0
		},
	},
	{
		name:      "mean",
		configure: func(c *Config) { c.Regularizer, c.Lambda1, c.Lambda2 = RegMean, 0.3, 0.02 },
		// l1 tr(W Omega W^T) + l2 |W|^2, Omega = (I - 11^T/m)^2 = I - 11^T/m
		plain: func(m, _ int) (*mat.SymDense, float64, float64) {
			return symmetric(m, func(s, t int) float64 {
				return 2 * (0.3*(delta(s, t)-1/float64(m)) + 0.02*delta(s, t))
			}), 0, 0
		},
	},
	{
		name: "mean of clusters",
		configure: func(c *Config) {
			c.Regularizer, c.Lambda1, c.Lambda2, c.Clusters = RegMean, 0.3, 0.02, "0,1,0"
		},
		// The same within the cluster of the tasks 0 and 2; task 1 is its own mean.
		plain: func(m, _ int) (*mat.SymDense, float64, float64) {
			mean := mat.NewSymDense(3, []float64{0.5, 0, 0.5, 0, 1, 0, 0.5, 0, 0.5})
			return symmetric(m, func(s, t int) float64 {
				return 2 * (0.3*(delta(s, t)-mean.At(s, t)) + 0.02*delta(s, t))
			}), 0, 0
		},
	},
	{
		name: "clustered",
		configure: func(c *Config) {
			c.Regularizer, c.Lambda, c.Eta, c.ClusterCount = RegClustered, 0.05, 0.2, 1.5
		},
		learned: true,
		// lambda tr(W (eta I + Omega)^-1 W^T)
		plain: func(m, d int) (*mat.SymDense, float64, float64) {
			// Minimizing sum s_i^2/(eta + o_i) over sum o_i = k: o_i = clip(s_i/level - eta, 0, 1).
			share := func(size, level float64) float64 { return math.Min(1, math.Max(0, size/level-0.2)) }
			low, high := 1e-6, 1e6
			for range 200 {
				level, sum := math.Sqrt(low*high), 0.0
				for _, size := range penaltySizes(m, d) {
					sum += share(size, level)
				}
				if sum > 1.5 {
					low = level
				} else {
					high = level
				}
			}
			omega := spectral(m, d, func(size float64) float64 {
				return (1-penaltyFloor)*share(size, low) + penaltyFloor*1.5/float64(m) + 0.2
			})
			inverse := inverted(omega)
			return symmetric(m, func(s, t int) float64 { return 2 * 0.05 * inverse.At(s, t) }), 0, 0
		},
	},
	{
		name:      "probabilistic, authors",
		configure: func(c *Config) { c.Lambda = 0.1 },
		learned:   true,
		// lambda/2 tr(W Omega^-1 W^T)
		plain: func(m, d int) (*mat.SymDense, float64, float64) {
			inverse := inverted(covariance(m, d))
			return symmetric(m, func(s, t int) float64 { return 0.1 * inverse.At(s, t) }), 0, 0
		},
	},
	{
		name: "probabilistic, paper",
		configure: func(c *Config) {
			c.Convention, c.Lambda, c.PriorPrecision = ConventionPaper, 0.03, 2
		},
		learned: true,
		// lambda (1/s2 |W|^2 + tr(W Omega^-1 W^T))
		plain: func(m, d int) (*mat.SymDense, float64, float64) {
			inverse := inverted(covariance(m, d))
			return symmetric(m, func(s, t int) float64 { return 2 * 0.03 * (2*delta(s, t) + inverse.At(s, t)) }), 0, 0
		},
	},
	{
		name: "graphical",
		configure: func(c *Config) {
			c.Regularizer, c.Lambda, c.Lambda1, c.Lambda2, c.PriorPrecision = RegGraphical, 0.02, 0, 0, 0.5
		},
		learned: true,
		plain:   func(m, d int) (*mat.SymDense, float64, float64) { return graph(m, d, 0.02, 0) },
	},
	{
		name: "graphical, sparse",
		configure: func(c *Config) {
			c.Regularizer, c.Lambda, c.Lambda1, c.Lambda2, c.PriorPrecision = RegGraphical, 0.02, 0.03, 0, 0.5
		},
		learned: true,
		plain:   func(m, d int) (*mat.SymDense, float64, float64) { return graph(m, d, 0.02, 0.03) },
	},
	{
		name: "graphical, at the start",
		configure: func(c *Config) {
			c.Regularizer, c.Lambda, c.Lambda1, c.Lambda2, c.PriorPrecision = RegGraphical, 0.02, 0.1, 0.3, 0.5
		},
		// Omega = I: log det Omega = 0 and |Omega|_1 = m.
		plain: func(m, _ int) (*mat.SymDense, float64, float64) {
			return symmetric(m, func(s, t int) float64 { return 2 * 0.02 * 1.5 * delta(s, t) }), 0.1, 0.3 * float64(m)
		},
	},
}

// graph is eq. graph1 with 1/s2 = 1/2 and l2 = 0, under the Omega that minimizes
// tr(W Omega W^T) - d log det Omega, which is d (W^T W)^-1.
func graph(m, d int, lambda, l1 float64) (*mat.SymDense, float64, float64) {
	omega := spectral(m, d, func(size float64) float64 { return float64(d) / (size * size) })
	trace := mat.Trace(omega)
	omega = symmetric(m, func(s, t int) float64 {
		return (1-penaltyFloor)*omega.At(s, t) + penaltyFloor*trace/float64(m)*delta(s, t)
	})
	a := symmetric(m, func(s, t int) float64 { return 2 * lambda * (0.5*delta(s, t) + omega.At(s, t)) })
	return a, l1, -lambda * float64(d) * math.Log(mat.Det(omega))
}

func delta(s, t int) float64 {
	if s == t {
		return 1
	}
	return 0
}

func symmetric(m int, at func(s, t int) float64) *mat.SymDense {
	a := mat.NewSymDense(m, nil)
	for s := range m {
		for t := s; t < m; t++ {
			a.SetSym(s, t, at(s, t))
		}
	}
	return a
}

func inverted(a *mat.SymDense) *mat.SymDense {
	var chol mat.Cholesky
	var inverse mat.SymDense
	if !chol.Factorize(a) {
		panic("not positive definite")
	}
	if err := chol.InverseTo(&inverse); err != nil {
		panic(err)
	}
	return &inverse
}

// spectral returns the matrix with the eigenvectors of penaltyW's W^T W and the
// eigenvalues that the function returns for the singular values of W.
func spectral(m, d int, eigenvalue func(size float64) float64) *mat.SymDense {
	w := penaltyW(m, d)
	var gram mat.SymDense
	gram.SymOuterK(1, mat.NewDense(m, w.Stride, w.Data))
	var e mat.EigenSym
	if !e.Factorize(&gram, true) {
		panic("no eigenvalues")
	}
	var q mat.Dense
	e.VectorsTo(&q)
	values := e.Values(nil)
	return symmetric(m, func(s, t int) float64 {
		x := 0.0
		for k, v := range values {
			x += eigenvalue(math.Sqrt(math.Max(0, v))) * q.At(s, k) * q.At(t, k)
		}
		return x
	})
}

// penaltySizes returns the singular values of penaltyW.
func penaltySizes(m, d int) []float64 {
	var sizes []float64
	spectral(m, d, func(size float64) float64 {
		sizes = append(sizes, size)
		return 0
	})
	return sizes[:m] // the first entry of the matrix goes through all of them
}

// covariance returns (1-floor) (W^T W)^1/2 / tr (W^T W)^1/2 + floor I/m of
// penaltyW.
func covariance(m, d int) *mat.SymDense {
	trace := 0.0
	for _, size := range penaltySizes(m, d) {
		trace += size
	}
	return spectral(m, d, func(size float64) float64 {
		return (1-penaltyFloor)*size/trace + penaltyFloor/float64(m)
	})
}

// coupling returns the coupling that this package computes for the penalty.
func (pe penalty) coupling(t *testing.T, p *Problem) Coupling {
	t.Helper()
	if !pe.learned {
		return mustStart(t, p)
	}
	w := penaltyW(p.Tasks(), p.Values())
	c := expect.Value(p.Regularizer.Update(testPool, &w, penaltyFloor))(t)
	return c
}

// Each loss under each regularizer's fixed coupling has the optimum that a
// generic convex solver finds from the paper's formulas: to 1e-6 in the
// objective, relative, and to 1e-4 in W.
func TestOptimaAgreeWithAGenericSolver(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds")
	}
	for i, r := range penalties {
		for j, loss := range ScoreLosses() {
			seed := uint64(i+j) % 2
			t.Run(fmt.Sprintf("%s/%s/%d", r.name, loss, seed), func(t *testing.T) {
				cfg := Defaults()
				r.configure(&cfg)
				cfg.Loss = loss
				cfg.LossScaling = []string{Mean, Sum}[seed]
				split := randomSplit(40+seed, 4, 14, 9, 12)
				if seed == 1 && takesReals(loss) {
					split = realTargets(split)
				}
				p := mustProblem(t, cfg, split)
				c := r.coupling(t, p)
				o := p.Solver(testPool, 1e-9, 20_000).Optimize(t.Context(), c, nil)
				expect.Must(t, o.RelativeGap <= 1e-9 && o.Gap >= -1e-12,
					"relative gap %g after %d sweeps", o.RelativeGap, o.Sweeps)
				a, l1, constant := r.plain(p.Tasks(), p.Features)
				reference := &plain{set: split.Train, scale: p.Scale, loss: plainOf(t, loss), a: a, l1: l1}
				ours := mat.NewDense(p.Tasks(), p.Features, nil)
				for k := range p.Tasks() {
					ours.SetRow(k, o.W.Row(k))
				}
				if there := reference.value(ours) + constant; !near(o.Primal, there, 1e-10) {
					t.Errorf("P at our W is %.12g, by the formulas %.12g", o.Primal, there)
				}
				w, converged := reference.solve()
				expect.Must(t, converged, "the generic solver has not converged")
				want := reference.value(w) + constant
				expect.That(t, math.Abs(o.Primal-want) <= 1e-6*math.Abs(want),
					"P* = %.10g, the generic solver finds %.10g", o.Primal, want)
				expect.That(t, want >= o.Lower()-1e-9*math.Abs(want),
					"the objective %.12g of the generic solver is below the certified bound %.12g", want, o.Lower())
				var apart mat.Dense
				apart.Sub(ours, w)
				if distance := mat.Norm(&apart, 2); distance > 1e-4*(1+mat.Norm(w, 2)) {
					t.Errorf("W is %g away from the generic solver's", distance)
				}
			})
		}
	}
}
