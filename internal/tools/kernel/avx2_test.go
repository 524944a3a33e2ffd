//go:build amd64 && !purego

package kernel

// withoutVectors makes the scalar kernels the ones in use until the function it
// returns is called.
func withoutVectors() (restore func()) {
	before := avx2
	avx2 = false
	return func() { avx2 = before }
}

// withoutWideVectors makes the AVX2 kernels the widest ones likewise.
func withoutWideVectors() (restore func()) {
	before := avx512
	avx512 = false
	return func() { avx512 = before }
}
