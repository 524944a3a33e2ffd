// Package nnls solves least-squares problems whose unknowns are not negative.
package nnls

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// reduced is a least-squares problem |R x - z|^2 + constant with as many rows as unknowns.
type reduced struct {
	r *mat.Dense
	z []float64
}

// reduce returns the problem of the n rows of p values in x and the n targets in y, by the QR
// decomposition of [X y], and the lengths of the columns of X, by which the columns of R are
// divided. A column of zeros keeps its length 0.
func reduce(p int, x, y []float64) (reduced, []float64) {
	n := len(y)
	scale := make([]float64, p)
	for i := range n {
		for k := range p {
			scale[k] += float64(x[i*p+k] * x[i*p+k])
		}
	}
	for k := range scale {
		scale[k] = math.Sqrt(scale[k])
	}
	all := mat.NewDense(max(n, p+1), p+1, nil) // QR needs at least as many rows as columns
	for i := range n {
		for k := range p {
			if scale[k] > 0 {
				all.Set(i, k, x[i*p+k]/scale[k])
			}
		}
		all.Set(i, p, y[i])
	}
	var qr mat.QR
	qr.Factorize(all)
	var r mat.Dense
	qr.RTo(&r)
	out := reduced{r: mat.NewDense(p, p, nil), z: make([]float64, p)}
	for i := range p {
		for k := i; k < p; k++ {
			out.r.Set(i, k, r.At(i, k))
		}
		out.z[i] = r.At(i, p)
	}
	return out, scale
}

// Solve returns the x >= 0 that minimizes |X x - y|^2 for n rows of p values (Lawson and
// Hanson, Solving Least Squares Problems, 1974, algorithm NNLS). Columns must be independent; a
// column of zeros has x = 0.
func Solve(p int, x, y []float64) []float64 {
	q, scale := reduce(p, x, y)
	out := make([]float64, p)
	passive := make([]bool, p)
	for range 3 * p {
		k := steepest(q, out, passive, scale)
		if k < 0 {
			break
		}
		passive[k] = true
		trial := solvePassive(q, passive)
		for {
			step, stop := 1.0, -1
			for i := range p {
				if passive[i] && trial[i] <= 0 {
					s := 0.0
					if out[i] > 0 {
						s = out[i] / (out[i] - trial[i])
					}
					if s < step || stop < 0 {
						step, stop = s, i
					}
				}
			}
			if stop < 0 {
				break
			}
			for i := range p {
				out[i] += step * (trial[i] - out[i])
			}
			out[stop], passive[stop] = 0, false
			trial = solvePassive(q, passive)
		}
		out = trial
	}
	for k := range out {
		if scale[k] > 0 {
			out[k] /= scale[k]
		}
	}
	return out
}

// steepest returns the unknown at 0 whose increase reduces the residual most, -1 if there is none.
func steepest(q reduced, x []float64, passive []bool, scale []float64) int {
	p := len(x)
	residual := make([]float64, p)
	length := 0.0
	for i := range p {
		residual[i] = q.z[i]
		for k := range p {
			residual[i] -= float64(q.r.At(i, k) * x[k])
		}
		length = math.Hypot(length, q.z[i])
	}
	best, most := -1, 1e-13*length
	for k := range p {
		if passive[k] || scale[k] == 0 {
			continue
		}
		gradient := 0.0
		for i := range p {
			gradient += float64(q.r.At(i, k) * residual[i])
		}
		if gradient > most {
			best, most = k, gradient
		}
	}
	return best
}

// solvePassive solves the problem in the passive unknowns; the others are 0.
func solvePassive(q reduced, passive []bool) []float64 {
	out := make([]float64, len(passive))
	var columns []int
	for k, is := range passive {
		if is {
			columns = append(columns, k)
		}
	}
	if len(columns) == 0 {
		return out
	}
	a := mat.NewDense(len(passive), len(columns), nil)
	for i := range passive {
		for j, k := range columns {
			a.Set(i, j, q.r.At(i, k))
		}
	}
	var qr mat.QR
	qr.Factorize(a)
	var x mat.VecDense
	if err := qr.SolveVecTo(&x, false, mat.NewVecDense(len(q.z), q.z)); err != nil && x.Len() == 0 {
		return out
	}
	for j, k := range columns {
		out[k] = x.AtVec(j)
	}
	return out
}
