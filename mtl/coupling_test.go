package mtl

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/expect"
)

// matrixOf returns M of a coupling, row by row from Incremental on unit vectors.
func matrixOf(c Coupling) *mat.SymDense {
	m := c.Tasks()
	v := data.NewMatrix(m, m)
	for i := range m {
		v.Row(i)[i] = 1
	}
	f, M := c.Incremental(&v), mat.NewSymDense(m, nil)
	row := make([]float64, m)
	for i := range m {
		f.Task(row, i)
		for j := i; j < m; j++ {
			M.SetSym(i, j, row[j])
		}
	}
	return M
}

func couplings(t *testing.T) map[string]Coupling {
	w := randomMatrix(3, 6, 10)
	learned := expect.Value(Probabilistic{Lambda: 0.1}.Update(testPool, &w, 1e-6))(t)
	wide := randomMatrix(4, 6, 3) // fewer features than tasks: Omega is singular without its floor
	low := expect.Value(Probabilistic{Lambda: 0.1, Paper: true, PriorPrecision: 2}.Update(testPool, &wide, 1e-3))(t)
	mean := expect.Value(MeanRegularized{Lambda1: 0.5, Lambda2: 0.1}.Start(testPool, 6))(t)
	return map[string]Coupling{
		"identity": Identity{M: 6, Scale: 0.7}, "learned": learned, "singular": low, "mean": mean,
	}
}

// The value of a W whose rows are made has the bits of that in memory.
func TestValueOfMadeRows(t *testing.T) {
	w := randomMatrix(1, 6, 13)
	made := data.Matrix{Rows: 6, Cols: 13, Make: func(i, _ int, into []float64) { copy(into, w.Row(i)) }}
	for name, c := range couplings(t) {
		for _, c := range []Coupling{c, Shifted{c, 0.25}} {
			got, want := valueOf(c, &made, nil), valueOf(c, &w, nil)
			expect.That(t, got == want, "%s: R(W) = %g, in memory %g", name, got, want)
		}
	}
}

func TestConventionsOfTheProbabilisticRegularizer(t *testing.T) {
	w := randomMatrix(9, 4, 6)
	authors := expect.Value(Probabilistic{Lambda: 0.2}.Update(testPool, &w, 1e-6))(t)
	// lambda/2 in place of lambda and no 1/s2 makes the paper's convention the authors'.
	paper := expect.Value(Probabilistic{Lambda: 0.1, Paper: true}.Update(testPool, &w, 1e-6))(t)
	a, b := matrixOf(authors), matrixOf(paper)
	for i := range 4 {
		for j := range 4 {
			expect.That(t, near(a.At(i, j), b.At(i, j), 1e-12),
				"M[%d][%d] = %g under authors, %g under paper with lambda/2", i, j, a.At(i, j), b.At(i, j))
		}
	}
	if c, err := (Probabilistic{Lambda: 2, Paper: true, PriorPrecision: 3}).Start(testPool, 4); err != nil ||
		!near(c.Diag(0), 1/(2*2*(3+4.0)), 1e-15) {
		t.Errorf("start of the paper's convention: M_tt = %g (%v), want 1/(2 lambda (1/s2 + m))", c.Diag(0), err)
	}
}

func TestIndefiniteCouplingIsRejected(t *testing.T) {
	_, err := NewDense(mat.NewSymDense(2, []float64{1, 2, 2, 1}))
	expect.That(t, err != nil, "NewDense accepted an indefinite matrix")
}

// sigma' diag(M) - M must be positive semidefinite (eq. sigmaPrimeSafeDefinition),
// and the spectral rule must be the smallest value for which it is.
func TestSigmaPrimeIsSafeAndSpectralIsTight(t *testing.T) {
	for name, c := range couplings(t) {
		M := matrixOf(c)
		lowest := func(sigma float64) float64 {
			var e mat.EigenSym
			d := mat.NewSymDense(6, nil)
			for i := range 6 {
				for j := i; j < 6; j++ {
					x := -M.At(i, j)
					if i == j {
						x += sigma * M.At(i, i)
					}
					d.SetSym(i, j, x/math.Sqrt(M.At(i, i)*M.At(j, j)))
				}
			}
			expect.Must(t, e.Factorize(d, false), "no eigenvalues")
			return e.Values(nil)[0]
		}
		lemma, spectral := c.SigmaPrime(SigmaLemma9, nil)[0], c.SigmaPrime(SigmaSpectral, nil)[0]
		if l := lowest(lemma); l < -1e-12 {
			t.Errorf("%s: Lemma 9's sigma' = %g is not safe: lowest eigenvalue %g", name, lemma, l)
		}
		if l := lowest(spectral); l < -1e-12 || l > 1e-8 {
			t.Errorf("%s: spectral sigma' = %g leaves the lowest eigenvalue at %g, want 0", name, spectral, l)
		}
		expect.That(t, spectral <= lemma*(1+1e-9), "%s: spectral sigma' %g exceeds Lemma 9's %g", name, spectral, lemma)
	}
}

