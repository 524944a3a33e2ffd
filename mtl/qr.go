package mtl

import (
	"math"

	"fedsim/data"
	"fedsim/internal/kernel"
	"fedsim/internal/parallel"
)

// tallQR is the decomposition A = Q R of a matrix with more rows than columns by
// Householder reflections, block by block of its rows: the triangles of the
// blocks are stacked and decomposed in the same way, until one is left (TSQR,
// Demmel, Grigori, Hoemmen and Langou, SIAM J. Sci. Comput. 34, 2012). It is as
// accurate as the decomposition in one piece, and its bits depend on the size of
// A alone.
type tallQR struct {
	pool   *parallel.Pool
	a      data.Matrix // below the diagonal of each block its reflections Y, on and above it its triangle
	blocks blocks
	t      []data.Matrix // by block: its Q is I - Y T Y^T (Schreiber and Van Loan, SIAM J. Sci. Stat. Comput. 10, 1989)
	above  *tallQR       // of the stacked triangles; nil for one block
}

// newTallQR decomposes A in its place. It has at least as many rows as columns,
// and its entries are at most 1e100 in size, so that no square overflows.
func newTallQR(pool *parallel.Pool, a data.Matrix) *tallQR {
	// Blocks stay in a core's cache, and what is stacked is a fifth at most.
	q := &tallQR{pool: pool, a: a, blocks: cut(a.Rows, max(512, 5*a.Cols))}
	q.t = make([]data.Matrix, q.blocks.count)
	pool.For(q.blocks.count, func(i, _ int) {
		from, to := q.blocks.at(i)
		q.t[i] = reflect(rowsOf(&a, from, to))
	})
	if q.blocks.count > 1 {
		stack := data.NewMatrix(q.blocks.count*a.Cols, a.Cols)
		for i := range q.blocks.count {
			from, _ := q.blocks.at(i)
			for j := range a.Cols {
				copy(stack.Row(i*a.Cols + j)[j:], a.Row(from + j)[j:])
			}
		}
		q.above = newTallQR(pool, stack)
	}
	return q
}

// reflect decomposes a block in its place and returns T. Reflection k is
// I - tau y y^T with y_k = 1 and zeros above. A row at a time it forms
// y^T (Y, A), whose first half makes column k of T and the second changes A.
func reflect(a data.Matrix) data.Matrix {
	t := data.NewMatrix(a.Cols, a.Cols)
	sums := make([]float64, a.Cols)
	rest := 0.0 // sum of squares of column k below the diagonal
	for i := 1; i < a.Rows; i++ {
		rest += square(a.Row(i)[0])
	}
	for k := range a.Cols {
		top := a.Row(k)
		tau := 0.0
		if rest > 0 {
			alpha := top[k]
			beta := -math.Copysign(math.Sqrt(square(alpha)+rest), alpha)
			tau = (beta - alpha) / beta
			scale := 1 / (alpha - beta)
			top[k] = beta
			copy(sums, top)
			for i := k + 1; i < a.Rows; i++ {
				row := a.Row(i)
				row[k] *= scale
				kernel.Axpy(row[k], row, sums)
			}
			kernel.Axpy(-tau, sums[k+1:], top[k+1:])
		}
		rest = 0
		for i := k + 1; i < a.Rows; i++ {
			row := a.Row(i)
			if tau != 0 {
				kernel.Axpy(-tau*row[k], sums[k+1:], row[k+1:])
			}
			if i > k+1 && k+1 < a.Cols {
				rest += square(row[k+1])
			}
		}
		t.Row(k)[k] = tau
		for i := range k {
			t.Row(i)[k] = -tau * kernel.Dot(t.Row(i)[i:k], sums[i:k])
		}
	}
	return t
}

// square returns x^2 rounded.
func square(x float64) float64 { return float64(x * x) }

// triangle returns R.
func (q *tallQR) triangle() data.Matrix {
	if q.above != nil {
		return q.above.triangle()
	}
	r := data.NewMatrix(q.a.Cols, q.a.Cols)
	for j := range r.Rows {
		copy(r.Row(j)[j:], q.a.Row(j)[j:])
	}
	return r
}

// times returns Q Z for a Z of as many rows as A has columns and no more columns.
// It uses up q: the product takes the place of A.
func (q *tallQR) times(z data.Matrix) data.Matrix {
	if q.above != nil {
		z = q.above.times(z)
	}
	n := q.a.Cols
	q.pool.For(q.blocks.count, func(i, _ int) {
		part := z
		if q.above != nil {
			part = rowsOf(&z, i*n, (i+1)*n)
		}
		from, to := q.blocks.at(i)
		unreflect(rowsOf(&q.a, from, to), &q.t[i], &part)
	})
	return data.Matrix{Rows: q.a.Rows, Cols: z.Cols, Stride: q.a.Stride, Data: q.a.Data}
}

// unreflect sets a block that reflect has decomposed to its Q times Z, which is
// (Z, 0) - Y T Y_1^T Z with Y_1 the first rows of Y.
func unreflect(a data.Matrix, t, z *data.Matrix) {
	n := a.Cols
	product := data.NewMatrix(n, z.Cols) // Y_1^T Z
	for i := range n {
		for j, y := range a.Row(i)[:i] {
			kernel.Axpy(y, z.Row(i), product.Row(j))
		}
		kernel.Axpy(1, z.Row(i), product.Row(i))
	}
	coefficients := data.NewMatrix(n, z.Cols) // -T Y_1^T Z
	for j := range n {
		for k := j; k < n; k++ {
			kernel.Axpy(-t.Row(j)[k], product.Row(k), coefficients.Row(j))
		}
	}
	const chunk = 64
	y := data.NewMatrix(chunk, n)
	for from := 0; from < a.Rows; from += chunk {
		out := rowsOf(&a, from, min(from+chunk, a.Rows))
		reflections := rowsOf(&y, 0, out.Rows)
		copy(reflections.Data, out.Data)
		clear(out.Data)
		out.Cols = z.Cols
		for i := range out.Rows {
			if k := from + i; k < n { // on and above the diagonal lies the triangle
				clear(reflections.Row(i)[k:])
				reflections.Row(i)[k] = 1
				copy(out.Row(i), z.Row(k))
			}
		}
		addProduct(&out, &reflections, &coefficients)
	}
}
