package mtl

import (
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
