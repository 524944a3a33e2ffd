package mtl

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parallel"
)

// plainSoftmax returns sum_t c_t sum_i CE_i + 1/2 tr(W A W^T), as a textbook has it, and sets
// its gradient.
func plainSoftmax(p *Problem, a *mat.SymDense, w, gradient []float64) float64 {
	d, outputs, m := p.Features, p.Outputs, p.Tasks()
	clear(gradient)
	at := func(v []float64, t, c, j int) *float64 { return &v[(t*outputs+c)*d+j] }
	sum := 0.0
	for k := range p.Train.Clients {
		task, t := &p.Train.Clients[k], p.TaskOf(k)
		for i, y := range task.Y {
			total, own := 0.0, 0.0
			exps := make([]float64, outputs)
			for c := range outputs {
				z := 0.0
				for j, x := range task.X.Row(i) {
					z += x * *at(w, t, c, j)
				}
				exps[c] = math.Exp(z)
				total += exps[c]
				if c == int(y) {
					own = z
				}
			}
			sum += p.Scale[k] * (math.Log(total) - own)
			for c := range outputs {
				slope := exps[c] / total
				if c == int(y) {
					slope--
				}
				for j, x := range task.X.Row(i) {
					*at(gradient, t, c, j) += p.Scale[k] * slope * x
				}
			}
		}
	}
	values := outputs * d
	for s := range m {
		for t := range m {
			for j := range values {
				sum += a.At(s, t) / 2 * w[s*values+j] * w[t*values+j]
				gradient[s*values+j] += a.At(s, t) * w[t*values+j]
			}
		}
	}
	return sum
}

// The optimum of softmax under every quadratic regularizer is that of a generic solver, and
// the certificate is a lower bound of it, also of a solution that is not exact.
func TestSoftmaxOptimaAgreeWithAGenericSolver(t *testing.T) {
	for _, r := range penalties {
		cfg := Defaults()
		r.configure(&cfg)
		if cfg.Regularizer == RegGraphical && cfg.Lambda1 > 0 {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			cfg.Loss = LossSoftmax
			p := mustProblem(t, cfg, severalClasses(randomSplit(7, 4, 14, 9, 12), 3))
			c := r.coupling(t, p)
			a, _, constant := r.plain(p.Tasks(), p.Values())
			problem := optimize.Problem{
				Func: func(w []float64) float64 { return plainSoftmax(p, a, w, make([]float64, len(w))) },
				Grad: func(gradient, w []float64) { plainSoftmax(p, a, w, gradient) },
			}
			found := expect.Value(optimize.Minimize(problem, make([]float64, 3*p.Values()),
				&optimize.Settings{GradientThreshold: 1e-6}, &optimize.BFGS{}))(t)
			want := found.F + constant
			for _, gap := range []float64{0.3, 1e-2, 1e-5, 1e-11} {
				o := p.Solver(testPool, gap, 10_000).Optimize(t.Context(), c, nil)
				if o.RelativeGap > gap || o.Primal < want-1e-9*math.Abs(want) || o.Lower() > want+1e-9*math.Abs(want) {
					t.Errorf("gap %g: P* in [%.12g, %.12g], relative gap %g; the generic solver finds %.12g", gap,
						o.Lower(), o.Primal, o.RelativeGap, want)
				}
				if gap > 1e-10 {
					continue
				}
				for i := range p.Tasks() {
					for j, x := range o.W.Row(i) {
						if !near(x, found.X[i*p.Values()+j], 1e-4) {
							t.Fatalf("w_%d[%d] = %.9g, the generic solver has %.9g", i, j, x, found.X[i*p.Values()+j])
						}
					}
				}
			}
		})
	}
}

// The certificate is the duality gap at the dual variables of the optimum: with q = e_y - a,
// loss*(-a) = sum q log q.
func TestSoftmaxCertificateIsADualityGap(t *testing.T) {
	cfg := Defaults()
	cfg.Loss, cfg.Regularizer, cfg.Lambda1, cfg.Lambda2 = LossSoftmax, RegMean, 0.2, 0.05
	p := mustProblem(t, cfg, severalClasses(randomSplit(8, 5, 20, 15, 30), 4))
	c := mustStart(t, p)
	o := p.Solver(testPool, 0.05, 1000).Optimize(t.Context(), c, nil)
	expect.Must(t, o.Gap >= 1e-6, "the gap %g is too small to compare", o.Gap)
	dual := 0.0
	for k := range o.Duals.Alpha {
		for j, a := range o.Duals.Alpha[k] {
			q := -a
			if i, class := p.coordinate(j); int(p.Train.Clients[k].Y[i]) == class {
				q++
			}
			dual += p.Scale[k] * q * math.Log(q)
		}
	}
	v := o.Duals.V
	p.RecomputeV(testPool, o.Duals)
	w := p.NewWeights()
	c.Primal(&w, &v)
	dual += dot(&v, &w) / 2
	expect.That(t, near(o.Dual, dual, 1e-12) && near(o.Gap, o.Primal+dual, 1e-10),
		"D = %.15g and gap %.15g, by the conjugate %.15g and %.15g", o.Dual, o.Gap, dual, o.Primal+dual)
}

