package mtl

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// tied is a regularizer with the formula of the paper: A of
// R(W, Omega) = 1/2 tr(W A W^T) + l1 |W|_1 + constant.
type tied struct {
	name        string
	Regularizer Regularizer
	quadratic   func(omega *mat.SymDense) *mat.SymDense // A
	constant    func(omega *mat.SymDense) float64
	l1          float64
	begin       *mat.SymDense                                   // the Omega of Start
	omega       func(m *mat.SymDense) *mat.SymDense             // Omega of a coupling's M; nil: it is not learned
	feasible    func(t *testing.T, omega *mat.SymDense) float64 // by how much Omega is outside its set
}

const (
	tiedTasks    = 5
	tiedFeatures = 7
)

func multiple(m int, scale float64) *mat.SymDense {
	return symmetric(m, func(s, t int) float64 { return scale * delta(s, t) })
}

func none(*mat.SymDense) float64 { return 0 }

// regularizers returns all regularizers, for tiedTasks tasks and tiedFeatures features.
func regularizers() []tied {
	const m, d = tiedTasks, tiedFeatures
	known := symmetric(m, func(s, t int) float64 { return 2*delta(s, t) - 0.3/float64(1+s+t) })
	clusters := []int{4, 0, 4, 0, 4}
	centering := symmetric(m, func(s, t int) float64 { // (I - 11^T/n)^2 = I - 11^T/n on clusters of 3 and 2
		if clusters[s] != clusters[t] {
			return 0
		}
		return delta(s, t) - 1/float64(2+clusters[s]/4)
	})
	mean := func(l1, l2 float64) func(*mat.SymDense) *mat.SymDense {
		return func(omega *mat.SymDense) *mat.SymDense {
			return symmetric(m, func(s, t int) float64 { return 2 * (l1*omega.At(s, t) + l2*delta(s, t)) })
		}
	}
	clustered := Clustered{Lambda: 0.3, Eta: 0.2, Count: 1.7}
	graph := func(l1 float64) tied {
		r := Graphical{Lambda: 0.02, PriorPrecision: 0.4, L1: l1, L2: 0.03, Features: d}
		return tied{
			name: fmt.Sprintf("graphical, l1 = %g", l1), Regularizer: r, l1: l1, begin: multiple(m, 1),
			quadratic: func(omega *mat.SymDense) *mat.SymDense {
				return symmetric(m,
					func(s, t int) float64 { return 2 * r.Lambda * (r.PriorPrecision*delta(s, t) + omega.At(s, t)) })
			},
			constant: func(omega *mat.SymDense) float64 {
				sum := 0.0
				for _, x := range mat.DenseCopyOf(omega).RawMatrix().Data {
					sum += math.Abs(x)
				}
				return -r.Lambda*d*math.Log(mat.Det(omega)) + r.L2*sum
			},
			omega: func(M *mat.SymDense) *mat.SymDense {
				inverse := inverted(M)
				return symmetric(m,
					func(s, t int) float64 { return inverse.At(s, t)/(2*r.Lambda) - r.PriorPrecision*delta(s, t) })
			},
			feasible: func(t *testing.T, omega *mat.SymDense) float64 { return -leastEigenvalue(t, omega) },
		}
	}
	probabilistic := func(name string, r Probabilistic, scale float64) tied {
		return tied{
			name: name, Regularizer: r, begin: multiple(m, 1.0/m), constant: none,
			quadratic: func(omega *mat.SymDense) *mat.SymDense {
				inverse := inverted(omega)
				return symmetric(m,
					func(s, t int) float64 { return scale * (r.PriorPrecision*delta(s, t) + inverse.At(s, t)) })
			},
			omega: func(M *mat.SymDense) *mat.SymDense {
				inverse := inverted(M)
				return inverted(
					symmetric(m,
						func(s, t int) float64 { return inverse.At(s, t)/scale - r.PriorPrecision*delta(s, t) }))
			},
			feasible: func(t *testing.T, omega *mat.SymDense) float64 {
				return math.Max(-leastEigenvalue(t, omega), math.Abs(mat.Trace(omega)-1))
			},
		}
	}
	return []tied{
		{name: "independent", Regularizer: Independent{0.3}, begin: multiple(m, 1.0/m), constant: none,
			// lambda m/2 tr(W W^T)
			quadratic: func(*mat.SymDense) *mat.SymDense { return multiple(m, 0.3*m) }},
		{name: "mean", Regularizer: MeanRegularized{Lambda1: 0.5, Lambda2: 0.1}, constant: none,
			quadratic: mean(0.5, 0.1),
			begin:     symmetric(m, func(s, t int) float64 { return delta(s, t) - 1.0/m })},
		{name: "mean of clusters", Regularizer: MeanRegularized{Lambda1: 0.5, Lambda2: 0.1, Clusters: clusters},
			constant: none, quadratic: mean(0.5, 0.1), begin: centering},
		{name: "known Omega", Regularizer: MeanRegularized{Lambda1: 0.2, Lambda2: 0.3, Omega: known},
			constant: none, quadratic: mean(0.2, 0.3), begin: known},
		{name: "clustered", Regularizer: clustered, begin: multiple(m, clustered.Count/m), constant: none,
			quadratic: func(omega *mat.SymDense) *mat.SymDense {
				inverse :=
					inverted(symmetric(m, func(s, t int) float64 { return clustered.Eta*delta(s, t) + omega.At(s, t) }))
				return symmetric(m, func(s, t int) float64 { return 2 * clustered.Lambda * inverse.At(s, t) })
			},
			omega: func(M *mat.SymDense) *mat.SymDense {
				return symmetric(m,
					func(s, t int) float64 { return 2*clustered.Lambda*M.At(s, t) - clustered.Eta*delta(s, t) })
			},
			feasible: func(t *testing.T, omega *mat.SymDense) float64 {
				above := symmetric(m, func(s, t int) float64 { return delta(s, t) - omega.At(s, t) })
				return math.Max(math.Abs(mat.Trace(omega)-clustered.Count),
					math.Max(-leastEigenvalue(t, omega), -leastEigenvalue(t, above)))
			}},
		probabilistic("probabilistic, authors", Probabilistic{Lambda: 0.2}, 0.2),
		probabilistic("probabilistic, paper", Probabilistic{Lambda: 0.2, PriorPrecision: 0.7, Paper: true}, 0.4),
		graph(0), graph(0.05),
	}
}

