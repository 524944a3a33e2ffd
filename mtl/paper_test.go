package mtl

// The paper's sentences as tests, one for each that can be checked: Smith,
// Chiang, Sanjabi and Talwalkar, "Federated Multi-Task Learning", NIPS 2017.
// Each is named after its claim and cites its place; eq. labels are those
// of the paper's source. docs/paper.md lists the tests by sentence.
//
// This file: section 3 and appendix B. The convergence analysis and sigma' are
// in paper_convergence_test.go.

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/rng"
)

// Section 3.1, eq. obj: the objective is the sum of the losses of all rows of
// all tasks plus R(W, Omega), for "arbitrary convex loss functions".
func TestObjectiveIsSumOfLossesPlusRegularizer(t *testing.T) {
	w := randomMatrix(1, paperTasks, paperFeatures)
	eachPaperLoss(t, func(t *testing.T, p *Problem) {
		for _, f := range formulations(t) {
			want := f.at(&w)
			for k := range p.Train.Clients {
				task := &p.Train.Clients[k]
				for i, y := range task.Y {
					z := 0.0
					for j, x := range task.X.Row(i) {
						z += x * w.Row(k)[j]
					}
					want += p.Loss.Value(z, y)
				}
			}
			got := p.Evaluate(testPool, f.c, &w, nil, nil).Primal
			expect.That(t, near(got, want, 1e-10), "%s: P(W) = %v, by eq. obj %v", f.name, got, want)
		}
	})
}

// Section 3.1, eq. fixed_cluster (again eq. fixed_cluster_app), and appendix
// B.1, eq. prob, eq. cluster and eq. graph1: R(W, Omega) in the paper's own
// letters.
func TestRegularizersFollowTheirEquations(t *testing.T) {
	for _, f := range formulations(t) {
		for seed := range uint64(5) {
			w := randomMatrix(40+seed, paperTasks, paperFeatures)
			got, want := f.c.Value(&w, nil), f.at(&w)
			expect.That(t, near(got, want, 1e-9), "%s: R(W) = %v, by its equation %v", f.name, got, want)
		}
	}
}

// Section 3.2, observation 1: "not jointly convex in W and Omega" in general,
// such as eq. fixed_cluster; eq. prob is (appendix B.1, "a jointly convex
// formulation").
func TestObservation1OnlySomeAreJointlyConvex(t *testing.T) {
	// W = 0 under Omega = b against W under Omega = a: half way, W/2 is charged
	// for (a+b)/2.
	random := func(seed uint64) *mat.SymDense { // of trace one
		g := randomMatrix(seed, paperTasks, paperTasks)
		omega, trace := mat.NewSymDense(paperTasks, nil), 0.0
		for i := range paperTasks {
			for j := i; j < paperTasks; j++ {
				omega.SetSym(i, j, kernel.Dot(g.Row(i), g.Row(j)))
			}
			trace += omega.At(i, i)
		}
		omega.ScaleSym(1/trace, omega)
		return weightedSum(0.95, omega, 0.05/paperTasks, unitMatrix(paperTasks))
	}
	value := func(omega *mat.SymDense, precision bool, w *data.Matrix) float64 {
		m := omega
		if precision { // lambda_1 = 1, lambda_2 = 0 in eq. fixed_cluster
			m = inverseMatrix(t, omega)
		}
		c := expect.Value(NewDense(m))(t)
		return c.Value(w, nil)
	}
	violated := map[bool]int{}
	for seed := range uint64(30) {
		a, b := random(500+seed), random(600+seed)
		w, u := randomMatrix(700+seed, paperTasks, 3), randomMatrix(800+seed, paperTasks, 3)
		mean := moveBy(&w, 1, &u)
		for i := range mean.Data {
			mean.Data[i] /= 2
		}
		between := weightedSum(0.5, a, 0.5, b)
		for _, precision := range []bool{true, false} {
			chord := (value(a, precision, &w) + value(b, precision, &u)) / 2
			if value(between, precision, &mean) > chord*(1+1e-12) {
				violated[precision]++
			}
		}
		// The precision of the heavier weights is the lower one: the chord is cheap.
		for i := range u.Data {
			u.Data[i] *= 1e-2
			mean.Data[i] = (w.Data[i] + u.Data[i]) / 2
		}
		small, large := weightedSum(0.01, a, 0, a), a
		chord := (value(small, true, &w) + value(large, true, &u)) / 2
		if value(weightedSum(0.5, small, 0.5, large), true, &mean) > chord*(1+1e-12) {
			violated[true]++
		}
	}
	expect.That(t, violated[true] != 0, "eq. fixed_cluster was never found not to be jointly convex")
	expect.That(t, violated[false] == 0, "eq. prob was not jointly convex on %d segments", violated[false])
}

