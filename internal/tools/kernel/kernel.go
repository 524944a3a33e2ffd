// Package kernel has the inner loops of the numerics: the dot products and
// scaled sums of a coordinate step, whole runs of such steps, the matrix product
// W = V M, and the two products of a batch of rows with the weights of several
// outputs. It must not know the meaning of the numbers.
//
// All results have the same bits on every machine, whether the kernels of AVX2 and
// AVX-512 computed them or the scalar ones in Go, which take their place on other
// processors and under the build tag purego. That holds because each result is
// defined to the last rounding:
//
//   - Products are rounded before they are added: no fused multiply-add.
//   - A dot product has sixteen lanes that start at +0. Product i is added to
//     lane i mod 16, in the order of i. The lanes are then added up as a tree:
//     lane l and l+8 for l < 8, of these l and l+4 for l < 4, of these l and l+2
//     for l < 2, and the two that are left. Zeros appended to both vectors
//     change nothing.
//   - An element of a matrix product is one sum that starts at +0, in the order
//     of the inner index.
//   - The sums over a batch of rows are defined at Batch.
//
// Which bits a NaN has is left open. Vectors of any length and alignment are
// taken, and nothing outside of them is read or written; rows that start on
// 64-byte boundaries are the fastest. Nothing allocates.
package kernel

//go:generate go -C gen run . -out ../avx2_amd64.s -stubs ../avx2_amd64.go -pkg kernel

// Dot returns the canonical sum of x[i]*y[i]; it panics when the lengths differ.
func Dot(x, y []float64) float64 { return dot(x, y) }

// Dots sets z[k] to Dot of u and row k of x, for all k: rows of len(u) elements that begin stride
// elements apart. It panics when x has less.
func Dots(x []float64, stride int, u, z []float64) {
	if len(z) > 0 {
		within(len(x), stride, len(u), len(z)-1)
	}
	dots(x, stride, nil, u, z)
}

// DotsOf is Dots of the rows listed: z[k] is that of row rows[k]. It panics when the lengths of rows and z differ.
func DotsOf(x []float64, stride int, rows []int32, u, z []float64) {
	sameLength(len(rows), len(z))
	for _, row := range rows {
		within(len(x), stride, len(u), int(row))
	}
	dots(x, stride, rows, u, z)
}

// SquaredNorm returns Dot(x, x).
func SquaredNorm(x []float64) float64 { return dot(x, x) }

// Axpy adds a*x to y: y[i] = y[i] + a*x[i]. It panics when the lengths differ.
func Axpy(a float64, x, y []float64) { axpy(a, x, y) }

// Scale sets y to a*x: y[i] = a*x[i]. x may be y. It panics when the lengths differ.
func Scale(a float64, x, y []float64) { scale(a, x, y) }

// Rotate turns x and y by an angle of cosine c and sine s: x[i] = c*x[i] - s*y[i],
// y[i] = s*x[i] + c*y[i]. It panics when the lengths differ.
func Rotate(c, s float64, x, y []float64) { rotate(c, s, x, y) }

// Descend sets u[i] = (keep*u[i] + pull*from[i]) - rate*by[i], a step of gradient descent
// that also pulls u to 0 and to from. It panics when the lengths differ.
func Descend(keep, pull, rate float64, u, from, by []float64) { descend(keep, pull, rate, u, from, by) }

// Round32 sets y[i] to x[i] in single precision. It panics when the lengths differ.
func Round32(x []float64, y []float32) { round32(x, y) }

// DotAhead returns Dot(x, u), and AxpyDot does Axpy(a, x, u) and returns
// Dot(next, u), with u as updated, in one pass over u. They are made for a walk
// over rows in an order that no cache can foresee: meanwhile they fetch the row
// of the same length at near into the first cache, the row at far into the
// second. Either may be nil; they are hints, never dereferenced. Measured on
// Zen 4, the row of the step after this one is the best near; the row of the
// fourth after this one as far makes steps through memory three times as fast, but
// costs a twentieth when all rows are in the cache already. They panic when the
// lengths differ.
func DotAhead(x, u []float64, near, far *float64) float64 { return dotAhead(x, u, near, far) }

// AxpyDot is described at DotAhead. x and next may be the same row.
func AxpyDot(a float64, x, u, next []float64, near, far *float64) float64 {
	return axpyDot(a, x, u, next, near, far)
}

// Dot32 is Dot for a row held in single precision: its elements are widened,
// and the arithmetic is that of Dot.
func Dot32(x []float32, u []float64) float64 { return dot32(x, u) }

// Dots32 is Dots for rows held in single precision.
func Dots32(x []float32, stride int, u, z []float64) {
	if len(z) > 0 {
		within(len(x), stride, len(u), len(z)-1)
	}
	dots32(x, stride, nil, u, z)
}

// DotsOf32 is DotsOf for rows held in single precision.
func DotsOf32(x []float32, stride int, rows []int32, u, z []float64) {
	sameLength(len(rows), len(z))
	for _, row := range rows {
		within(len(x), stride, len(u), int(row))
	}
	dots32(x, stride, rows, u, z)
}

// Axpy32 is Axpy for a row held in single precision.
func Axpy32(a float64, x []float32, u []float64) { axpy32(a, x, u) }

// Scale32 is Scale for a row held in single precision.
func Scale32(a float64, x []float32, y []float64) { scale32(a, x, y) }

// DotAhead32 is DotAhead for a row held in single precision.
func DotAhead32(x []float32, u []float64, near, far *float32) float64 {
	return dotAhead32(x, u, near, far)
}

// AxpyDot32 is AxpyDot for rows held in single precision.
func AxpyDot32(a float64, x []float32, u []float64, next []float32, near, far *float32) float64 {
	return axpyDot32(a, x, u, next, near, far)
}

// sameLength panics unless two lengths agree.
func sameLength(x, y int) {
	if x != y {
		panic("kernel: vectors of different length")
	}
}

// within panics unless a row of n elements lies in size elements.
func within(size, stride, n, row int) {
	if row < 0 || stride < 0 || row*stride+n > size {
		panic("kernel: a row outside of its matrix")
	}
}
