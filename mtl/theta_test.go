package mtl

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// lossProblem is a problem with a loss by name.
func lossProblem(t *testing.T, loss, scaling string, seed uint64, features int, sizes ...int) *Problem {
	t.Helper()
	cfg := Defaults()
	cfg.Loss, cfg.LossScaling = loss, scaling
	return mustProblem(t, cfg, randomSplit(seed, features, sizes...))
}

// With a single row and the hinge, G is the parabola c^2 curvature/2 |x|^2 (b - b*)^2
// around its minimizer, as long as that is inside [0, 1]: theta of a step that
// goes a share r of the way is (1-r)^2. The squared loss adds to the parabola's
// width only.
func TestThetaOfASingleRowInClosedForm(t *testing.T) {
	for _, loss := range []string{LossHinge, LossSquared} {
		split := randomSplit(4, 5, 1, 1)
		split.Train.Clients[0].Y[0], split.Train.Clients[1].Y[0] = 1, -1
		cfg := Defaults()
		cfg.Loss = loss
		p := mustProblem(t, cfg, split)
		for k := range 2 {
			w := make([]float64, 5)
			curvature := 4 / p.Norms[k][0] // the hinge's minimizer is y/4
			before := []float64{0}
			minimizer := append([]float64(nil), before...)
			u := append([]float64(nil), w...)
			p.Subproblem(k, curvature).Step(minimizer, u, 0)
			expect.Must(t, loss != LossHinge || near(minimizer[0], p.Train.Clients[k].Y[0]/4, 1e-12),
				"the minimizer is %g, want y/4", minimizer[0])
			for _, r := range []float64{0, 0.1, 0.5, 0.9, 1, 1.5, 2, 3} {
				after := []float64{r * minimizer[0]}
				if got, want := p.Subproblem(k, curvature).Theta(before, after, w),
					(1-r)*(1-r); !near(got, want, 1e-12) {
					t.Errorf("%s: theta at %g of the way = %.15g, want (1-r)^2 = %g", loss, r, got, want)
				}
			}
		}
	}
}

// definition evaluates G as eq. subproblem has it, without c(alpha).
func definition(p *Problem, k int, before, b, w []float64, curvature float64) float64 {
	task := &p.Train.Clients[k]
	dv := make([]float64, len(w))
	sum := 0.0
	for i := range b {
		sum += p.Scale[k] * p.Loss.Conjugate(b[i], task.Y[i])
		for j, x := range task.X.Row(i) {
			dv[j] += p.Scale[k] * x * (b[i] - before[i])
		}
	}
	for j := range dv {
		sum += w[j]*dv[j] + curvature/2*dv[j]*dv[j]
	}
	return sum
}

// bruteForce minimizes G over one coordinate at a time by golden section on its
// definition, which knows neither steps nor gaps.
func bruteForce(p *Problem, k int, before, w []float64, curvature float64, low, high float64) []float64 {
	b := append([]float64(nil), before...)
	ratio := (math.Sqrt(5) - 1) / 2
	for range 600 {
		for i := range b {
			y := p.Train.Clients[k].Y[i]
			lo, hi := low, high // of y b
			at := func(v float64) float64 {
				b[i] = y * v
				return definition(p, k, before, b, w, curvature)
			}
			for range 60 {
				left, right := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
				if at(left) < at(right) {
					hi = right
				} else {
					lo = left
				}
			}
			best, value := (lo+hi)/2, at((lo+hi)/2)
			for _, end := range []float64{low, high} {
				if v := at(end); v < value {
					best, value = end, v
				}
			}
			b[i] = y * best
		}
	}
	return b
}

