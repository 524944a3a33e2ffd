package mtl

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/expect"
)

// plain is a convex problem in plain terms, without duals, couplings or anything
// else of this package but the data:
//
//	sum_t c_t sum_i loss(w_t . x_ti, y_ti) + 1/2 tr(W A W^T) + l1 |W|_1.
type plain struct {
	set   *data.Set
	scale []float64 // c_t
	loss  plainLoss
	a     *mat.SymDense // A, m x m
	l1    float64
}

// plainLoss is a loss of one score as a textbook has it: its value and a subgradient in z, the
// domain of its conjugate and its largest second derivative.
type plainLoss struct {
	value, slope func(z, y float64) float64 // gamma = 1/2
	low, high    float64                    // domain of y a for a classifier, of a for a regression
	curvature    func(gamma float64) float64
}

var (
	inf    = math.Inf(1)
	always = func(x float64) func(float64) float64 { return func(float64) float64 { return x } }
)

// plainLosses are the oracles of the registered losses of one score.
var plainLosses = map[string]plainLoss{
	LossHinge: {
		func(z, y float64) float64 { return math.Max(0, 1-y*z) },
		func(z, y float64) float64 {
			if y*z < 1 {
				return -y
			}
			return 0
		},
		0, 1, always(inf),
	},
	LossSmoothedHinge: {
		func(z, y float64) float64 {
			switch m := y * z; {
			case m >= 1:
				return 0
			case m <= 0.5:
				return 0.75 - m
			default:
				return (1 - m) * (1 - m)
			}
		},
		func(z, y float64) float64 {
			switch m := y * z; {
			case m >= 1:
				return 0
			case m <= 0.5:
				return -y
			default:
				return -2 * y * (1 - m)
			}
		},
		0, 1, func(gamma float64) float64 { return 1 / gamma },
	},
	LossSquaredHinge: {
		func(z, y float64) float64 { return math.Pow(math.Max(0, 1-y*z), 2) },
		func(z, y float64) float64 { return -2 * y * math.Max(0, 1-y*z) },
		0, inf, always(2),
	},
	LossLogistic: {
		func(z, y float64) float64 { return math.Log(1 + math.Exp(-y*z)) },
		func(z, y float64) float64 { return -y / (1 + math.Exp(y*z)) },
		0, 1, always(0.25),
	},
	LossSquared: {
		func(z, y float64) float64 { return (z - y) * (z - y) / 2 },
		func(z, y float64) float64 { return z - y },
		-inf, inf, always(1),
	},
	LossAbsolute: {
		func(z, y float64) float64 { return math.Abs(z - y) },
		func(z, y float64) float64 { return float64(sign(z - y)) },
		-1, 1, always(inf),
	},
}

// plainOf returns the oracle of a loss of one score. Without one the test fails.
func plainOf(t testing.TB, name string) plainLoss {
	t.Helper()
	loss, ok := plainLosses[name]
	expect.Must(t, ok, "the loss %q has no oracle in plainLosses", name)
	return loss
}

