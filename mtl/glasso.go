package mtl

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// glasso is the state of the graphical lasso
//
//	min over X > 0 of  tr(S X) - log det X + rho sum_ij |X_ij|
//
// solved by the proximal Newton method of Hsieh, Sustik, Dhillon and Ravikumar
// ("Sparse Inverse Covariance Matrix Estimation Using Quadratic Approximation",
// NIPS 2011): the smooth part is replaced by its second-order model, the lasso
// that results is solved by coordinate descent over the entries that are not
// zero or should not be, and the step to its solution is damped. Matrices are
// n x n, row by row.
type glasso struct {
	n        int
	s        *mat.SymDense
	rho      float64
	x, y     *mat.SymDense // the iterate, and the minimiser of its model
	w        *mat.SymDense // x^-1
	value    float64       // the objective at x
	product  []float64     // w (y - x)
	free     [][2]int      // the entries i <= j under way
	trial    *mat.SymDense
	factor   mat.Cholesky // of trial
	residual float64
}

const (
	glassoTarget  = 1e-11   // violation of the optimality conditions that ends the iteration
	glassoWorst   = 1e-7    // the largest that a solution may have, should rounding end it before
	glassoSteps   = 500     // Newton steps: some ten are usual
	glassoSweeps  = 1000    // passes of coordinate descent in a step
	glassoArmijo  = 1e-3    // share of the model's decrease that a step must bring
	glassoHalving = 0x1p-40 // shortest step
)

// graphicalLasso returns the solution, with exact zeros. For rho > 0 it exists
// for every positive semidefinite S; for rho = 0 it is S^-1, and a singular S is
// refused. Violations of the optimality conditions are measured relative to
// sqrt(W_ii W_jj) with W = X^-1, which is S_ii + rho on the diagonal.
func graphicalLasso(s *mat.SymDense, rho float64) (*mat.SymDense, error) {
	n := s.SymmetricDim()
	if rho == 0 {
		return inverse(s)
	}
	g := &glasso{
		n: n, s: s, rho: rho, x: mat.NewSymDense(n, nil), y: mat.NewSymDense(n, nil), w: mat.NewSymDense(n, nil),
		product: make([]float64, n*n), trial: mat.NewSymDense(n, nil),
	}
	for i := range n {
		g.trial.SetSym(i, i, 1/(s.At(i, i)+rho)) // the solution when rho exceeds all other entries of S
	}
	if !g.factor.Factorize(g.trial) {
		return nil, fmt.Errorf("graphical lasso: W^T W has an entry that is not a positive number")
	}
	g.accept(g.objective(g.trial, &g.factor))
	best := math.Inf(1)
	for range glassoSteps {
		g.measure()
		// Where rounding rules, Newton steps no longer square the violation.
		if g.residual <= glassoTarget || g.residual <= glassoWorst && g.residual > best/2 {
			break
		}
		best = math.Min(best, g.residual)
		if !g.step() {
			break
		}
	}
	if g.measure(); !(g.residual <= glassoWorst) {
		return nil, fmt.Errorf("graphical lasso (%d x %d, penalty %.3g): the optimality conditions are violated by %.2g after the last step: raise problem.lambda2", n, n, rho, g.residual)
	}
	return g.x, nil
}

// inverse returns S^-1.
func inverse(s *mat.SymDense) (*mat.SymDense, error) {
	var chol mat.Cholesky
	// Beyond 1e12 the inverse has hardly a digit.
	if !chol.Factorize(s) || !(chol.Cond() < 1e12) {
		return nil, fmt.Errorf("graphical lasso without penalty: W^T W (%d x %d) is singular and the minimum over Omega unbounded: problem.lambda2 must be positive", s.SymmetricDim(), s.SymmetricDim())
	}
	x := mat.NewSymDense(s.SymmetricDim(), nil)
	if err := chol.InverseTo(x); err != nil {
		return nil, fmt.Errorf("graphical lasso without penalty: %w", err)
	}
	return x, nil
}

// objective returns the value at x with its Cholesky factor.
func (g *glasso) objective(x *mat.SymDense, chol *mat.Cholesky) float64 {
	smooth, size := 0.0, 0.0
	for i := range g.n {
		smooth += float64(g.s.At(i, i) * x.At(i, i))
		size += math.Abs(x.At(i, i))
		for j := i + 1; j < g.n; j++ {
			smooth += 2 * float64(g.s.At(i, j)*x.At(i, j))
			size += 2 * math.Abs(x.At(i, j))
		}
	}
	return smooth - chol.LogDet() + float64(g.rho*size)
}