func TestThetaOfOneStepByBruteForce(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	for _, loss := range ScoreLosses() {
		for seed := range uint64(3) {
			p := lossProblem(t, loss, []string{Mean, Sum}[seed%2], 20+seed, 3, 4, 4)
			k := int(seed % 2)
			w := randomRow(seed, 3)
			curvature := 0.7 + float64(seed)
			before := make([]float64, 4)
			u := append([]float64(nil), w...)
			var order Order
			order.Reset(4, rng.New(seed, rng.Solve, k, 0))
			p.Subproblem(k, curvature).SDCA(before, append([]float64(nil), w...), &order, 2) // somewhere feasible
			after := append([]float64(nil), before...)
			p.Subproblem(k, curvature).SDCA(after, u, &order, 1)
			const inside = 1e-12 // the ends of the logistic's domain have no slope
			plain := plainOf(t, loss)
			best := bruteForce(p, k, before, w, curvature, max(plain.low, -20)+inside, min(plain.high, 20)-inside)
			least := definition(p, k, before, best, w, curvature)
			want := (definition(p, k, before, after, w, curvature) - least) /
				(definition(p, k, before, before, w, curvature) - least)
			if got := p.Subproblem(k, curvature).Theta(before, after, w); math.Abs(got-want) > 1e-6 {
				t.Errorf("%s, seed %d: theta = %.9f, by brute force %.9f", loss, seed, got, want)
			}
		}
	}
}

func TestThetaOfASolvedSubproblemIsZero(t *testing.T) {
	for _, loss := range ScoreLosses() {
		p := lossProblem(t, loss, Mean, 7, 12, 20, 20)
		w := make([]float64, 12)
		b := make([]float64, 20)
		// Around the minimizer, with u in place of w, the subproblem is solved at 0.
		o := minimized(p, b, w, 0.3)
		got := p.Subproblem(0, 0.3).Theta(o.best, o.best, o.u)
		expect.That(t, got == 0, "%s: theta of a solved subproblem = %g, want 0", loss, got)
	}
	// A row of zeros does not affect w, but its dual variable has an optimum.
	split := randomSplit(7, 4, 3, 3)
	clear(split.Train.Clients[0].X.Data)
	p := mustProblem(t, Defaults(), split)
	zero, y := make([]float64, 3), split.Train.Clients[0].Y
	if got := p.Subproblem(0, 1).Theta(zero, zero, make([]float64, 4)); got != 1 {
		t.Errorf("theta without progress on rows of zeros = %g, want 1", got)
	}
	if got := p.Subproblem(0, 1).Theta(zero, y, make([]float64, 4)); got != 0 {
		t.Errorf("theta with the optimal dual variables of the hinge = %g, want 0", got)
	}
}

// minimized returns the optimum of the subproblem of device 0 around before.
func minimized(p *Problem, before, w []float64, curvature float64) *LocalOptimum {
	var o LocalOptimum
	o.Reset(p.Subproblem(0, curvature), before, w)
	for o.start(before, nil); !o.exact(); {
		o.improve(false)
	}
	return &o
}

// Faces of few rows find the same minimizer as many passes, much sooner, also where rows depend on each
// other and at a large curvature.
func TestFacesFindTheMinimizer(t *testing.T) {
	for _, loss := range ScoreLosses() {
		for seed := range uint64(4) {
			p := lossProblem(t, loss, Mean, seed, []int{4, 70}[seed%2], 50, 50)
			w, before := randomRow(seed, p.Features), make([]float64, 50)
			curvature := []float64{3, 300}[seed/2]
			slow := minimized(p, before, w, curvature)
			var fast LocalOptimum
			fast.Reset(p.Subproblem(0, curvature), before, w)
			for fast.start(before, w); !fast.exact(); {
				fast.improve(true)
			}
			expect.That(t, fast.gap <= 1e-10*fast.none+fast.noise,
				"%s, seed %d: gap %g, want at most %g", loss, seed, fast.gap, 1e-10*fast.none+fast.noise)
			expect.That(t, fast.none >= slow.none-slow.gap-slow.noise && fast.none <= slow.none+slow.gap+slow.noise,
				"%s, seed %d: G(0) - G = %.15g, by passes %.15g", loss, seed, fast.none, slow.none)
			expect.That(t, p.Loss.Traits().Clipped == (ClippedStep{}) || fast.batches <= 4,
				"%s, seed %d: %d faces", loss, seed, fast.batches)
		}
	}
}