func leastEigenvalue(t *testing.T, a *mat.SymDense) float64 {
	t.Helper()
	values := expect.Value(eigenvalues(a))(t)
	return values[0]
}

// value is R(W, Omega) by its formula.
func (ti *tied) value(w *data.Matrix, omega *mat.SymDense) float64 {
	a := ti.quadratic(omega)
	sum := ti.constant(omega)
	for s := range w.Rows {
		for j, x := range w.Row(s) {
			sum += ti.l1 * math.Abs(x)
			for t := range w.Rows {
				sum += a.At(s, t) / 2 * x * w.Row(t)[j]
			}
		}
	}
	return sum
}

// quadraticPart returns M of a coupling.
func quadraticPart(c Coupling) *mat.SymDense {
	if shifted, ok := c.(Shifted); ok {
		c = shifted.Coupling
	}
	if sparse, ok := c.(*sparse); ok {
		c = sparse.Dense
	}
	return matrixOf(c)
}

// each calls f with the coupling that every regularizer starts with and, for
// those that learn, with that of an update, and the Omega they stand for.
func (ti *tied) each(t *testing.T, f func(c Coupling, omega *mat.SymDense)) {
	t.Helper()
	c, err := ti.Regularizer.Start(testPool, tiedTasks)
	expect.Must(t, err == nil, "%s: %v", ti.name, err)
	f(c, ti.begin)
	w := randomMatrix(21, tiedTasks, tiedFeatures)
	c, err = ti.Regularizer.Update(testPool, &w, 1e-3)
	switch {
	case ti.omega == nil && errors.Is(err, ErrFixed):
	case ti.omega == nil:
		t.Errorf("%s: Update returned %v, want ErrFixed", ti.name, err)
	case err != nil:
		t.Errorf("%s: %v", ti.name, err)
	default:
		f(c, ti.omega(quadraticPart(c)))
	}
}

