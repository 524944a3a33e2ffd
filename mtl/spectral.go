package mtl

import (
	"fmt"
	"math"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/linalg"
)

// The largest eigenvalue of B = P + G G^T, where P is diagonal and G has few
// columns, is the lambda for which the largest eigenvalue f(lambda) of the small
// matrix
//
//	S(lambda) = G^T (lambda I - P)^-1 G
//
// is 1, if there is such a lambda above the entries of P: by Schur's complement
// lambda I - B is positive definite exactly when I - S(lambda) is. The result is safe
// because f is below 1 there by more than its rounding error; it does not rely on
// convergence. Iterations on B itself (power, Lanczos) give only lower bounds, and take
// more passes over G.

// secular is f at some lambda, its derivative, and a bound on the rounding of f.
type secular struct{ value, slope, rounding float64 }

// raiseBy is the relative amount by which the result exceeds the eigenvalue. It is large
// enough for f to fall below 1, and equals that of Dense.
const raiseBy = 1e-10

// topEigenvalue returns an upper bound of the largest eigenvalue of B. It exceeds the
// eigenvalue by raiseBy, or by more when rounding requires it. least and most bound the
// eigenvalue; least is at least every entry of P. f is evaluated only above least.
//
// 1/f is concave and increasing, so that Newton's steps for 1/f = 1 converge to the
// eigenvalue quadratically from every start, increasing after the first. Each is the
// Rayleigh quotient of B at (lambda I - P)^-1 G u with u
// the eigenvector of S, so it is never above the eigenvalue.
func topEigenvalue(least, most float64, f func(lambda float64) secular) float64 {
	raise := raiseBy
	lambda := max(least, most) * (1 + raise)
	for range 1000 {
		at := f(lambda)
		raise = max(raise, 2*at.rounding)
		newton := max(least, lambda+(at.value-square(at.value))/at.slope)
		if at.slope == 0 { // G is zero
			newton = least
		}
		if at.value+at.rounding <= 1 && lambda <= newton*(1+2*raise) {
			return lambda
		}
		lambda = newton * (1 + raise)
	}
	panic(fmt.Sprintf("mtl: the largest eigenvalue was not found between %g and %g", least, most))
}

// spectral returns the largest eigenvalue of D^-1/2 M D^-1/2 with the row and
// column of a task repeated for each of its devices and D the diagonal. Each
// step of topEigenvalue is a pass of O(m r^2). It takes few steps, two if all M_tt are
// equal.
func (lr *lowRank) spectral(devices []int) float64 {
	least, most := 0.0, 0.0
	for t := range lr.diag {
		least = max(least, load(devices, t)) // an entry of the diagonal
		most += load(devices, t)             // the trace
	}
	return topEigenvalue(least, most, func(lambda float64) secular { return lr.secular(lambda, devices) })
}

// secular evaluates f for P = off n_t/M_tt and G = (n_t/M_tt)^1/2 F c^1/2, where
// task t has n_t devices. The rounding of lambda - P equals a change of P by a rounding of
// lambda, far less than raiseBy, so that only the rounding of the sums matters.
func (lr *lowRank) secular(lambda float64, devices []int) secular {
	r := lr.f.Cols
	parts := make([]data.Matrix, lr.blocks.count)
	scratch := make([]*crossed, lr.pool.Size())
	lr.pool.For(lr.blocks.count, func(i, worker int) {
		parts[i] = data.NewMatrix(r, r)
		if scratch[worker] == nil {
			scratch[worker] = newCrossed(r, r)
		}
		from, to := lr.blocks.at(i)
		f, weights := rowsOf(&lr.f, from, to), make([]float64, to-from)
		for t := range weights {
			n := load(devices, from+t)
			weights[t] = n / (float64(lambda*lr.diag[from+t]) - float64(lr.off*n))
		}
		scratch[worker].add(&parts[i], &f, &f, weights)
	})
	for i := 1; i < len(parts); i++ {
		kernel.Axpy(1, parts[i].Data, parts[0].Data)
	}
	root := make([]float64, r)
	for k, a := range lr.along {
		root[k] = math.Sqrt(a)
	}
	s, trace := make([]float64, r*r), 0.0
	for k := range r {
		for l := range k + 1 {
			s[k*r+l] = parts[0].Row(l)[k] * root[l] * root[k]
		}
		trace += s[k*r+k]
	}
	values, ok := linalg.Eigen(r, s, true)
	if !ok {
		panic(fmt.Sprintf("mtl: sigma': the eigenvalues of a %d x %d matrix were not found", r, r))
	}
	out := secular{value: values[r-1]}
	// Each entry of S sums the rows of a block, then the blocks; the entries'
	// errors together are at most that share of the trace.
	const epsilon = 0x1p-52
	chain := float64(lr.f.Rows/lr.blocks.count + lr.blocks.count + 10)
	out.rounding = float64(chain*epsilon*trace) + float64(10*epsilon*float64(r)*out.value)
	u := s[(r-1)*r:] // c^1/2 times the eigenvector
	for k := range u {
		u[k] *= root[k]
	}
	slopes := make([]float64, lr.blocks.count)
	lr.pool.For(lr.blocks.count, func(i, _ int) {
		from, to := lr.blocks.at(i)
		for t := from; t < to; t++ {
			n := load(devices, t)
			below := float64(lambda*lr.diag[t]) - float64(lr.off*n)
			slopes[i] -= float64(n * lr.diag[t] * square(kernel.Dot(u, lr.f.Row(t))/below))
		}
	})
	for _, x := range slopes {
		out.slope += x
	}
	return out
}