// curvedLosses returns the names of the losses of one score that Newton's method solves.
func curvedLosses() []string {
	return lossesThat(func(l LossTraits) bool { return l.Curvature != nil })
}

// Newton's method solves losses of one score as coordinate steps do, of one class and of several.
func TestNewtonSolvesLossesOfOneScore(t *testing.T) {
	for _, loss := range curvedLosses() {
		newtonSolves(t, loss, randomSplit(9, 4, 14, 9, 12))
		newtonSolves(t, loss, severalClasses(randomSplit(9, 4, 14, 9, 12), 3))
	}
}

func newtonSolves(t *testing.T, loss string, split data.Split) {
	cfg := Defaults()
	cfg.Loss, cfg.WarmOmega = loss, 1
	p := mustProblem(t, cfg, split)
	c := expect.Value(p.Solver(testPool, 1e-3, 100).LearnCoupling(t.Context(), 1, 0.1))(t)
	want := p.Solver(testPool, 1e-10, patience).Optimize(t.Context(), c, nil)
	o := p.Solver(testPool, 1e-11, 1000).newton(t.Context(), c, nil)
	expect.That(t, o.RelativeGap <= 1e-11 && want.RelativeGap <= 1e-10 && near(o.Primal, want.Primal, 1e-9),
		"P* = %.14g with relative gap %g, coordinate steps find %.14g", o.Primal, o.RelativeGap, want.Primal)
	image := p.NewWeights() // W = V M, which the dual objective is of
	c.Primal(&image, &o.Duals.V)
	of := p.Evaluate(testPool, c, &image, &o.Duals.V, o.Duals.Alpha)
	expect.That(t, near(of.Dual, o.Dual, 1e-9), "D = %.14g, evaluated %.14g", o.Dual, of.Dual)
}

// Coordinate steps take long on features of very different sizes, and with a small lambda;
// Newton's method replaces them.
func TestOptimumOnUnscaledFeatures(t *testing.T) {
	for _, loss := range curvedLosses() {
		t.Run(loss, func(t *testing.T) { optimumOnUnscaledFeatures(t, loss) })
	}
}

func optimumOnUnscaledFeatures(t *testing.T, loss string) {
	cfg := Defaults()
	cfg.Loss, cfg.Regularizer, cfg.Lambda = loss, RegIndependent, 1e-4
	split := randomSplit(10, 6, 40, 30)
	for _, task := range split.Train.Clients {
		for i := range task.X.Rows {
			for j, x := range task.X.Row(i) {
				task.X.Row(i)[j] = 30 + x*math.Pow(10, float64(j)/2-1)
			}
		}
	}
	p := mustProblem(t, cfg, split)
	c := mustStart(t, p)
	o := p.Solver(testPool, 1e-9, 500).Optimize(t.Context(), c, nil)
	expect.That(t, o.RelativeGap <= 1e-9 && o.Sweeps > patience,
		"relative gap %g after %d sweeps", o.RelativeGap, o.Sweeps)
	if short := p.Solver(testPool, 1e-9, patience).Optimize(t.Context(), c, nil); short.RelativeGap < 1e-6 ||
		short.Lower() > o.Primal || short.Primal < o.Lower() {
		t.Errorf("coordinate steps reach the relative gap %g, P* in [%.12g, %.12g]: the test needs worse features",
			short.RelativeGap, short.Lower(), short.Primal)
	}
}