// M is the inverse of A of the paper's formula, and Value is the formula.
func TestCouplingsFollowTheirDefinition(t *testing.T) {
	for _, r := range regularizers() {
		r.each(t, func(c Coupling, omega *mat.SymDense) {
			M := quadraticPart(c)
			var product mat.Dense
			product.Mul(r.quadratic(omega), M)
			for i := range tiedTasks {
				for j := range tiedTasks {
					expect.That(t, near(product.At(i, j), delta(i, j), 1e-11),
						"%s: (A M)[%d][%d] = %g, want %g", r.name, i, j, product.At(i, j), delta(i, j))
				}
				expect.That(t, c.Diag(i) == M.At(i, i), "%s: Diag(%d) = %g, M has %g", r.name, i, c.Diag(i), M.At(i, i))
			}
			low := 1 / mustEigenvalues(t, M)[tiedTasks-1]
			expect.That(t, near(c.Convexity(), low, 1e-12), "%s: Convexity() = %g, want %g", r.name, c.Convexity(), low)
			w := randomMatrix(22, tiedTasks, tiedFeatures)
			if got, want := c.Value(&w, nil), r.value(&w, omega); !near(got, want, 1e-9) {
				t.Errorf("%s: R(W) = %.12g, by the formula %.12g", r.name, got, want)
			}
			zero := data.NewMatrix(tiedTasks, tiedFeatures)
			if got, want := c.Value(&zero, nil), r.constant(omega); !near(got, want, 1e-9) {
				t.Errorf("%s: R(0) = %.12g, want the terms in Omega alone, %.12g", r.name, got, want)
			}
		})
	}
}

func mustEigenvalues(t *testing.T, a *mat.SymDense) []float64 {
	t.Helper()
	values := expect.Value(eigenvalues(a))(t)
	return values
}

// grad R* by its definition: no W' has a larger <V, W'> - R(W') than W, and V is
// a subgradient of R there. Incremental gives a row of it, Value is the
// same with V at hand.
func TestPrimalIsTheGradientOfTheConjugate(t *testing.T) {
	for _, r := range regularizers() {
		r.each(t, func(c Coupling, _ *mat.SymDense) {
			v := randomMatrix(31, tiedTasks, tiedFeatures)
			for i := range v.Data {
				v.Data[i] *= 0.2
			}
			w := data.NewMatrix(tiedTasks, tiedFeatures)
			c.Primal(&w, &v)
			best := dot(&v, &w) - c.Value(&w, nil)
			got := dot(&v, &w) - c.Value(&w, &v)
			expect.That(t, near(got, best, 1e-12), "%s: R*(V) = %.15g with V at hand, %.15g without", r.name, got, best)
			for seed := range uint64(200) {
				other := randomMatrix(seed, tiedTasks, tiedFeatures)
				step := math.Pow(10, -float64(seed%8))
				for i := range other.Data {
					other.Data[i] = w.Data[i] + step*other.Data[i]
				}
				if value := dot(&v, &other) - c.Value(&other, nil); value > best+1e-12*(1+math.Abs(best)) {
					t.Errorf("%s: <V, W> - R(W) = %.15g at another W, %.15g at grad R*(V)", r.name, value, best)
				}
			}
			z, row := data.NewMatrix(tiedTasks, tiedFeatures), make([]float64, tiedFeatures)
			c.Gradient(&z, &w)
			zeros := 0
			for s := range tiedTasks {
				c.Incremental(&v).Task(row, s)
				for j, x := range w.Row(s) {
					if _, dense := c.(*Dense); !dense && row[j] != x || !near(row[j], x, 1e-13) {
						t.Errorf("%s: w_%d[%d] = %.17g by Incremental, %.17g by Primal", r.name, s, j, row[j], x)
					}
					difference := math.Abs(v.Row(s)[j] - z.Row(s)[j])
					if x == 0 {
						zeros++
						difference -= r.l1
					}
					expect.That(t, difference <= 1e-11,
						"%s: V is no subgradient: V - Z = %g where w = %g", r.name, difference, x)
				}
			}
			expect.That(t, r.l1 <= 0 || zeros != 0 && zeros != tiedTasks*tiedFeatures,
				"%s: %d zeros in W: the case is too easy", r.name, zeros)
		})
	}
}

// minimum searches the minimum of a function over several starts by the simplex
// method of Nelder and Mead, started over from where it ended.
func minimum(t *testing.T, f func(x []float64) float64, dimension int, seed uint64) float64 {
	t.Helper()
	draw := rng.New(seed, rng.Synthetic, 0, 7)
	best := math.Inf(1)
	for range 3 {
		x := make([]float64, dimension)
		for i := range x {
			x[i] = draw.Normal()
		}
		for range 4 {
			result, err := optimize.Minimize(optimize.Problem{Func: f}, x,
				&optimize.Settings{FuncEvaluations: 800, Converger: optimize.NeverTerminate{}}, &optimize.NelderMead{})
			expect.Must(t, err == nil || result != nil, "%v", err)
			x = result.X
			best = math.Min(best, result.F)
		}
	}
	return best
}

