package mtl

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// For every loss, on labels and on the real targets that it accepts, SDCA closes the duality
// gap. The gap is never negative, and the conjugates of the dual variables are finite.
func TestSDCAClosesTheGapOfEveryLoss(t *testing.T) {
	for _, name := range ScoreLosses() {
		for _, real := range []bool{false, true} {
			cfg := Defaults()
			cfg.Loss, cfg.Regularizer, cfg.Lambda1, cfg.Lambda2 = name, RegMean, 0.1, 0.02
			split := randomSplit(21, 7, 20, 35, 12)
			if real {
				if !takesReals(name) {
					continue
				}
				split = realTargets(split)
			}
			p := mustProblem(t, cfg, split)
			c := mustStart(t, p)
			for _, sweeps := range []int{0, 1, 2, 3, 10} {
				o := p.Solver(testPool, 0, sweeps).Optimize(t.Context(), c, nil)
				expect.That(t, o.Gap >= -1e-12*o.Primal && !math.IsInf(o.Gap, 0),
					"%s, real %t: gap %g after %d sweeps", name, real, o.Gap, sweeps)
			}
			o := p.Solver(testPool, 1e-8, 2000).Optimize(t.Context(), c, nil)
			expect.That(t, o.RelativeGap <= 1e-8,
				"%s, real %t: relative gap %g after %d sweeps, want 1e-8", name, real, o.RelativeGap, o.Sweeps)
		}
	}
}

// For every loss and curvatures far from 1, each step of SDCA lowers the subproblem, and the
// duality gap bounds the distance to its minimum.
func TestDualityGapBoundsTheSubproblemOfEveryLoss(t *testing.T) {
	split := randomSplit(6, 7, 25)
	for _, name := range ScoreLosses() {
		for _, curvature := range []float64{0.05, 1.5, 40} {
			cfg := Defaults()
			cfg.Loss = name
			p := mustProblem(t, cfg, split)
			w := randomMatrix(2, 1, 7)
			u, dv := append([]float64(nil), w.Row(0)...), make([]float64, 7)
			a := make([]float64, 25)
			var order Order
			order.Reset(25, rng.New(1, rng.Solve, 0, 0))
			var trail []SubproblemValue
			for range 1200 {
				trail = append(trail, p.Subproblem(0, curvature).Evaluate(a, u, w.Row(0), dv))
				p.Subproblem(0, curvature).SDCA(a, u, &order, 25)
			}
			last := trail[len(trail)-1]
			size := 1 + math.Abs(trail[0].Value) + trail[0].Gap
			for k, s := range trail {
				expect.That(t, s.Gap >= -1e-12*size, "%s, pass %d: negative gap %g", name, k, s.Gap)
				expect.That(t, s.Value-last.Value <= s.Gap+1e-12*size,
					"%s, pass %d: %g above the minimum, but the gap is only %g", name, k, s.Value-last.Value, s.Gap)
				if k > 0 && s.Value > trail[k-1].Value+1e-12*size {
					t.Errorf("%s, pass %d raised the subproblem from %g to %g", name, k, trail[k-1].Value, s.Value)
				}
			}
			expect.That(t, last.Gap <= 1e-8*size, "%s, curvature %g: final gap %g", name, curvature, last.Gap)
		}
	}
}

// The squared loss under "independent" is ridge regression, task by task:
// (c_t X_t^T X_t + lambda m I) w_t = c_t X_t^T y_t.
func TestSquaredLossIsRidgeRegression(t *testing.T) {
	const lambda = 0.03
	for _, scaling := range []string{Mean, Sum} {
		for _, real := range []bool{false, true} {
			split := randomSplit(31, 6, 25, 4, 40) // also with fewer rows than features
			if real {
				split = realTargets(split)
			}
			cfg := Defaults()
			cfg.Loss, cfg.Regularizer, cfg.Lambda, cfg.LossScaling = LossSquared, RegIndependent, lambda, scaling
			p := mustProblem(t, cfg, split)
			o := p.Solver(testPool, 0, 300).Optimize(t.Context(), mustStart(t, p), nil)
			want := 0.0 // P of the closed form
			for k := range split.Train.Clients {
				task := &split.Train.Clients[k]
				c := 1.0
				if scaling == Mean {
					c = 1 / float64(task.X.Rows)
				}
				x := mat.NewDense(task.X.Rows, 6, nil)
				for i := range task.X.Rows {
					x.SetRow(i, task.X.Row(i))
				}
				y := mat.NewVecDense(len(task.Y), task.Y)
				var gram mat.SymDense
				gram.SymOuterK(c, x.T())
				for j := range 6 {
					gram.SetSym(j, j, gram.At(j, j)+lambda*3)
				}
				var rhs, w, residual mat.VecDense
				rhs.MulVec(x.T(), y)
				rhs.ScaleVec(c, &rhs)
				var chol mat.Cholesky
				expect.Must(t, chol.Factorize(&gram), "not positive definite")
				expect.NoError(t, chol.SolveVecTo(&w, &rhs))
				for j := range 6 {
					if got := o.W.Row(k)[j]; !near(got, w.AtVec(j), 1e-8) {
						t.Errorf("%s, real %t: w_%d[%d] = %.12g, ridge regression gives %.12g", scaling, real, k, j,
							got, w.AtVec(j))
					}
				}
				residual.MulVec(x, &w)
				residual.SubVec(&residual, y)
				want += c/2*mat.Dot(&residual, &residual) + lambda*3/2*mat.Dot(&w, &w)
			}
			expect.That(t, near(o.Primal, want, 1e-12),
				"%s, real %t: P = %.15g, ridge regression gives %.15g", scaling, real, o.Primal, want)
		}
	}
}

