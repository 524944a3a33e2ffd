package mtl

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

	"gonum.org/v1/gonum/mat"
)

// optimality returns by how much the conditions of the graphical lasso are
// violated at X: S - X^-1 + rho sign(X) = 0 where X is not zero, and at most rho in
// size where it is.
func optimality(s, x *mat.SymDense, rho float64) (violation float64, zeros int) {
	n := s.SymmetricDim()
	w := inverted(x)
	for i := range n {
		for j := i; j < n; j++ {
			g := s.At(i, j) - w.At(i, j)
			if v := x.At(i, j); v == 0 {
				zeros++
				violation = math.Max(violation, math.Abs(g)-rho)
			} else {
				violation = math.Max(violation, math.Abs(g+math.Copysign(rho, v)))
			}
		}
	}
	return violation, zeros
}

// gram returns W^T W/d of random weights, singular when d < m.
func gram(seed uint64, m, d int) *mat.SymDense {
	w := randomMatrix(seed, m, d)
	s := mat.NewSymDense(m, nil)
	s.SymOuterK(1/float64(d), mat.NewDense(m, w.Stride, w.Data))
	return s
}

// S has full rank or not, and the penalty ranges from almost zero to one that leaves only the
// diagonal. The optimality conditions hold to 1e-8. Zeros are exact, and their number grows
// with the penalty.
func TestGraphicalLassoIsOptimal(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	for _, size := range []struct{ m, d int }{{1, 3}, {2, 5}, {5, 2}, {8, 30}, {12, 1}, {25, 10}, {30, 300}} {
		s := gram(uint64(size.m), size.m, size.d)
		pairs := size.m * (size.m - 1) / 2
		before := -1
		for _, rho := range []float64{1e-3, 1e-2, 0.1, 0.3, 1, 30} {
			t.Run(fmt.Sprintf("%dx%d/%g", size.m, size.d, rho), func(t *testing.T) {
				x := expect.Value(graphicalLasso(s, rho))(t)
				violation, zeros := optimality(s, x, rho)
				expect.That(t, violation <= 1e-8, "the conditions of optimality are violated by %g", violation)
				expect.That(t, rho != 30 || zeros == pairs,
					"%d of %d entries are zero under a penalty that exceeds all of S", zeros, pairs)
				expect.That(t, rho != 1e-3 || size.d < size.m || zeros != pairs || pairs == 0,
					"all entries are zero under hardly any penalty")
				if zeros+2 < before { // the path need not be monotone entry by entry
					t.Errorf("%d zeros, %d under a smaller penalty", zeros, before)
				}
				before = zeros
			})
		}
	}
}

// Scaling S and the penalty by a scales the solution by 1/a, also far from 1:
// weights of any size have a solution.
func TestGraphicalLassoScales(t *testing.T) {
	s := gram(3, 6, 9)
	want := expect.Value(graphicalLasso(s, 0.1))(t)
	for _, a := range []float64{1e-12, 1e-5, 1e4, 1e10} {
		scaled := mat.NewSymDense(6, nil)
		scaled.ScaleSym(a, s)
		got, err := graphicalLasso(scaled, 0.1*a)
		if err != nil {
			t.Errorf("scale %g: %v", a, err)
			continue
		}
		for i := range 6 {
			for j := range 6 {
				if x := got.At(i, j) * a; math.Abs(x-want.At(i, j)) > 1e-8 || (x == 0) != (want.At(i, j) == 0) {
					t.Errorf("scale %g: X[%d][%d] = %g, want %g", a, i, j, x, want.At(i, j))
				}
			}
		}
	}
	// The weights of tasks differ by orders of magnitude.
	w := randomMatrix(5, 5, 8)
	for j := range w.Row(0) {
		w.Row(0)[j] *= 1e4
		w.Row(4)[j] *= 1e-4
	}
	uneven := mat.NewSymDense(5, nil)
	uneven.SymOuterK(1.0/8, mat.NewDense(5, w.Stride, w.Data))
	x := expect.Value(graphicalLasso(uneven, 1e-3))(t)
	violation, _ := optimality(uneven, x, 1e-3)
	expect.That(t, violation <= 1e-6*uneven.At(0, 0),
		"uneven tasks: the conditions of optimality are violated by %g", violation)
}