// lower returns L L^T of a lower triangle given row by row.
func lower(m int, x []float64) *mat.SymDense {
	l := mat.NewDense(m, m, nil)
	for i, k := 0, 0; i < m; i++ {
		for j := 0; j <= i; j, k = j+1, k+1 {
			l.Set(i, j, x[k])
		}
	}
	var a mat.SymDense
	a.SymOuterK(1, l)
	return &a
}

// traceOf returns tr(A W^T W) for W with one task to a row.
func traceOf(a *mat.SymDense, w *data.Matrix) float64 {
	sum := 0.0
	for s := range w.Rows {
		for t := range w.Rows {
			sum += a.At(s, t) * mat.Dot(mat.NewVecDense(w.Cols, w.Row(s)), mat.NewVecDense(w.Cols, w.Row(t)))
		}
	}
	return sum
}

// finite replaces NaN by a value that no search selects.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 1e300
	}
	return x
}

// Each Omega update against a search over all Omega of 2 and 3 tasks, with W
// of full rank and not: no Omega has a lower R(W, Omega), and the search comes
// to the same value.
func TestOmegaUpdatesAgainstSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds")
	}
	for _, m := range []int{2, 3} {
		for _, d := range []int{1, 4} {
			for seed := range uint64(1) {
				w := randomMatrix(50+seed, m, d)
				size := m * (m + 1) / 2
				check := func(name string, ours, found, tolerance float64) {
					t.Helper()
					expect.That(t, found >= ours-1e-9*math.Abs(ours),
						"%s, m = %d, d = %d: the search finds %.12g below the update's %.12g", name, m, d, found, ours)
					if found > ours+tolerance*math.Abs(ours) {
						t.Errorf(
							"%s, m = %d, d = %d: the search finds only %.12g, the update has %.12g: it searched badly",
							name, m, d, found, ours)
					}
				}
				value := func(r Regularizer) float64 {
					t.Helper()
					c := expect.Value(r.Update(testPool, &w, 1e-9))(t)
					return c.Value(&w, nil)
				}
				if d >= m { // without full rank the infimum is not attained: Omega is singular
					check("probabilistic", value(Probabilistic{Lambda: 2}), minimum(t, func(x []float64) float64 {
						omega := lower(m, x)
						trace := mat.Trace(omega)
						if !(mat.Det(omega) > 1e-12*math.Pow(trace, float64(m))) {
							return 1e300
						}
						return finite(trace * traceOf(inverted(omega), &w))
					}, size, seed), 1e-6)
				}
				const eta, k = 0.3, 1.2
				check("clustered", value(Clustered{Lambda: 1, Eta: eta, Count: k}),
					minimum(t, func(x []float64) float64 {
						return finite(traceOf(inverted(shifted(capped(m, k, x), eta)), &w))
					}, size-1, seed), 1e-6)
				const l2 = 0.4
				check("graphical", value(Graphical{Lambda: 1, L2: l2, Features: d}),
					minimum(t, func(x []float64) float64 {
						omega := lower(m, x)
						size := 0.0
						for _, x := range mat.DenseCopyOf(omega).RawMatrix().Data {
							size += math.Abs(x)
						}
						return finite(traceOf(omega, &w) - float64(d)*math.Log(mat.Det(omega)) + l2*size)
					}, size, seed), 1e-5)
			}
		}
	}
}

// capped maps any numbers to an Omega with 0 <= Omega <= I and tr Omega = k:
// m-1 of them to eigenvalues, the others to rotations.
func capped(m int, k float64, x []float64) *mat.SymDense {
	o := make([]float64, m)
	rest := k
	for i := range m - 1 {
		low, high := math.Max(0, rest-float64(m-1-i)), math.Min(1, rest)
		o[i] = low + (high-low)*(1+math.Sin(x[i]))/2
		rest -= o[i]
	}
	o[m-1] = rest
	q := mat.NewDense(m, m, nil)
	for i := range m {
		q.Set(i, i, 1)
	}
	next := m - 1
	for i := range m {
		for j := i + 1; j < m; j++ {
			g := mat.NewDense(m, m, nil)
			for k := range m {
				g.Set(k, k, 1)
			}
			sin, cos := math.Sincos(x[next])
			next++
			g.Set(i, i, cos)
			g.Set(j, j, cos)
			g.Set(i, j, -sin)
			g.Set(j, i, sin)
			q.Mul(q, g)
		}
	}
	return symmetric(m, func(s, t int) float64 {
		sum := 0.0
		for i, x := range o {
			sum += x * q.At(s, i) * q.At(t, i)
		}
		return sum
	})
}

