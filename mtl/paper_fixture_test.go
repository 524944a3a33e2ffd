package mtl

// Fixtures of the tests by sentence (paper_test.go): the regularizers of appendix B with
// their formulas, and the functions P, D, R* and G_t of the paper.

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/rng"
)

// formulation is a regularizer with a coupling of four tasks, learned from
// random weights when it learns.
type formulation struct {
	name string
	reg  Regularizer
	c    Coupling
	// The formula of R in section 3.1 or appendix B.1: R(W) = 1/2 tr(W
	// M^-1 W^T) + l1 |W|_1 + constant.
	inverse      *mat.SymDense // M^-1
	l1, constant float64
}

// at returns R(W) by its formula.
func (f *formulation) at(w *data.Matrix) float64 {
	sum := 0.0
	for _, x := range w.Data {
		sum += math.Abs(x)
	}
	return traceForm(f.inverse, w)/2 + f.l1*sum + f.constant
}

const (
	paperTasks    = 4
	paperFeatures = 5
)

// formulations are those of appendix B.1 with the constants of each drawn apart.
func formulations(t testing.TB) []formulation {
	t.Helper()
	const lambda, lambda1, lambda2, prior, eta, clusters, floor = 0.3, 0.4, 0.15, 0.7, 0.2, 1.5, 1e-3
	w := randomMatrix(21, paperTasks, paperFeatures)
	omega := rootOfGram(t, &w, floor)
	eye := unitMatrix(paperTasks)
	center := mat.NewDense(paperTasks, paperTasks, nil)
	for i := range paperTasks {
		for j := range paperTasks {
			center.Set(i, j, eye.At(i, j)-1.0/paperTasks)
		}
	}
	var square mat.Dense // Omega = (I - 11^T/m)^2, known a priori
	square.Mul(center, center)
	relaxed := waterFilled(t, &w, eta, clusters)
	relaxed = weightedSum(1-floor, relaxed, floor*clusters/paperTasks, eye)
	graphical := Graphical{Lambda: lambda, PriorPrecision: prior, L1: lambda1, L2: lambda2, Features: paperFeatures}
	precision := expect.Value(graphical.omega(&w))(t)
	precision = weightedSum(1-floor, precision, floor*mat.Trace(precision)/paperTasks, eye)
	size := 0.0
	for i := range paperTasks {
		for j := range paperTasks {
			size += math.Abs(precision.At(i, j))
		}
	}
	all := []formulation{
		{name: "independent", reg: Independent{Lambda: lambda}, inverse: weightedSum(lambda*paperTasks, eye, 0, eye)},
		{name: "mean", reg: MeanRegularized{Lambda1: lambda1, Lambda2: lambda2},
			inverse: weightedSum(2*lambda1, &square, 2*lambda2, eye)},
		{name: "probabilistic, paper", reg: Probabilistic{Lambda: lambda, PriorPrecision: prior, Paper: true},
			inverse: weightedSum(2*lambda, inverseMatrix(t, omega), 2*lambda*prior, eye)},
		{name: "probabilistic, authors", reg: Probabilistic{Lambda: lambda},
			inverse: weightedSum(lambda, inverseMatrix(t, omega), 0, eye)},
		{name: "clustered", reg: Clustered{Lambda: lambda, Eta: eta, Count: clusters},
			inverse: weightedSum(2*lambda, inverseMatrix(t, weightedSum(eta, eye, 1, relaxed)), 0, eye)},
		{name: "graphical", reg: graphical, inverse: weightedSum(2*lambda*prior, eye, 2*lambda, precision), l1: lambda1,
			constant: -lambda*paperFeatures*math.Log(mat.Det(precision)) + lambda2*size},
	}
	for i := range all {
		f := &all[i]
		c, err := f.reg.Update(testPool, &w, floor)
		if errors.Is(err, ErrFixed) {
			c, err = f.reg.Start(testPool, paperTasks)
		}
		if err != nil {
			t.Fatal(f.name, err)
		}
		f.c = c
	}
	return all
}

// waterFilled returns the Omega of eq. cluster for W: eigenvalues clip(s/level -
// eta, 0, 1) of the sum k by bisection, s being the singular values of W.
func waterFilled(t testing.TB, w *data.Matrix, eta, k float64) *mat.SymDense {
	t.Helper()
	var svd mat.SVD
	expect.Must(t, svd.Factorize(mat.NewDense(w.Rows, w.Stride, w.Data), mat.SVDThin), "no singular values")
	s := svd.Values(nil)
	o := make([]float64, len(s))
	low, high := 1e-9, s[0]/eta
	for range 200 {
		level, sum := (low+high)/2, 0.0
		for i := range s {
			o[i] = math.Min(1, math.Max(0, s[i]/level-eta))
			sum += o[i]
		}
		if sum > k {
			low = level
		} else {
			high = level
		}
	}
	var u, omega mat.Dense
	svd.UTo(&u)
	omega.Mul(&u, mat.NewDiagDense(len(o), o))
	omega.Mul(&omega, u.T())
	return weightedSum(0.5, &omega, 0.5, omega.T())
}