// randomRow returns n standard normal numbers.
func randomRow(seed uint64, n int) []float64 {
	m := randomMatrix(seed, 1, n)
	return m.Row(0)
}

// A subproblem that takes thousands of passes: more rows than features and a
// large curvature.
func TestThetaOfASlowSubproblem(t *testing.T) {
	slowest := 0
	for seed := range uint64(8) {
		p := lossProblem(t, LossHinge, Mean, seed, 4, 40, 40)
		w := randomRow(seed, 4)
		u := append([]float64(nil), w...)
		before, b := make([]float64, 40), make([]float64, 40)
		var order Order
		order.Reset(40, rng.New(1, rng.Solve, 0, 0))
		p.Subproblem(0, 300).SDCA(b, u, &order, 4000)
		if o := minimized(p, before, w, 300); o.gap > 1e-10*o.none+o.noise {
			t.Errorf("seed %d: gap %g, want at most %g", seed, o.gap, 1e-10*o.none+o.noise)
		}
		if theta := p.Subproblem(0, 300).Theta(before, b, w); theta < 0 || theta > 0.2 {
			t.Errorf("seed %d: theta after 100 passes = %g", seed, theta)
		} else if theta > 1e-6 {
			slowest++
		}
	}
	expect.That(t, slowest != 0, "100 passes solve every one of them: the test shows nothing")
}

// The duality gap of EvaluateSubproblem is an upper bound of the numerator: theta must stay
// below the certificate that CoCoA computes from it.
func TestThetaIsBelowItsCertificate(t *testing.T) {
	for _, loss := range ScoreLosses() {
		p := lossProblem(t, loss, Mean, 9, 6, 25, 25)
		w := randomRow(5, 6)
		u, dv := append([]float64(nil), w...), make([]float64, 6)
		before, b := make([]float64, 25), make([]float64, 25)
		start := p.Subproblem(0, 5).Evaluate(before, u, w, dv)
		var order Order
		order.Reset(25, rng.New(1, rng.Solve, 0, 0))
		for range 8 {
			p.Subproblem(0, 5).SDCA(b, u, &order, 25)
			now := p.Subproblem(0, 5).Evaluate(b, u, w, dv)
			if theta, most := p.Subproblem(0, 5).Theta(before, b, w),
				now.Gap/(now.Gap+start.Value-now.Value); theta > most+1e-9 {
				t.Errorf("%s: theta = %g exceeds the certificate %g", loss, theta, most)
			}
		}
	}
}

func TestThetaDecreasesWithSteps(t *testing.T) {
	for _, loss := range ScoreLosses() {
		for _, curvature := range []float64{0.1, 3, 60} {
			p := lossProblem(t, loss, Mean, 7, 8, 30, 30)
			w := randomRow(3, 8)
			u := append([]float64(nil), w...)
			before, b := make([]float64, 30), make([]float64, 30)
			var order Order
			order.Reset(30, rng.New(1, rng.Solve, 0, 0))
			last := 1.0
			got := p.Subproblem(0, curvature).Theta(before, b, w)
			expect.Must(t, got == 1, "%s: theta without a step = %g, want 1", loss, got)
			for pass := range 20 {
				p.Subproblem(0, curvature).SDCA(b, u, &order, 10)
				theta := p.Subproblem(0, curvature).Theta(before, b, w)
				// The minimizer is known to a 1e-10th of the denominator.
				expect.Must(t, theta <= last+1e-9 && theta >= 0,
					"%s, curvature %g: theta rose from %g to %g in pass %d", loss, curvature, last, theta, pass)
				last = theta
			}
			expect.That(t, last <= 0.9, "%s, curvature %g: theta is still %g", loss, curvature, last)
		}
	}
}