// Section 3.2, observation 2: for fixed Omega the W update depends "on both the
// data X ... and the structure Omega".
func TestObservation2WStepDependsOnDataAndStructure(t *testing.T) {
	p := paperProblem(t, nil)
	other := mustProblem(t, p.Config, randomSplit(32, paperFeatures, 8, 12, 6, 9))
	all := formulations(t)
	first := p.Solver(testPool, 1e-6, 5000).Optimize(t.Context(), all[1].c, nil)
	for what, o := range map[string]*Optimum{
		"other data":  other.Solver(testPool, 1e-6, 5000).Optimize(t.Context(), all[1].c, nil),
		"other Omega": p.Solver(testPool, 1e-6, 5000).Optimize(t.Context(), all[2].c, nil),
	} {
		distance := moveBy(&o.W, -1, &first.W)
		d := dot(&distance, &distance)
		expect.That(t, d >= 1e-4*dot(&first.W, &first.W), "%s: W has moved by %g only", what, math.Sqrt(d))
	}
}

// Section 3.2, observation 3: for fixed W, "optimizing for Omega only depends on
// W and not on the data X".
func TestObservation3OmegaStepDependsOnWAlone(t *testing.T) {
	p := paperProblem(t, nil)
	other := mustProblem(t, p.Config, randomSplit(99, paperFeatures, 30, 3, 17, 4))
	w := randomMatrix(5, paperTasks, paperFeatures)
	a := expect.Value(p.Regularizer.Update(testPool, &w, 1e-6))(t)
	b := expect.Value(other.Regularizer.Update(testPool, &w, 1e-6))(t)
	scaled := moveBy(&w, 1, &randomMatrixOnce)
	c := expect.Value(p.Regularizer.Update(testPool, &scaled, 1e-6))(t)
	same, moved := true, false
	A, B, C := matrixOf(a), matrixOf(b), matrixOf(c)
	for i := range paperTasks {
		for j := range paperTasks {
			same = same && math.Float64bits(A.At(i, j)) == math.Float64bits(B.At(i, j))
			moved = moved || math.Abs(A.At(i, j)-C.At(i, j)) > 1e-3
		}
	}
	expect.That(t, same, "Omega differs between problems of the same W and different data")
	expect.That(t, moved, "Omega is the same for different W")
}

var randomMatrixOnce = randomMatrix(6, paperTasks, paperFeatures)

// Section 3.3, eq. objDual: D holds the conjugates of the losses and of R, R*(V)
// = sup over W of <V, W> - R(W), attained at W = grad R*(V).
func TestDualHoldsTheConjugateOfTheRegularizer(t *testing.T) {
	for _, f := range formulations(t) {
		v := randomMatrix(3, paperTasks, paperFeatures)
		top, best := conjugateOf(f.c, &v), weightsOf(f.c, &v)
		for seed := range uint64(50) {
			step := randomMatrix(900+seed, paperTasks, paperFeatures)
			for _, size := range []float64{1e-3, 0.1, 3} {
				w := moveBy(&best, size, &step)
				if value := dot(&v, &w) - f.c.Value(&w, nil); value > top+1e-9*math.Abs(top) {
					t.Fatalf("%s: <V,W> - R(W) = %v exceeds R*(V) = %v", f.name, value, top)
				}
			}
		}
	}
}