// accept makes the trial the iterate.
func (g *glasso) accept(value float64) {
	g.x, g.trial = g.trial, g.x
	g.value = value
	// An error means a condition number beyond 1e15: the residual will tell what
	// the inverse is worth.
	_ = g.factor.InverseTo(g.w)
}

// measure sets the residual and the free entries: those that are not zero, and
// those whose gradient does not let them stay zero.
func (g *glasso) measure() {
	g.residual, g.free = 0, g.free[:0]
	for i := range g.n {
		for j := i; j < g.n; j++ {
			gradient := g.s.At(i, j) - g.w.At(i, j)
			violation := math.Abs(gradient) - g.rho
			if x := g.x.At(i, j); x != 0 {
				violation = math.Abs(gradient + math.Copysign(g.rho, x))
			}
			scale := math.Sqrt((g.s.At(i, i) + g.rho) * (g.s.At(j, j) + g.rho))
			g.residual = math.Max(g.residual, violation/scale)
			if violation > 0 || g.x.At(i, j) != 0 {
				g.free = append(g.free, [2]int{i, j})
			}
		}
	}
}

// step goes towards the minimiser of the model for as far as the objective
// follows. It reports false when no step length brings a decrease.
func (g *glasso) step() bool {
	g.model()
	// The decrease that the gradient and the penalty promise for a full step.
	promise := 0.0
	for _, e := range g.free {
		i, j := e[0], e[1]
		x, y := g.x.At(i, j), g.y.At(i, j)
		change := (g.s.At(i, j)-g.w.At(i, j))*(y-x) + g.rho*(math.Abs(y)-math.Abs(x))
		if i != j {
			change *= 2
		}
		promise += change
	}
	slack := 1e-14 * (1 + math.Abs(g.value)) * float64(g.n) // what rounding makes of an objective
	for length := 1.0; length >= glassoHalving; length /= 2 {
		g.trial.CopySym(g.y)
		if length < 1 {
			for i := range g.n {
				for j := i; j < g.n; j++ {
					g.trial.SetSym(i, j, g.x.At(i, j)+float64(length*(g.y.At(i, j)-g.x.At(i, j))))
				}
			}
		}
		if !g.factor.Factorize(g.trial) {
			continue
		}
		if value := g.objective(g.trial, &g.factor); value <= g.value+glassoArmijo*length*promise+slack {
			g.accept(value)
			return true
		}
	}
	return false
}

// model minimises, over y with entries that are not free kept at zero,
//
//	tr((S - W)(y - x)) + 1/2 tr(W (y-x) W (y-x)) + rho sum_ij |y_ij|
//
// entry by entry, with the product W (y - x) kept up to date.
func (g *glasso) model() {
	g.y.CopySym(g.x)
	clear(g.product)
	w := g.w.RawSymmetric()
	at := func(i, j int) float64 { return w.Data[min(i, j)*w.Stride+max(i, j)] }
	for range glassoSweeps {
		most := 0.0
		for _, e := range g.free {
			i, j := e[0], e[1]
			a := float64(at(i, j)*at(i, j)) + float64(at(i, i)*at(j, j))
			if i == j {
				a = at(i, i) * at(i, i)
			}
			b := g.s.At(i, j) - at(i, j)
			for k, p := range g.product[j*g.n : (j+1)*g.n] { // (W (y-x) W)_ji
				b += float64(p * at(k, i))
			}
			y := g.y.At(i, j)
			next := softThreshold(float64(a*y)-b, g.rho) / a
			change := next - y
			if change == 0 {
				continue
			}
			g.y.SetSym(i, j, next)
			for k := range g.n {
				g.product[k*g.n+j] += float64(at(k, i) * change)
				if i != j {
					g.product[k*g.n+i] += float64(at(k, j) * change)
				}
			}
			scale := math.Sqrt((g.s.At(i, i) + g.rho) * (g.s.At(j, j) + g.rho))
			most = math.Max(most, math.Abs(change)*a/scale)
		}
		// Accurate enough for the Newton steps to square the violation.
		if most <= 0.1*g.residual*math.Min(1, g.residual) || most <= glassoTarget/10 {
			return
		}
	}
}

// softThreshold returns the minimiser b of 1/2 (b-x)^2 + t |b|.
func softThreshold(x, t float64) float64 {
	switch {
	case x > t:
		return x - t
	case x < -t:
		return x + t
	}
	return 0
}
