package mtl

import (
	"fmt"
	"testing"

	"fedsim/internal/parallel"
)

func BenchmarkOmegaUpdate(b *testing.B) {
	for _, size := range []struct{ m, d int }{{2000, 100}, {100_000, 30}} {
		w := randomMatrix(1, size.m, size.d)
		for _, workers := range []int{1, 2} {
			pool := parallel.NewPool(workers)
			b.Run(fmt.Sprintf("m=%d/d=%d/workers=%d", size.m, size.d, workers), func(b *testing.B) {
				for b.Loop() {
					if _, err := (Probabilistic{Lambda: 1}).Update(pool, &w, 1e-6); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkLowRank(b *testing.B) {
	for _, size := range []struct{ m, d int }{{2000, 100}, {100_000, 30}} {
		v := randomMatrix(1, size.m, size.d)
		for _, workers := range []int{1, 2} {
			pool := parallel.NewPool(workers)
			c, err := Probabilistic{Lambda: 1}.Update(pool, &v, 1e-6)
			if err != nil {
				b.Fatal(err)
			}
			w := randomMatrix(1, size.m, size.d)
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
