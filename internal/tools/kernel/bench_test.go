package kernel

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"fedsim/internal/tools/rng"
)

var sizes = []int{9, 16, 30, 100, 561}

// One step of coordinate ascent on vectors in the first cache: gonum's two calls
// beside the fused one.
func BenchmarkStep(b *testing.B) {
	s := rng.New(1, rng.Synthetic, 0, 0)
	for _, n := range sizes {
		x, u, next := numbers(&s, n, "plain"), numbers(&s, n, "plain"), numbers(&s, n, "plain")
		z := 0.0
		b.Run(fmt.Sprintf("gonum/%d", n), func(b *testing.B) {
			for range b.N {
				floats.AddScaled(u, 1e-9*z, x)
				z = floats.Dot(u, next)
			}
		})
		b.Run(fmt.Sprintf("apart/%d", n), func(b *testing.B) {
			for range b.N {
				Axpy(1e-9*z, x, u)
				z = Dot(next, u)
			}
		})
		b.Run(fmt.Sprintf("fused/%d", n), func(b *testing.B) {
			for range b.N {
				z = AxpyDot(1e-9*z, x, u, next, nil, nil)
			}
		})
		x32, _ := narrowed(x)
		next32, _ := narrowed(next)
		b.Run(fmt.Sprintf("fused32/%d", n), func(b *testing.B) {
			for range b.N {
				z = AxpyDot32(1e-9*z, x32, u, next32, nil, nil)
			}
		})
		b.Run(fmt.Sprintf("scalar/%d", n), func(b *testing.B) {
			for range b.N {
				z = scalarAxpyDot(1e-9*z, x, u, next)
			}
		})
	}
}

// Products of 100 rows with one vector: a call for each, and one for all.
func BenchmarkRows(b *testing.B) {
	s := rng.New(1, rng.Synthetic, 0, 0)
	for _, n := range sizes {
		const rows = 100
		stride := (n + 7) / 8 * 8
		x, u, z := numbers(&s, rows*stride, "plain"), numbers(&s, n, "plain"), make([]float64, rows)
		b.Run(fmt.Sprintf("apart/%d", n), func(b *testing.B) {
			for range b.N {
				for i := range z {
					z[i] = Dot(x[i*stride:][:n], u)
				}
			}
		})
		b.Run(fmt.Sprintf("together/%d", n), func(b *testing.B) {
			for range b.N {
				Dots(x, stride, u, z)
			}
		})
	}
}

func BenchmarkGemm(b *testing.B) {
	s := rng.New(1, rng.Synthetic, 0, 0)
	for _, size := range [][3]int{{30, 568, 30}, {300, 104, 300}, {600, 568, 600}} {
		m, n, k := size[0], size[1], size[2]
		x, y, z := numbers(&s, m*k, "plain"), numbers(&s, k*n, "plain"), make([]float64, m*n)
		name := fmt.Sprintf("%dx%dx%d", m, k, n)
		flops := func(b *testing.B) {
			b.ReportMetric(2*float64(m*n*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		}
		b.Run("gonum/"+name, func(b *testing.B) {
			for range b.N {
				blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, blas64.General{Rows: m, Cols: k, Stride: k, Data: x},
					blas64.General{Rows: k, Cols: n, Stride: n, Data: y}, 0,
					blas64.General{Rows: m, Cols: n, Stride: n, Data: z})
			}
			flops(b)
		})
		b.Run("ours/"+name, func(b *testing.B) {
			for range b.N {
				Gemm(m, n, k, x, k, y, n, z, n)
			}
			flops(b)
		})
	}
}
