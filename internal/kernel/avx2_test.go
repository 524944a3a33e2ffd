//go:build amd64 && !purego

package kernel

// withoutVectors makes the scalar kernels the ones in use until the function it
// returns is called.
func withoutVectors() (restore func()) {
	before := avx2
	avx2 = false
	return func() { avx2 = before }
}