// Section 3.3, eq. objDual as Evaluate computes it.
func TestDualFollowsItsEquation(t *testing.T) {
	eachPaperLoss(t, func(t *testing.T, p *Problem) {
		for _, f := range formulations(t) {
			d := feasibleDuals(p, 4)
			w := weightsOf(f.c, &d.V)
			if got, want := p.Evaluate(testPool, f.c, &w, &d.V, d.Alpha).Dual,
				dualAt(p, f.c, d); !near(got, want, 1e-10) {
				t.Errorf("%s: D(alpha) = %v, by eq. objDual %v", f.name, got, want)
			}
		}
	})
}

// Section 3.3: eq. objDual "is the dual of problem eq. obj". Weak duality: -D
// at any alpha is below P at any W.
func TestDualBoundsThePrimal(t *testing.T) {
	eachPaperLoss(t, func(t *testing.T, p *Problem) {
		for _, f := range formulations(t) {
			for seed := range uint64(8) {
				d := feasibleDuals(p, seed)
				for _, size := range []float64{0, 0.1, 1, 5} {
					w := randomMatrix(seed+50, paperTasks, paperFeatures)
					for i := range w.Data {
						w.Data[i] *= size
					}
					gap := primalAt(p, f.c, &w) + dualAt(p, f.c, d)
					expect.Must(t, gap >= -1e-10, "%s: P(W) + D(alpha) = %g", f.name, gap)
				}
			}
		}
	})
}

// Strong duality: at the optimum the two meet, and w(alpha*) solves eq. obj.
func TestDualMeetsThePrimalAtTheOptimum(t *testing.T) {
	racetest.Skip(t, "compares numbers; shorter tests solve in parallel")
	eachPaperLoss(t, func(t *testing.T, p *Problem) {
		for _, f := range formulations(t) {
			o := p.Solver(testPool, 1e-9, 20_000).Optimize(t.Context(), f.c, nil)
			if gap := primalAt(p, f.c, &o.W) + dualAt(p, f.c, o.Duals); gap > 1e-7*(1+math.Abs(o.Primal)) ||
				gap < -1e-10 {
				t.Errorf("%s: P + D = %g at P = %g", f.name, gap, o.Primal)
			}
		}
	})
}

// Section 3.3: "primal variables can be found via w(alpha) = grad R*(X alpha)";
// the gradient by central differences.
func TestPrimalVariablesAreTheGradientOfTheConjugate(t *testing.T) {
	for _, f := range formulations(t) {
		v, direction := randomMatrix(8, paperTasks, paperFeatures), randomMatrix(9, paperTasks, paperFeatures)
		const h = 1e-5 // the lasso of eq. graph1 may bend in between
		up, down := moveBy(&v, h, &direction), moveBy(&v, -h, &direction)
		slope := (conjugateOf(f.c, &up) - conjugateOf(f.c, &down)) / (2 * h)
		w := weightsOf(f.c, &v)
		if want := dot(&w, &direction); !near(slope, want, 1e-5) {
			t.Errorf("%s: R* changes at the rate %v, <w(alpha), direction> = %v", f.name, slope, want)
		}
	}
}

// Assumption 1 and appendix B.2 with definitions 2 to 4: R is 1-strongly convex
// with respect to M^-1, "this corresponds to assuming that R* will be smooth
// with respect to M".
func TestAssumption1StrongConvexityAndSmoothness(t *testing.T) {
	for _, f := range formulations(t) {
		m := inverseMatrix(t, f.inverse)
		for seed := range uint64(20) {
			w, d := randomMatrix(seed, paperTasks, paperFeatures), randomMatrix(seed+70, paperTasks, paperFeatures)
			z := data.NewMatrix(paperTasks, paperFeatures)
			f.c.Gradient(&z, &w)
			moved := moveBy(&w, 1, &d)
			left := f.c.Value(&moved, nil)
			right := f.c.Value(&w, nil) + dot(&z, &d) + traceForm(f.inverse, &d)/2
			expect.Must(t, left >= right-1e-9*math.Abs(right),
				"%s: R(W+D) = %v < %v, the bound of strong convexity", f.name, left, right)
			u := weightsOf(f.c, &w) // w in the place of V
			left = conjugateOf(f.c, &moved)
			right = conjugateOf(f.c, &w) + dot(&u, &d) + traceForm(m, &d)/2
			expect.Must(t, left <= right+1e-9*math.Abs(right),
				"%s: R*(V+D) = %v > %v, the bound of smoothness", f.name, left, right)
		}
	}
}