func shifted(a *mat.SymDense, by float64) *mat.SymDense {
	return symmetric(a.SymmetricDim(), func(s, t int) float64 { return a.At(s, t) + by*delta(s, t) })
}

// An update's Omega is in its set, floor or no floor, and a floor of 1 leaves
// nothing but the multiple of the identity with the same trace. Of W that have
// one direction more than others, Omega <= I caps the share of that direction.
func TestOmegaStaysInItsSet(t *testing.T) {
	for _, r := range regularizers() {
		if r.omega == nil {
			continue
		}
		for _, floor := range []float64{1e-6, 0.1, 1, 1e-9} {
			w := randomMatrix(23, tiedTasks, tiedFeatures)
			if floor == 1e-9 {
				for s := range tiedTasks {
					w.Row(s)[0] *= 100
				}
			}
			c := expect.Value(r.Regularizer.Update(testPool, &w, floor))(t)
			omega := r.omega(quadraticPart(c))
			outside := r.feasible(t, omega)
			expect.That(t, outside <= 1e-9, "%s, floor %g: Omega is outside its set by %g", r.name, floor, outside)
			if r.name == "clustered" && floor == 1e-9 {
				if room := leastEigenvalue(t,
					shifted(symmetric(tiedTasks, func(s, t int) float64 { return -omega.At(s, t) }), 1)); room > 1e-8 {
					t.Errorf("clustered: the largest eigenvalue of Omega is %g below 1: the cap is not reached", room)
				}
			}
			for i := range tiedTasks {
				for j := range tiedTasks {
					if want := mat.Trace(omega) / tiedTasks * delta(i, j); floor == 1 &&
						!near(omega.At(i, j), want, 1e-9) {
						t.Errorf("%s, floor 1: Omega[%d][%d] = %g, want %g", r.name, i, j, omega.At(i, j), want)
					}
				}
			}
		}
	}
}

// W = 0 says nothing of the tasks: no update fails on it, and none prefers one
// task to another.
func TestUpdatesOfZeroWeights(t *testing.T) {
	zero := data.NewMatrix(tiedTasks, tiedFeatures)
	for _, r := range regularizers() {
		if r.omega == nil {
			continue
		}
		c, err := r.Regularizer.Update(testPool, &zero, 1e-6)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		omega := r.omega(quadraticPart(c))
		for i := range tiedTasks {
			for j := range tiedTasks {
				if want := omega.At(0, 0) * delta(i, j); !near(omega.At(i, j), want, 1e-12) {
					t.Errorf("%s: Omega[%d][%d] = %g, want %g", r.name, i, j, omega.At(i, j), want)
				}
			}
		}
	}
	if _, err := (Graphical{Lambda: 1, Features: tiedFeatures}).Update(testPool, &zero, 1e-6); err == nil {
		t.Error("graphical with l2 = 0 took W = 0, where the minimum over Omega is unbounded")
	}
	broken := data.NewMatrix(tiedTasks, tiedFeatures)
	broken.Row(0)[0] = math.NaN()
	for _, r := range regularizers() {
		_, err := r.Regularizer.Update(testPool, &broken, 1e-6)
		expect.That(t, err != nil, "%s: Update accepted a W that is not finite", r.name)
	}
}