func sign(x float64) int {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// value returns the objective at W, one task to a row.
func (p *plain) value(w *mat.Dense) float64 {
	m, d := w.Dims()
	sum := 0.0
	for t := range m {
		task := &p.set.Clients[t]
		for i := range task.X.Rows {
			z := mat.Dot(w.RowView(t), mat.NewVecDense(d, task.X.Row(i)))
			sum += p.scale[t] * p.loss.value(z, task.Y[i])
		}
		for s := range m {
			sum += p.a.At(s, t) / 2 * mat.Dot(w.RowView(s), w.RowView(t))
		}
		for j := range d {
			sum += p.l1 * math.Abs(w.At(t, j))
		}
	}
	return sum
}

// solve minimizes the objective by the alternating direction method of
// multipliers (Boyd et al., Foundations and Trends in Machine Learning 3, 2011,
// sections 3.4.1 and 3.4.3): with B = [X; I],
//
//	W <- argmin 1/2 tr(W A W^T) + rho/2 |B W - s + u|^2
//	s <- prox of the loss on X's part, of l1 |.| on I's part, at B W + u
//	u <- u + B W - s
//
// where a linear system gives W and a bisection of the subgradient each prox of
// the loss. It stops when both residuals are at most 1e-10 and reports whether
// they got there.
func (p *plain) solve() (w *mat.Dense, converged bool) {
	m, d := len(p.set.Clients), p.set.Features
	var rows [][]float64 // of B, over all tasks' features
	var c, y []float64   // of the rows that are examples
	for t := range m {
		task := &p.set.Clients[t]
		for i := range task.X.Rows {
			row := make([]float64, m*d)
			copy(row[t*d:], task.X.Row(i))
			rows, c, y = append(rows, row), append(c, p.scale[t]), append(y, task.Y[i])
		}
	}
	for k := range m * d {
		row := make([]float64, m*d)
		row[k] = 1
		rows = append(rows, row)
	}
	B := mat.NewDense(len(rows), m*d, nil)
	for i, row := range rows {
		B.SetRow(i, row)
	}
	var gram mat.SymDense
	gram.SymOuterK(1, B.T())
	rho := c[0]
	var chol mat.Cholesky
	factorize := func() {
		h := mat.NewSymDense(m*d, nil)
		h.ScaleSym(rho, &gram)
		for s := range m {
			for t := s; t < m; t++ {
				for j := range d {
					h.SetSym(s*d+j, t*d+j, h.At(s*d+j, t*d+j)+p.a.At(s, t))
				}
			}
		}
		if !chol.Factorize(h) {
			panic("the system is not positive definite")
		}
	}
	factorize()
	n := len(rows)
	x, rhs := mat.NewVecDense(m*d, nil), mat.NewVecDense(m*d, nil)
	bx, s, u, gap := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for h := 1; h <= 50_000 && !converged; h++ {
		gap.SubVec(s, u)
		rhs.MulVec(B.T(), gap)
		rhs.ScaleVec(rho, rhs)
		if err := chol.SolveVecTo(x, rhs); err != nil {
			panic(err)
		}
		bx.MulVec(B, x)
		primal, dual := 0.0, 0.0
		for i := range n {
			v := bx.AtVec(i) + u.AtVec(i)
			next := 0.0
			if i < len(c) {
				next = p.prox(v, y[i], rho/c[i])
			} else {
				next = math.Copysign(math.Max(0, math.Abs(v)-p.l1/rho), v)
			}
			primal = math.Max(primal, math.Abs(bx.AtVec(i)-next))
			dual = math.Max(dual, rho*math.Abs(next-s.AtVec(i)))
			s.SetVec(i, next)
			u.SetVec(i, v-next)
		}
		converged = primal <= 1e-10 && dual <= 1e-10
		if h%100 == 0 && h <= 5000 { // balance the residuals (section 3.4.1)
			switch {
			case primal > 10*dual:
				rho *= 2
				u.ScaleVec(0.5, u)
				factorize()
			case dual > 10*primal:
				rho /= 2
				u.ScaleVec(2, u)
				factorize()
			}
		}
	}
	return mat.NewDense(m, d, x.RawVector().Data), converged
}

// prox returns the minimizer of loss(z, y) + q/2 (z - v)^2: the place where the
// increasing loss'(z) + q (z - v) changes its sign.
func (p *plain) prox(v, y, q float64) float64 {
	g := func(z float64) float64 { return p.loss.slope(z, y) + q*(z-v) }
	low, high := v, v
	for step := 1.0; g(low) > 0; step *= 2 {
		low -= step
	}
	for step := 1.0; g(high) < 0; step *= 2 {
		high += step
	}
	for range 200 {
		mid := low + (high-low)/2
		if mid == low || mid == high || high-low < 1e-14 {
			break
		}
		if g(mid) > 0 {
			high = mid
		} else {
			low = mid
		}
	}
	return low + (high-low)/2
}