// Appendix B.2 gives M^-1 as lambda_1 Omega + lambda_2 I for eq. fixed_cluster
// lambda (eta I + Omega)^-1 for eq. cluster, lambda (I/sigma^2 + Omega^-1) for
// eq. prob and lambda (I/sigma^2 + Omega) for eq. graph1. R = w^T A w is strongly convex
// with respect to A, as the paper states, and even to 2 A, which the code uses: R is then
// 1/2 |w|^2 in that norm, apart from the l1 term of eq. graph1.
func TestAppendixB2StrongConvexityHoldsTwice(t *testing.T) {
	for _, f := range formulations(t) {
		for seed := range uint64(10) {
			w, d := randomMatrix(seed, paperTasks, paperFeatures), randomMatrix(seed+30, paperTasks, paperFeatures)
			z := data.NewMatrix(paperTasks, paperFeatures)
			f.c.Gradient(&z, &w)
			moved := moveBy(&w, 1, &d)
			rest := f.c.Value(&moved, nil) - f.c.Value(&w, nil) - dot(&z, &d)
			ours, theirs := traceForm(f.inverse, &d)/2, traceForm(f.inverse, &d)/4
			expect.That(t, (f.l1 != 0 || near(rest, ours, 1e-8)) && rest >= ours-1e-9 && rest >= theirs,
				"%s: R(W+D) - R(W) - <Z,D> = %v, want %v, at least %v", f.name, rest, ours, theirs)
		}
	}
}

// Remark 1: with w the columns of W and Omega-bar = Omega x I_d (Kronecker),
// R(W, Omega) = w^T (lambda_1 Omega-bar + lambda_2 I) w.
func TestRemark1VectorizedForm(t *testing.T) {
	for _, f := range formulations(t) {
		w := randomMatrix(12, paperTasks, paperFeatures)
		vector := mat.NewVecDense(paperTasks*paperFeatures, nil)
		for s := range paperTasks {
			for j, x := range w.Row(s) {
				vector.SetVec(s*paperFeatures+j, x)
			}
		}
		var big mat.Dense
		big.Kronecker(f.inverse, unitMatrix(paperFeatures))
		if got, want := mat.Inner(vector, &big, vector)/2,
			f.c.Value(&w, nil)-(f.at(&w)-traceForm(f.inverse, &w)/2); !near(got, want, 1e-10) {
			t.Errorf("%s: %v in vectors, %v in matrices", f.name, got, want)
		}
	}
}

// Section 3.3, eq. subproblem: as measured, G_t at 0 is its constant-free part,
// and after coordinate steps it equals the equation.
func TestSubproblemFollowsItsEquation(t *testing.T) {
	eachPaperLoss(t, func(t *testing.T, p *Problem) {
		for _, f := range formulations(t) {
			d := feasibleDuals(p, 6)
			sigma := p.SigmaPrime(f.c)
			w := weightsOf(f.c, &d.V)
			constant := conjugateOf(f.c, &d.V) / float64(p.Clients())
			for k := range d.Alpha {
				curvature := sigma[k] * f.c.Diag(k)
				a, u, dv := append([]float64(nil), d.Alpha[k]...), append([]float64(nil), w.Row(k)...),
					make([]float64, paperFeatures)
				atZero := 0.0
				for i, x := range a {
					atZero += p.Loss.Conjugate(x, p.Train.Clients[k].Y[i])
				}
				if got := p.Subproblem(k, curvature).Evaluate(a, u, w.Row(k), dv).Value; !near(got, atZero, 1e-12) {
					t.Errorf("%s: G_%d(0) = %v, want %v", f.name, k, got, atZero)
				}
				var order Order
				order.Reset(len(a), rng.New(1, rng.Solve, k, 0))
				p.Subproblem(k, curvature).SDCA(a, u, &order, 2*len(a))
				got, want := p.Subproblem(k, curvature).Evaluate(a, u, w.Row(k), dv).Value,
					subproblemAt(p, f.c, d, sigma, k, a)-constant
				expect.That(t, near(got, want, 1e-9), "%s: G_%d(da) = %v, by eq. subproblem %v", f.name, k, got, want)
			}
		}
	})
}