// The alternating method (Algorithm 1: W for fixed Omega, then Omega for fixed
// W): with W solved to a certified relative gap of 1e-10 and Omega exactly,
// neither step ever increases P(W, Omega). R is convex in Omega, so that a floor f
// costs an Omega step at most f R(W, (tr Omega/m) I); with f = 1e-12 that is far
// below the 1e-9 to which all is asserted.
func TestAlternationNeverIncreasesTheObjective(t *testing.T) {
	const steps = 12
	for _, test := range []struct {
		name   string
		change func(*Config)
	}{
		{"clustered", func(c *Config) { c.Regularizer, c.Lambda = RegClustered, 0.02 }},
		{"probabilistic, authors", func(c *Config) { c.Lambda = 0.05 }},
		{"probabilistic, paper", func(c *Config) {
			c.Lambda, c.Convention, c.PriorPrecision = 0.02, ConventionPaper, 0.5
		}},
		{"graphical", func(c *Config) {
			c.Regularizer, c.Lambda, c.Lambda1, c.Lambda2 = RegGraphical, 0.01, 0, 0.01
		}},
		{"graphical, sparse W", func(c *Config) {
			c.Regularizer, c.Lambda, c.Lambda1, c.Lambda2, c.PriorPrecision = RegGraphical, 0.01, 0.02, 0.02, 0.3
		}},
	} {
		for _, loss := range []string{LossHinge, LossLogistic} {
			t.Run(test.name+"/"+loss, func(t *testing.T) {
				cfg := Defaults()
				test.change(&cfg)
				cfg.Loss = loss
				p := mustProblem(t, cfg, randomSplit(60, 7, 15, 22, 12, 18, 20))
				c := mustStart(t, p)
				var start *Duals
				before, first := math.Inf(1), 0.0
				for h := range steps {
					o := p.Solver(testPool, 1e-10, 20_000).Optimize(t.Context(), c, start)
					expect.Must(t, o.RelativeGap <= 1e-10 && o.Gap >= -1e-12,
						"step %d: W is solved to a relative gap of %g", h, o.RelativeGap)
					slack := 1e-9 * (o.scale() + math.Abs(o.Primal))
					expect.That(t, o.Primal <= before+slack,
						"W step %d: P rose from %.12g to %.12g", h, before, o.Primal)
					next := expect.Value(p.Regularizer.Update(testPool, &o.W, 1e-12))(t)
					after := p.Evaluate(testPool, next, &o.W, nil, nil).Primal
					expect.That(t, after <= o.Primal+slack,
						"Omega step %d: P rose from %.12g to %.12g", h, o.Primal, after)
					if h == 0 {
						first = o.Primal
					}
					c, start, before = next, o.Duals, after
				}
				expect.That(t, first-before > 1e-3*math.Abs(first),
					"P went from %g to %g in %d steps: nothing was learned", first, before, steps)
			})
		}
	}
}

// Appendix B.2, "Strong Convexity of MTL Regularizers": R is 1-strongly convex
// with respect to M^-1 (eq. strong). The matrices that the paper names there
// leave out the factor 2 of the quadratic forms, so that it holds for them too;
// M is the smallest for which it does, as equality shows where there is no l1
// term. And sigma' is safe by every rule (eq. sigmaPrimeSafeDefinition).
func TestStrongConvexityOfEveryRegularizer(t *testing.T) {
	for _, r := range regularizers() {
		r.each(t, func(c Coupling, omega *mat.SymDense) {
			M := quadraticPart(c)
			inverse := inverted(M)
			for seed := range uint64(20) {
				u, v := randomMatrix(2*seed, tiedTasks, tiedFeatures), randomMatrix(2*seed+1, tiedTasks, tiedFeatures)
				clear(v.Row(int(seed) % tiedTasks)) // where |.|_1 has its kinks
				z := data.NewMatrix(tiedTasks, tiedFeatures)
				c.Gradient(&z, &v)
				bound, norm := c.Value(&v, nil), 0.0
				for s := range tiedTasks {
					for j := range tiedFeatures {
						bound += z.Row(s)[j] * (u.Row(s)[j] - v.Row(s)[j])
						for q := range tiedTasks {
							norm += inverse.At(s, q) * (u.Row(s)[j] - v.Row(s)[j]) * (u.Row(q)[j] - v.Row(q)[j])
						}
					}
				}
				value := c.Value(&u, nil)
				if slack := value - bound - norm/2; slack < -1e-9*(1+math.Abs(value)) ||
					r.l1 == 0 && slack > 1e-9*(1+math.Abs(value)) {
					t.Errorf("%s: R(u) - R(v) - <z, u-v> - 1/2 |u-v|^2 = %g", r.name, slack)
				}
			}
			for _, rule := range []string{SigmaSpectral, SigmaLemma9, SigmaPerTask} {
				sigma := c.SigmaPrime(rule, nil)
				safe := symmetric(tiedTasks,
					func(s, t int) float64 { return sigma[s]*M.At(s, s)*delta(s, t) - M.At(s, t) })
				if low := leastEigenvalue(t, safe); low < -1e-9*mat.Norm(M, 2) {
					t.Errorf("%s, %s: sigma' diag(M) - M has the eigenvalue %g", r.name, rule, low)
				}
			}
		})
	}
}