// A smaller penalty loses more digits of X to rounding. A result without a correct digit is
// an error that names the key to change.
func TestGraphicalLassoAtTheEndOfPrecision(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	s := gram(3, 20, 6)
	for _, test := range []struct{ rho, violation float64 }{{1e-4, 1e-9}, {1e-6, 1e-7}, {1e-8, 1e-3}} {
		x := expect.Value(graphicalLasso(s, test.rho))(t)
		if violation, _ := optimality(s, x, test.rho); violation > test.violation {
			t.Errorf("penalty %g: the conditions of optimality are violated by %g", test.rho, violation)
		}
	}
	_, err := graphicalLasso(s, 1e-16)
	expect.That(t, err != nil && strings.Contains(err.Error(), "raise problem.regularizer_options.lambda2"),
		"a penalty below rounding: %v", err)
}

// Without a penalty Omega is d (W^T W)^-1. When W^T W is singular, the error names the key to
// change.
func TestGraphicalWithoutPenalty(t *testing.T) {
	w := randomMatrix(8, 4, 6)
	c, err := Graphical{Lambda: 0.5, Features: 6}.Update(testPool, &w, 0)
	expect.NoError(t, err)
	M := quadraticPart(c) // 1/(2 lambda) Omega^-1 = W^T W/d
	s := gram(8, 4, 6)
	for i := range 4 {
		for j := range 4 {
			expect.That(t, near(M.At(i, j), s.At(i, j), 1e-10), "M[%d][%d] = %g, want %g", i, j, M.At(i, j), s.At(i, j))
		}
	}
	narrow := randomMatrix(8, 4, 3)
	_, err = Graphical{Lambda: 0.5, Features: 3}.Update(testPool, &narrow, 0.1)
	expect.That(t, err != nil && strings.Contains(err.Error(), "problem.regularizer_options.lambda2 must be positive"),
		"a singular W^T W without a penalty: %v", err)
}

// In a chain of tasks, each is related only to the next. With many features, the update
// recovers the zeros of Omega.
func TestGraphicalFindsTheGraph(t *testing.T) {
	const m, d = 6, 4000
	precision := symmetric(m, func(s, t int) float64 {
		switch {
		case s == t:
			return 2
		case t == s+1:
			return -0.6
		}
		return 0
	})
	var chol mat.Cholesky
	expect.Must(t, chol.Factorize(inverted(precision)), "the chain is not positive definite")
	var l mat.TriDense
	chol.LTo(&l)
	noise := randomMatrix(4, m, d)
	w := randomMatrix(4, m, d)
	product := mat.NewDense(m, w.Stride, w.Data)
	product.Mul(&l, mat.NewDense(m, noise.Stride, noise.Data))
	omega := expect.Value(Graphical{Lambda: 1, L2: 0.08 * d, Features: d}.omega(&w))(t)
	for s := range m {
		for u := s + 1; u < m; u++ {
			expect.That(t, (omega.At(s, u) != 0) == (u == s+1),
				"Omega[%d][%d] = %g, the tasks are a chain", s, u, omega.At(s, u))
		}
	}
}

// Two tasks have a solution by hand: W_12 = S_12 shrunk by rho, W_ii = S_ii + rho.
func TestGraphicalLassoOfTwoTasks(t *testing.T) {
	for _, s12 := range []float64{0.6, -0.6, 0.05} {
		const rho = 0.1
		x := expect.Value(graphicalLasso(mat.NewSymDense(2, []float64{1, s12, s12, 2}), rho))(t)
		w12 := math.Copysign(max(0, math.Abs(s12)-rho), s12)
		want := inverted(mat.NewSymDense(2, []float64{1 + rho, w12, w12, 2 + rho}))
		for i := range 2 {
			for j := range 2 {
				expect.That(t, near(x.At(i, j), want.At(i, j), 1e-11),
					"S_12 = %g: X[%d][%d] = %g, want %g", s12, i, j, x.At(i, j), want.At(i, j))
			}
		}
	}
}