// Section 3.3: subproblems "only require accessing data which is available
// locally": the solution of device 0 is the same bits whatever the others hold.
func TestSubproblemIsDataLocal(t *testing.T) {
	solve := func(change bool) []float64 {
		split := randomSplit(31, paperFeatures, 8, 12, 6, 9)
		if change {
			for k := 1; k < paperTasks; k++ {
				clear(split.Train.Clients[k].X.Data)
			}
		}
		p := mustProblem(t, Defaults(), split)
		a, u := make([]float64, 8), append([]float64(nil), randomMatrixOnce.Row(0)...)
		var order Order
		order.Reset(8, rng.New(1, rng.Solve, 0, 0))
		p.Subproblem(0, 0.7).SDCA(a, u, &order, 50)
		return append(a, u...)
	}
	a, b := solve(false), solve(true)
	moved := false
	for i := range a {
		moved = moved || a[i] != 0
		expect.Must(t, math.Float64bits(a[i]) == math.Float64bits(b[i]),
			"element %d is %v, with other data elsewhere %v", i, a[i], b[i])
	}
	expect.That(t, moved, "nothing was solved")
}

// Appendix B.1: unlike clusters, eq. prob "can model both positive and negative
// relationships among the tasks".
func TestProbabilisticModelsNegativeRelationships(t *testing.T) {
	w := randomMatrix(2, 3, paperFeatures)
	for j := range paperFeatures {
		w.Row(1)[j] = -w.Row(0)[j] + 0.1*w.Row(1)[j]
	}
	c := expect.Value(Probabilistic{Lambda: 1}.Update(testPool, &w, 1e-6))(t)
	if M := matrixOf(c); M.At(0, 1) > -0.5*math.Sqrt(M.At(0, 0)*M.At(1, 1)) {
		t.Errorf("opposite tasks have M_01 = %g beside M_00 = %g", M.At(0, 1), M.At(0, 0))
	}
	mean := expect.Value(MeanRegularized{Lambda1: 1, Lambda2: 0.1}.Start(testPool, 3))(t)
	for s := range 3 {
		for r := range 3 {
			x := matrixOf(mean).At(s, r)
			expect.That(t, x >= 0, "a cluster has M_%d%d = %g", s, r, x)
		}
	}
}

// Appendix B.3: the Omega update of eq. prob is (W^T W)^1/2, here of trace one
// as its constraint has it.
func TestProbabilisticUpdateIsTheRootOfTheGramMatrix(t *testing.T) {
	for _, shape := range [][2]int{{4, 9}, {7, 3}} { // more features than tasks, and fewer
		w := randomMatrix(77, shape[0], shape[1])
		c := expect.Value(Probabilistic{Lambda: 1}.Update(testPool, &w, 1e-9))(t)
		got, want := matrixOf(c), rootOfGram(t, &w, 1e-9)
		trace := 0.0
		for i := range shape[0] {
			trace += got.At(i, i)
			for j := range shape[0] {
				// The root of a rounded eigenvalue 0 is about 1e-8.
				expect.That(t, math.Abs(got.At(i, j)-want.At(i, j)) <= 1e-7,
					"%v: Omega[%d][%d] = %v, want %v", shape, i, j, got.At(i, j), want.At(i, j))
			}
		}
		expect.That(t, near(trace, 1, 1e-12), "%v: tr Omega = %v", shape, trace)
	}
}

// Appendix B.3: eq. fixed_cluster "does not require any updates to Omega, as it
// is assumed to be fixed".
func TestFixedOmegaIsNeverUpdated(t *testing.T) {
	w := randomMatrix(1, paperTasks, paperFeatures)
	for _, r := range []Regularizer{Independent{Lambda: 1}, MeanRegularized{Lambda1: 1, Lambda2: 1}} {
		c, err := r.Update(testPool, &w, 1e-6)
		expect.That(t, c == nil && err == ErrFixed, "%T: %v, %v", r, c, err)
	}
}
