package mtl

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/lasso"
)

// enumerated solves the lasso by trying all signs: the slow twin.
func enumerated(a *mat.SymDense, v []float64, l1 float64) []float64 {
	m := len(v)
	best, value := make([]float64, m), 0.0
	signs := make([]int, m)
	for code := range int(math.Pow(3, float64(m))) {
		var support []int
		for i := range m {
			signs[i] = code%3 - 1
			if code /= 3; signs[i] != 0 {
				support = append(support, i)
			}
		}
		if len(support) == 0 {
			continue
		}
		n := len(support)
		sub, rhs := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
		for r, i := range support {
			rhs.SetVec(r, v[i]-l1*float64(signs[i]))
			for c, j := range support {
				sub.Set(r, c, a.At(i, j))
			}
		}
		x := mat.NewVecDense(n, nil)
		if err := x.SolveVec(sub, rhs); err != nil {
			continue
		}
		w := make([]float64, m)
		for r, i := range support {
			w[i] = x.AtVec(r)
		}
		if f := lassoValue(a, w, v, l1); f < value {
			best, value = w, f
		}
	}
	return best
}

func lassoValue(a *mat.SymDense, w, v []float64, l1 float64) float64 {
	sum := 0.0
	for i := range w {
		sum += l1*math.Abs(w[i]) - v[i]*w[i]
		for j := range w {
			sum += a.At(i, j) / 2 * w[i] * w[j]
		}
	}
	return sum
}

func TestLassoAgainstAllSigns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 5).Draw(t, "m")
		g := randomMatrix(rapid.Uint64().Draw(t, "seed"), m, m)
		ridge := math.Exp(rapid.Float64Range(-12, 3).Draw(t, "log ridge"))
		a := symmetric(m, func(s, t int) float64 {
			return ridge*delta(s, t) + mat.Dot(mat.NewVecDense(m, g.Row(s)), mat.NewVecDense(m, g.Row(t)))
		})
		v := rapid.SliceOfN(rapid.Float64Range(-3, 3), m, m).Draw(t, "v")
		l1 := rapid.SampledFrom([]float64{0, 1e-6, 0.1, 1, 2.9}).Draw(t, "l1")
		c, err := newSparse(a, l1)
		if err != nil {
			t.Skip(err)
		}
		l := lasso.New(c.precision, c.Tasks(), c.l1)
		l.Solve(v, 1)
		want := enumerated(a, v, l1)
		f, best := lassoValue(a, l.W, v, l1), lassoValue(a, want, v, l1)
		expect.Must(t, f <= best+1e-10*(1+math.Abs(best)),
			"A = %v, v = %v, l1 = %g: w = %v has %.15g, %v has %.15g", mat.Formatted(a), v, l1, l.W, f, want, best)
		// The conditions of optimality, to the accuracy that A's own entries have.
		for i := range m {
			slack, size := v[i], math.Abs(v[i])+l1
			for j := range m {
				slack -= a.At(i, j) * l.W[j]
				size += math.Abs(a.At(i, j) * l.W[j])
			}
			violation := math.Abs(slack) - l1
			if l.W[i] != 0 {
				violation = math.Abs(slack - math.Copysign(l1, l.W[i]))
			}
			if violation > 1e-13*size {
				t.Fatalf("A = %v, v = %v, l1 = %g: w = %v violates condition %d by %g", mat.Formatted(a), v, l1, l.W, i,
					violation)
			}
		}
	})
}

// The solver ends when the optimality condition of a zero entry holds with equality.
func TestLassoWithEqualityAtZero(t *testing.T) {
	a := mat.NewSymDense(3, []float64{2, 1, 0, 1, 2, 1, 0, 1, 2})
	c := expect.Value(newSparse(a, 1))(t)
	l := lasso.New(c.precision, c.Tasks(), c.l1)
	for _, test := range []struct{ v, want []float64 }{
		{[]float64{1, -1, 1}, []float64{0, 0, 0}},
		{[]float64{3, 2, 1}, []float64{1, 0, 0}}, // 2 - A_21 = 1 and 1 = l1
		{[]float64{0, 5, 0}, []float64{-1, 3, -1}},
		{[]float64{-3, 0, 3}, []float64{-1, 0, 1}},
	} {
		l.Solve(test.v, 1)
		for i := range l.W {
			if math.Abs(l.W[i]-test.want[i]) > 2e-15 {
				t.Errorf("v = %v: w = %v, want %v", test.v, l.W, test.want)
				break
			}
		}
	}
	l.Solve([]float64{math.NaN(), 1, 1}, 1) // ends
}

// solve does not allocate.
func TestLassoAllocatesNothing(t *testing.T) {
	c := expect.Value(newSparse(symmetric(20, func(s, t int) float64 { return delta(s, t) + 1/float64(1+s+t) }), 0.2))(
		t)
	v := randomMatrix(1, 20, 30)
	l := lasso.New(c.precision, c.Tasks(), c.l1)
	if n := testing.AllocsPerRun(10, func() {
		for j := range v.Cols {
			l.Solve(v.Data[j:], v.Stride)
		}
	}); n != 0 {
		t.Errorf("%g allocations, want 0", n)
	}
}