// rootOfGram returns (1-floor) (W^T W)^1/2/tr + floor I/m by eigenvalues of
// W^T W, as appendix B.3 has it.
func rootOfGram(t testing.TB, w *data.Matrix, floor float64) *mat.SymDense {
	t.Helper()
	m := w.Rows
	gram := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			gram.SetSym(i, j, kernel.Dot(w.Row(i), w.Row(j)))
		}
	}
	var e mat.EigenSym
	expect.Must(t, e.Factorize(gram, true), "no eigenvalues")
	var u, root mat.Dense
	e.VectorsTo(&u)
	values := e.Values(nil)
	trace := 0.0
	for i := range values {
		values[i] = math.Sqrt(math.Max(0, values[i]))
		trace += values[i]
	}
	root.Mul(&u, mat.NewDiagDense(m, values))
	root.Mul(&root, u.T())
	return weightedSum((1-floor)/trace, &root, floor/float64(m), unitMatrix(m))
}

func unitMatrix(m int) *mat.SymDense {
	eye := mat.NewSymDense(m, nil)
	for i := range m {
		eye.SetSym(i, i, 1)
	}
	return eye
}

// weightedSum returns a A + b B.
func weightedSum(a float64, A mat.Matrix, b float64, B mat.Matrix) *mat.SymDense {
	m, _ := A.Dims()
	sum := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			sum.SetSym(i, j, a*(A.At(i, j)+A.At(j, i))/2+b*(B.At(i, j)+B.At(j, i))/2)
		}
	}
	return sum
}

func inverseMatrix(t testing.TB, a mat.Symmetric) *mat.SymDense {
	t.Helper()
	var inverse mat.Dense
	expect.NoError(t, inverse.Inverse(a))
	return weightedSum(0.5, &inverse, 0.5, inverse.T())
}

// traceForm returns tr(W A W^T), W one task to a row.
func traceForm(a mat.Matrix, w *data.Matrix) float64 {
	sum := 0.0
	for s := range w.Rows {
		for t := range w.Rows {
			sum += a.At(s, t) * kernel.Dot(w.Row(s), w.Row(t))
		}
	}
	return sum
}

// weightsOf returns grad R*(V).
func weightsOf(c Coupling, v *data.Matrix) data.Matrix {
	w := data.NewMatrix(v.Rows, v.Cols)
	c.Primal(&w, v)
	return w
}

// conjugateOf returns R*(V) = <V, W> - R(W) at W = grad R*(V).
func conjugateOf(c Coupling, v *data.Matrix) float64 {
	w := weightsOf(c, v)
	return dot(v, &w) - c.Value(&w, nil)
}

func moveBy(a *data.Matrix, scale float64, b *data.Matrix) data.Matrix {
	sum := data.NewMatrix(a.Rows, a.Cols)
	for i := range a.Data {
		sum.Data[i] = a.Data[i] + scale*b.Data[i]
	}
	return sum
}

// paperProblem is a small problem of four tasks as in eq. obj, where c_t = 1.
func paperProblem(t testing.TB, change func(*Config)) *Problem {
	cfg := Defaults()
	cfg.LossScaling = Sum
	if change != nil {
		change(&cfg)
	}
	return mustProblem(t, cfg, randomSplit(31, paperFeatures, 8, 12, 6, 9))
}

// feasibleDuals draws dual variables at which every conjugate is finite: where a
// coordinate step from 0 leads for a random score and curvature.
func feasibleDuals(p *Problem, seed uint64) *Duals {
	d := p.NewDuals()
	for k := range d.Alpha {
		s := rng.New(seed, rng.Synthetic, k, 2)
		for i := range d.Alpha[k] {
			d.Alpha[k][i] = p.Loss.Step(0, p.Train.Clients[k].Y[i], s.Normal(), 0.2+s.Float64())
		}
	}
	p.RecomputeV(nil, d)
	return d
}

// dualAt returns D(alpha) by eq. objDual.
func dualAt(p *Problem, c Coupling, d *Duals) float64 {
	sum := conjugateOf(c, &d.V)
	for k, a := range d.Alpha {
		for i, x := range a {
			sum += p.Scale[k] * p.Loss.Conjugate(x, p.Train.Clients[k].Y[i])
		}
	}
	return sum
}

// primalAt returns P(W) by eq. obj.
func primalAt(p *Problem, c Coupling, w *data.Matrix) float64 {
	sum := c.Value(w, nil)
	for k := range p.Train.Clients {
		task := &p.Train.Clients[k]
		for i, y := range task.Y {
			sum += p.Scale[k] * p.Loss.Value(kernel.Dot(task.X.Row(i), w.Row(p.TaskOf(k))), y)
		}
	}
	return sum
}

// subproblemAt returns G_t of eq. subproblem with its constant c(alpha) at da,
// the difference of two vectors of dual variables of device k.
func subproblemAt(p *Problem, c Coupling, d *Duals, sigma []float64, k int, next []float64) float64 {
	t := p.TaskOf(k)
	w := weightsOf(c, &d.V)
	dv := data.NewMatrix(1, p.Features)
	change := make([]float64, len(next))
	value := conjugateOf(c, &d.V) / float64(p.Clients())
	for i := range next {
		change[i] = next[i] - d.Alpha[k][i]
		value += p.Scale[k] * p.Loss.Conjugate(next[i], p.Train.Clients[k].Y[i])
	}
	p.AddV(k, dv.Row(0), change)
	norm := c.Diag(t) * kernel.Dot(dv.Row(0), dv.Row(0)) // |X_t da|^2 in the norm of M_t
	return value + kernel.Dot(w.Row(t), dv.Row(0)) + sigma[t]/2*norm
}

// eachPaperLoss runs f with a problem for every loss there is.
func eachPaperLoss(t *testing.T, f func(t *testing.T, p *Problem)) {
	for _, name := range ScoreLosses() {
		t.Run(name, func(t *testing.T) {
			f(t, paperProblem(t, func(c *Config) { c.Loss = name }))
		})
	}
}
