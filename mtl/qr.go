package mtl

import (
	"math"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
)

// tallQR is the decomposition A = Q R of a matrix with more rows than columns by
// Householder reflections. It decomposes blocks of rows, stacks the triangles of the
// blocks and decomposes these in the same way, until one triangle remains (TSQR, Demmel,
// Grigori, Hoemmen and Langou, SIAM J. Sci. Comput. 34, 2012). It is as accurate as a
// decomposition without blocks. The blocks depend only on the size of A.
type tallQR struct {
	pool   *Pool
	a      data.Matrix // below the diagonal of each block its reflections Y, on and above it its triangle
	blocks blocks
	t      []data.Matrix // by block: its Q is I - Y T Y^T (Schreiber and Van Loan, SIAM J. Sci. Stat. Comput. 10, 1989)
	above  *tallQR       // of the stacked triangles; nil for one block
}

// newTallQR decomposes A in place. A must have at least as many rows as columns, and entries
// of at most 1e100 in size, so that squares do not overflow.
func newTallQR(pool *Pool, a data.Matrix) *tallQR {
	// A block fits in a core's cache, and the stacked factors are at most a fifth of A.
	q := &tallQR{pool: pool, a: a, blocks: cut(a.Rows, max(400, 5*a.Cols))}
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

// reflect decomposes a block in place and returns T. Reflection k is I - tau y y^T with
// y_k = 1 and zeros above. Before reflection k, sums holds the sum over rows i > k of a_ik
// times row i: the norm of the column, y^T A for the later columns, and y^T Y, from which
// column k of T follows. One pass over the rows below applies the reflection and computes
// the sums for the next.
func reflect(a data.Matrix) data.Matrix {
	t := data.NewMatrix(a.Cols, a.Cols)
	sums, image := make([]float64, a.Cols), make([]float64, a.Cols)
	for i := 1; i < a.Rows; i++ {
		kernel.Axpy(a.Row(i)[0], a.Row(i), sums)
	}
	for k := range a.Cols {
		top := a.Row(k)
		tau, scale := 0.0, 0.0
		if rest := sums[k]; rest > 0 {
			alpha := top[k]
			beta := -math.Copysign(math.Sqrt(square(alpha)+rest), alpha)
			tau, scale = (beta-alpha)/beta, 1/(alpha-beta)
			copy(image, top)
			kernel.Axpy(scale, sums, image)
			top[k] = beta
			kernel.Axpy(-tau, image[k+1:], top[k+1:])
			for i := range k {
				t.Row(i)[k] = -tau * kernel.Dot(t.Row(i)[i:k], image[i:k])
			}
		}
		t.Row(k)[k] = tau
		clear(sums)
		for i := k + 1; i < a.Rows; i++ {
			row := a.Row(i)
			row[k] *= scale
			kernel.Axpy(-tau*row[k], image[k+1:], row[k+1:])
			if i > k+1 && k+1 < a.Cols {
				kernel.Axpy(row[k+1], row, sums)
			}
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

// times returns Q Z. Z has as many rows as A has columns, and at most as many columns. The
// product overwrites A, so that q is invalid afterward.
func (q *tallQR) times(z data.Matrix) data.Matrix {
	if q.above != nil {
		z = q.above.times(z)
	}
	n := q.a.Cols
	spaces := make([]*unreflection, q.pool.Size())
	q.pool.For(q.blocks.count, func(i, worker int) {
		if spaces[worker] == nil {
			spaces[worker] = newUnreflection(n, z.Cols)
		}
		part := z
		if q.above != nil {
			part = rowsOf(&z, i*n, (i+1)*n)
		}
		from, to := q.blocks.at(i)
		spaces[worker].apply(rowsOf(&q.a, from, to), &q.t[i], &part)
	})
	return data.Matrix{Rows: q.a.Rows, Cols: z.Cols, Stride: q.a.Stride, Data: q.a.Data}
}

// unreflection is scratch of a worker for apply.
type unreflection struct {
	image, coefficients data.Matrix // Y_1^T Z, -T Y_1^T Z
	y, part             data.Matrix // some rows of Y, and of -Y T Y_1^T Z
}

// unreflected is the number of rows of a step.
const unreflected = 64

// newUnreflection returns scratch for blocks of n columns and a Z of the given number.
func newUnreflection(n, columns int) *unreflection {
	return &unreflection{
		image: data.NewMatrix(n, columns), coefficients: data.NewMatrix(n, columns),
		y: data.NewMatrix(unreflected, n), part: data.NewMatrix(unreflected, columns),
	}
}

// apply overwrites a block that reflect has decomposed by its Q times Z, which is
// (Z, 0) - Y T Y_1^T Z with Y_1 the first rows of Y.
func (u *unreflection) apply(a data.Matrix, t, z *data.Matrix) {
	n, image, coefficients := a.Cols, &u.image, &u.coefficients
	clear(image.Data)
	clear(coefficients.Data)
	for i := range n {
		for j, y := range a.Row(i)[:i] {
			kernel.Axpy(y, z.Row(i), image.Row(j))
		}
		kernel.Axpy(1, z.Row(i), image.Row(i))
	}
	for j := range n {
		for k := j; k < n; k++ {
			kernel.Axpy(-t.Row(j)[k], image.Row(k), coefficients.Row(j))
		}
	}
	for from := 0; from < a.Rows; from += unreflected {
		out := rowsOf(&a, from, min(from+unreflected, a.Rows))
		reflections, change := rowsOf(&u.y, 0, out.Rows), rowsOf(&u.part, 0, out.Rows)
		copy(reflections.Data, out.Data)
		for i := range out.Rows {
			if k := from + i; k < n { // the triangle is on and above the diagonal
				clear(reflections.Row(i)[k:])
				reflections.Row(i)[k] = 1
			}
		}
		product(&change, &reflections, coefficients)
		clear(out.Data)
		out.Cols = z.Cols
		for i := range out.Rows {
			if k := from + i; k < n {
				copy(out.Row(i), z.Row(k))
			}
			kernel.Axpy(1, change.Row(i), out.Row(i))
		}
	}
}
