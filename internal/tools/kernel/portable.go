//go:build !amd64 || purego

package kernel

import "fedsim/internal/tools/rng"

func dot(x, y []float64) float64 { return scalarDot(x, y) }

func dotAhead(x, u []float64, _, _ *float64) float64 { return scalarDot(x, u) }

func dots(x []float64, stride int, rows []int32, u, z []float64) { scalarDots(x, stride, rows, u, z) }

func axpy(a float64, x, y []float64) { scalarAxpy(a, x, y) }

func scale(a float64, x, y []float64) { scalarScale(a, x, y) }

func rotate(c, s float64, x, y []float64) { scalarRotate(c, s, x, y) }

func descend(keep, pull, rate float64, u, from, by []float64) {
	scalarDescend(keep, pull, rate, u, from, by)
}

func round32(x []float64, y []float32) { scalarRound32(x, y) }

func axpyDot(a float64, x, u, next []float64, _, _ *float64) float64 {
	return scalarAxpyDot(a, x, u, next)
}

func dot32(x []float32, u []float64) float64 { return scalarDot(x, u) }

func dotAhead32(x []float32, u []float64, _, _ *float32) float64 { return scalarDot(x, u) }

func dots32(x []float32, stride int, rows []int32, u, z []float64) { scalarDots(x, stride, rows, u, z) }

func axpy32(a float64, x []float32, u []float64) { scalarAxpy(a, x, u) }

func scale32(a float64, x []float32, y []float64) { scalarScale(a, x, y) }

func axpyDot32(a float64, x []float32, u []float64, next []float32, _, _ *float32) float64 {
	return scalarAxpyDot(a, x, u, next)
}

func gemm(m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	scalarGemm(m, n, k, a, lda, b, ldb, c, ldc)
}

func (as *Ascent) walk(order []int32, draws *rng.Stream, from, to int) int {
	return as.scalarWalk(order, draws, from, to)
}

// batchSpace is empty: the scalar kernels need none.
type batchSpace struct{}

func (b *Batch) scores(outputs int, w []float64, ldw int, s []float64, lds int) {
	b.scalarScores(outputs, w, ldw, s, lds)
}

func (b *Batch) combine(outputs int, r []float64, ldr int, g []float64, ldg int, add bool) {
	b.scalarCombine(outputs, r, ldr, g, ldg, add)
}