// Errors are the share of wrong signs on labels, whatever the loss, and the root
// mean square error on real targets, both averaged over tasks.
func TestErrorsOfLabelsAndRealTargets(t *testing.T) {
	task := func(y ...float64) data.Client {
		x := data.NewMatrix(len(y), 1)
		for i := range y {
			x.Row(i)[0] = float64(i) - 1 // scores -1, 0, 1, ... under w = 1
		}
		return data.Client{X: x, Y: y}
	}
	cfg := Defaults()
	cfg.Loss, cfg.Regularizer = LossSquared, RegIndependent
	for _, c := range []struct {
		real                 bool
		a, b                 data.Client
		train, clients, test float64
	}{
		// Errors: the score 0 of the second row of task 1, and both rows of task 2.
		{false, task(-1, 1, 1), task(1, 1), 3.0 / 5, (1.0/3 + 1) / 2, 1},
		{true, task(-1, 3, 1), task(1, 1), math.Sqrt((9 + 5.0) / 5), (math.Sqrt(3) + math.Sqrt(2.5)) / 2,
			math.Sqrt(2.5)},
	} {
		train := &data.Set{Features: 1, Clients: []data.Client{c.a, c.b}, Real: c.real}
		test := &data.Set{Features: 1, Clients: []data.Client{task(), c.b}, Real: c.real} // no row of the first task
		p := mustProblem(t, cfg, data.Split{Train: train, Test: test})
		w := p.NewWeights()
		w.Row(0)[0], w.Row(1)[0] = 1, 1
		o := p.Evaluate(testPool, mustStart(t, p), &w, nil, nil)
		got, want := []float64{o.TrainError, o.TrainErrorClients, o.TestError, o.TestErrorClients},
			[]float64{c.train, c.clients, c.test, c.test}
		if !slices.EqualFunc(got, want, func(a, b float64) bool { return near(a, b, 1e-15) }) ||
			!math.IsNaN(o.ValidationError) || !math.IsNaN(o.ValidationErrorClients) {
			t.Errorf("real %t: errors by rows and over clients %v, %g and %g, want %v", c.real, got, o.ValidationError,
				o.ValidationErrorClients, want)
		}
	}
}

// A loss for labels rejects real targets; the error lists the losses that accept them.
func TestRealTargetsNeedARegressionLoss(t *testing.T) {
	split := realTargets(randomSplit(1, 3, 5, 5))
	for _, name := range ScoreLosses() {
		cfg := Defaults()
		cfg.Loss = name
		_, err := NewProblem(cfg, split)
		if takesReals(name) {
			expect.That(t, err == nil, "%s: %v", name, err)
			continue
		}
		want := `problem.loss = "` + name + `": must be one of ` + strings.Join(RegressionLosses(), ", ") +
			`: data set "random" has real targets, not the labels -1 and +1`
		expect.That(t, err != nil && err.Error() == want, "got  %v\nwant %s", err, want)
	}
}

// realTargets returns the split with real numbers in place of labels: the label
// times a number that varies from row to row.
func realTargets(split data.Split) data.Split {
	replace := func(set *data.Set) *data.Set {
		r := *set
		r.Real = true
		r.Clients = append([]data.Client(nil), set.Clients...)
		for t := range r.Clients {
			y := make([]float64, len(set.Clients[t].Y))
			for i, label := range set.Clients[t].Y {
				y[i] = label*(0.5+math.Abs(set.Clients[t].X.Row(i)[0])) + set.Clients[t].X.Row(i)[1]
			}
			r.Clients[t].Y = y
		}
		return &r
	}
	return data.Split{Train: replace(split.Train), Test: replace(split.Test)}
}