// The optimum does not depend on the number of workers, nor on the devices that share a task.
func TestSoftmaxOptimumOfSharedTasks(t *testing.T) {
	cfg := Defaults()
	cfg.Loss, cfg.Regularizer, cfg.Lambda = LossSoftmax, RegIndependent, 0.05
	split := severalClasses(randomSplit(11, 3, 2*unitRows+5, 40, 30), 3)
	var one *Optimum
	for _, workers := range []int{1, 3} {
		pool := parallel.NewPool(workers)
		pooled := data.Split{Train: data.Pool(split.Train), Test: data.Pool(split.Test)}
		p := mustProblem(t, cfg, pooled)
		o := p.Solver(pool, 1e-9, 1000).Optimize(t.Context(), mustStart(t, p), nil)
		if one == nil {
			one = o
		}
		for j, x := range o.W.Data {
			expect.Must(t, x == one.W.Data[j],
				"w[%d] = %.17g with %d workers, %.17g with one", j, x, workers, one.W.Data[j])
		}
	}
	p := mustProblem(t, cfg, data.Split{Train: data.Merge(split.Train), Test: data.Merge(split.Test)})
	if o := p.Solver(testPool, 1e-9, 1000).Optimize(t.Context(), mustStart(t, p), nil); !near(o.Primal, one.Primal,
		1e-8) || o.RelativeGap > 1e-9 {
		t.Errorf("P* = %.12g of one device, %.12g of three", o.Primal, one.Primal)
	}
}

// A solution can start at another's dual variables, and ends with a certificate when its
// context or its sweeps do.
func TestSoftmaxOptimumStartsAndEnds(t *testing.T) {
	cfg := Defaults()
	cfg.Loss, cfg.Lambda = LossSoftmax, 0.05
	p := mustProblem(t, cfg, severalClasses(randomSplit(12, 5, 20, 15, 30), 4))
	c := mustStart(t, p)
	best := p.Solver(testPool, 1e-10, 1000).Optimize(t.Context(), c, nil)
	again := p.Solver(testPool, 1e-9, 1000).Optimize(t.Context(), c, best.Duals)
	expect.That(t, again.Sweeps <= 1, "%d passes from the optimum, want 1", again.Sweeps)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, o := range map[string]*Optimum{
		"an ended context": p.Solver(testPool, 1e-10, 1000).Optimize(ended, c, nil),
		"four sweeps":      p.Solver(testPool, 1e-10, 4).Optimize(t.Context(), c, nil),
	} {
		if o.Sweeps > 5 || o.RelativeGap < 1e-8 || o.Lower() > best.Primal || o.Primal < best.Lower() {
			t.Errorf("%s: P* in [%g, %g] after %d sweeps, relative gap %g; it is %g", name, o.Lower(), o.Primal,
				o.Sweeps, o.RelativeGap, best.Primal)
		}
	}
	learned := expect.Value(p.Solver(testPool, 1e-4, 1000).LearnCoupling(t.Context(), 3, 0.01))(t)
	if o, err := p.Solver(testPool, 1e-6, 1000).AlternatingOptimum(t.Context(), learned, 3); err != nil ||
		!(o.Primal < best.Primal*10) {
		t.Errorf("alternation: %v, %v", o.Primal, err)
	}
}

// Only data with classes have softmax, and only a regularizer without |W|_1 its optimum.
func TestSoftmaxConfiguration(t *testing.T) {
	cfg := Defaults()
	cfg.Loss = LossSoftmax
	_, err := NewProblem(cfg, randomSplit(1, 3, 5, 5))
	if want := `problem.loss = "softmax": must be another, or data.target "classes": data set "random" has no class ` +
		`numbers`; fmt.Sprint(err) != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// The product with the Hessian of P is the derivative of its gradient.
func TestHessianOfSoftmax(t *testing.T) {
	cfg := Defaults()
	cfg.Loss, cfg.Regularizer, cfg.Lambda1, cfg.Lambda2 = LossSoftmax, RegMean, 0.2, 0.05
	p := mustProblem(t, cfg, severalClasses(randomSplit(13, 5, 20, 15), 4))
	c := mustStart(t, p)
	n := newNewton(p, testPool, c, nil)
	u, e := randomMatrix(1, p.Tasks(), p.Values()), randomMatrix(2, p.Tasks(), p.Values())
	gradient := func(h float64) data.Matrix {
		for j := range u.Data {
			n.u.Data[j] = u.Data[j] + h*e.Data[j]
		}
		c.Primal(&n.w, &n.u)
		n.evaluate()
		g := p.NewWeights()
		copy(g.Data, n.g.Data)
		return g
	}
	const h = 1e-5
	above, below := gradient(h), gradient(-h)
	gradient(0)
	d, got := p.NewWeights(), p.NewWeights()
	c.Primal(&d, &e)
	n.curve(&got, &d, &e)
	for j, x := range got.Data {
		want := (above.Data[j] - below.Data[j]) / (2 * h)
		expect.Must(t, near(x, want, 1e-8), "element %d is %.12g, the difference quotient %.12g", j, x, want)
	}
}
