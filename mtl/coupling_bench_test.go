package mtl

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parallel"
)

var benchSizes = []struct{ m, d int }{{2000, 100}, {100_000, 30}}

// An Omega update with more tasks than features: the decomposition of W and the coupling.
// For comparison, gonum's decomposition of the same W.
func BenchmarkOmegaUpdate(b *testing.B) {
	for _, size := range benchSizes {
		w := randomMatrix(1, size.m, size.d)
		for _, workers := range []int{1, 2} {
			pool := parallel.NewPool(workers)
			b.Run(fmt.Sprintf("m=%d/d=%d/workers=%d", size.m, size.d, workers), func(b *testing.B) {
				for b.Loop() {
					expect.Value((Probabilistic{Lambda: 1}).Update(pool, &w, 1e-6))(b)
				}
			})
		}
		b.Run(fmt.Sprintf("m=%d/d=%d/one-piece", size.m, size.d), func(b *testing.B) {
			for b.Loop() {
				var svd mat.SVD
				expect.Must(b, svd.Factorize(mat.NewDense(w.Rows, w.Stride, w.Data), mat.SVDThinU),
					"no singular values")
			}
		})
	}
}

// Operations of a round and of an Omega update on a low-rank coupling.
func BenchmarkLowRank(b *testing.B) {
	for _, size := range benchSizes {
		v, w := randomMatrix(1, size.m, size.d), randomMatrix(2, size.m, size.d)
		for _, workers := range []int{1, 2} {
			c := expect.Value(Probabilistic{Lambda: 1}.Update(parallel.NewPool(workers), &v, 1e-6))(b)
			name := fmt.Sprintf("m=%d/d=%d/workers=%d", size.m, size.d, workers)
			b.Run("primal/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.Primal(&w, &v)
				}
			})
			b.Run("spectral/"+name, func(b *testing.B) {
				for b.Loop() {
					c.SigmaPrime(SigmaSpectral, nil)
				}
			})
		}
	}
}
