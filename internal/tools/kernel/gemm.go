package kernel

// Gemm sets c = a b for row-major matrices: a is m x k, b k x n and c m x n, with
// row i of a starting at a[i*lda], of b at b[i*ldb], of c at c[i*ldc]. What lies
// between the rows is neither read nor written. c must not overlap a or b.
//
// Each element of c is a sum over the inner index in its order,
//
//	c_ij = (...((0 + a_i0 b_0j) + a_i1 b_1j) + ...) + a_i,k-1 b_k-1,j,
//
// which is also what k times Axpy on a row of zeros gives. So a caller may
// divide the rows or the columns of c among workers as it likes.
//
// It panics when a stride is shorter than a row or a slice than its matrix.
func Gemm(m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	fits(m, k, a, lda)
	fits(k, n, b, ldb)
	fits(m, n, c, ldc)
	if m > 0 && n > 0 {
		gemm(m, n, k, a, lda, b, ldb, c, ldc)
	}
}

// fits panics unless x can hold a matrix.
func fits[T element](rows, cols int, x []T, stride int) {
	if rows < 0 || cols < 0 || stride < cols || (rows > 0 && len(x) < (rows-1)*stride+cols) {
		panic("kernel: a matrix does not fit its slice")
	}
}

// scalarGemm is Gemm row by row.
func scalarGemm(m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		clear(row)
		for p := range k {
			scalarAxpy(a[i*lda+p], b[p*ldb:p*ldb+n], row)
		}
	}
}