// (W^T W)^1/2 / tr is the minimizer of tr(W Omega^-1 W^T) over tr Omega = 1
// (Zhang and Yeung): its value is (tr (W^T W)^1/2)^2, and no other Omega of
// trace one has a lower one.
func TestProbabilisticUpdateMinimizes(t *testing.T) {
	const m = 5
	w := randomMatrix(7, m, 9)
	value := func(c Coupling) float64 { // tr(W M^-1 W^T) with M = Omega
		z := data.NewMatrix(m, 9)
		c.Gradient(&z, &w)
		sum := 0.0
		for i := range w.Data {
			sum += z.Data[i] * w.Data[i]
		}
		return sum
	}
	best := expect.Value(Probabilistic{Lambda: 1}.Update(testPool, &w, 1e-12))(t)
	trace := 0.0
	for i := range m {
		trace += best.Diag(i)
	}
	expect.That(t, near(trace, 1, 1e-12), "tr Omega = %g, want 1", trace)
	var svd mat.SVD
	expect.Must(t, svd.Factorize(mat.NewDense(m, w.Stride, w.Data), mat.SVDNone), "no singular values")
	nuclear := 0.0
	for _, s := range svd.Values(nil) {
		nuclear += s
	}
	if got := value(best); !near(got, nuclear*nuclear, 1e-9) {
		t.Errorf("value at the update = %g, want the squared nuclear norm %g", got, nuclear*nuclear)
	}
	for seed := range uint64(50) {
		g := randomMatrix(100+seed, m, m)
		omega := mat.NewSymDense(m, nil)
		tr := 0.0
		for i := range m {
			for j := i; j < m; j++ {
				x := 0.05 * best.(*Dense).At(i, j)
				for k := range m {
					x += 1e-3 * g.Row(i)[k] * g.Row(j)[k]
				}
				x += best.(*Dense).At(i, j)
				omega.SetSym(i, j, x)
			}
			tr += omega.At(i, i)
		}
		omega.ScaleSym(1/tr, omega)
		other := expect.Value(NewDense(omega))(t)
		expect.That(t, value(other) >= value(best)*(1-1e-10),
			"another Omega of trace one has the lower value %g < %g", value(other), value(best))
	}
}

// MeanRegularized's closed form against the inverse of its definition.
func TestMeanCouplingInvertsItsDefinition(t *testing.T) {
	const m, l1, l2 = 5, 0.3, 0.2
	c := expect.Value(MeanRegularized{Lambda1: l1, Lambda2: l2}.Start(testPool, m))(t)
	center := mat.NewDense(m, m, nil)
	for i := range m {
		for j := range m {
			center.Set(i, j, -1.0/m)
		}
		center.Set(i, i, 1-1.0/m)
	}
	var omega, product mat.Dense
	omega.Mul(center, center)
	definition := mat.NewDense(m, m, nil)
	for i := range m {
		for j := range m {
			x := l1 * omega.At(i, j)
			if i == j {
				x += l2
			}
			definition.Set(i, j, 2*x)
		}
	}
	product.Mul(definition, matrixOf(c))
	for i := range m {
		for j := range m {
			want := 0.0
			if i == j {
				want = 1
			}
			expect.That(t, near(product.At(i, j), want, 1e-13),
				"(2(l1 Omega + l2 I) M)[%d][%d] = %g, want %g", i, j, product.At(i, j), want)
		}
	}
}

func TestCouplingProductsAgree(t *testing.T) {
	v := randomMatrix(1, 6, 13)
	for name, c := range couplings(t) {
		M := matrixOf(c)
		w, z := data.NewMatrix(6, 13), data.NewMatrix(6, 13)
		c.Primal(&w, &v)
		c.Gradient(&z, &w)
		row := make([]float64, 13)
		for s := range 6 {
			c.Incremental(&v).Task(row, s)
			for j := range 13 {
				want := 0.0
				for r := range 6 {
					want += M.At(s, r) * v.Row(r)[j]
				}
				if !near(w.Row(s)[j], want, 1e-12) || !near(row[j], want, 1e-12) {
					t.Fatalf("%s: (V M)[%d][%d] = %g by Primal, %g by Incremental, want %g", name, s, j, w.Row(s)[j],
						row[j], want)
				}
				expect.Must(t, near(z.Row(s)[j], v.Row(s)[j], 1e-8),
					"%s: Gradient(Primal(V)) = %g, want %g", name, z.Row(s)[j], v.Row(s)[j])
			}
			expect.That(t, near(c.Diag(s), M.At(s, s), 1e-14),
				"%s: Diag(%d) = %g, want %g", name, s, c.Diag(s), M.At(s, s))
		}
	}
}
