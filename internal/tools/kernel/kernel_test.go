package kernel

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// These tests hold the exported functions, vectors or not, against definitions
// written down once more, as slowly as they can be.

// slowDot pads with zeros to a multiple of sixteen and follows the package
// comment to the letter.
func slowDot(x, y []float64) float64 {
	var lane [16]float64
	for i := range (len(x) + 15) / 16 * 16 {
		xi, yi := 0.0, 0.0
		if i < len(x) {
			xi, yi = x[i], y[i]
		}
		lane[i%16] = lane[i%16] + float64(xi*yi)
	}
	l := lane[:]
	for len(l) > 1 {
		half := len(l) / 2
		next := make([]float64, half)
		for i := range next {
			next[i] = l[i] + l[half+i]
		}
		l = next
	}
	return l[0]
}

func slowAxpy(a float64, x, y []float64) []float64 {
	z := make([]float64, len(y))
	for i := range z {
		z[i] = y[i] + float64(a*x[i])
	}
	return z
}

func slowGemm(m, n, k int, a []float64, lda int, b []float64, ldb int) []float64 {
	c := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for p := range k {
				c[i*n+j] += float64(a[i*lda+p] * b[p*ldb+j])
			}
		}
	}
	return c
}

// same reports whether two numbers have the same bits, one NaN being as good as
// another.
func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || (a != a && b != b)
}

func mustAgree(t rapid.TB, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !same(got[i], want[i]) {
			t.Fatalf("%s[%d] = %x (%g), want %x (%g)", what, i, math.Float64bits(got[i]), got[i],
				math.Float64bits(want[i]), want[i])
		}
	}
}

// numbers fills a vector with what kind names.
func numbers(s *rng.Stream, n int, kind string) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = s.Normal()
		switch u := s.IntN(8); kind {
		case "denormal":
			x[i] *= 0x1p-1060
		case "wide":
			x[i] = math.Ldexp(x[i], s.IntN(600)-300)
		case "special":
			x[i] = [...]float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.MaxFloat64, 0x1p-1074, 1,
				math.NaN()}[u]
		case "zeros":
			x[i] = math.Copysign(0, x[i])
		}
	}
	return x
}

var kinds = []string{"plain", "denormal", "wide", "special", "zeros"}

func narrowed(x []float64) (narrow []float32, wide []float64) {
	narrow, wide = make([]float32, len(x)), make([]float64, len(x))
	for i, xi := range x {
		narrow[i] = float32(xi)
		wide[i] = float64(narrow[i])
	}
	return narrow, wide
}

// bothWays runs f with the vector kernels, if there are any here, with those of
// narrower vectors, and with the scalar ones.
func bothWays(t *testing.T, f func(t *testing.T)) {
	t.Run("as built", f)
	t.Run("narrow", func(t *testing.T) {
		defer withoutWideVectors()()
		f(t)
	})
	t.Run("scalar", func(t *testing.T) {
		defer withoutVectors()()
		f(t)
	})
}

// checkVectors compares every function on vectors of n elements that start
// offset elements into their arrays.
func checkVectors(t rapid.TB, s *rng.Stream, n, offset int, kind string) {
	x, y, next := numbers(s, n+offset, kind)[offset:], numbers(s, n+offset, kind)[offset:],
		numbers(s, n+offset, kind)[offset:]
	a := numbers(s, 1, kind)[0]
	near, far := &make([]float64, 1)[0], &make([]float64, 1)[0]
	near32, far32 := &make([]float32, 1)[0], &make([]float32, 1)[0]

	want := slowDot(x, y)
	mustAgree(t, "dot, norm, dot ahead",
		[]float64{Dot(x, y), SquaredNorm(x), DotAhead(x, y, nil, nil), DotAhead(x, y, near, nil),
			DotAhead(x, y, near, far)},
		[]float64{want, slowDot(x, x), want, want, want})
	u := append([]float64(nil), y...)
	Axpy(a, x, u)
	moved := slowAxpy(a, x, y)
	mustAgree(t, "axpy", u, moved)
	turnedX, turnedY := make([]float64, n), make([]float64, n)
	for i := range n {
		turnedX[i], turnedY[i] = float64(a*x[i])-float64(next[0]*y[i]), float64(next[0]*x[i])+float64(a*y[i])
	}
	if v := append([]float64(nil), x...); n > 0 {
		copy(u, y)
		Rotate(a, next[0], v, u)
		mustAgree(t, "x of rotate", v, turnedX)
		mustAgree(t, "y of rotate", u, turnedY)
	}
	if n > 0 {
		stepped := make([]float64, n)
		for i := range n {
			stepped[i] = (float64(a*y[i]) + float64(x[0]*x[i])) - float64(next[0]*next[i])
		}
		copy(u, y)
		Descend(a, x[0], next[0], u, x, next)
		mustAgree(t, "descend", u, stepped)
	}
	for _, hint := range [][2]*float64{{nil, nil}, {near, nil}, {near, far}, {nil, far}} {
		copy(u, y)
		got := AxpyDot(a, x, u, next, hint[0], hint[1])
		mustAgree(t, "u of axpy and dot", u, moved)
		mustAgree(t, "axpy and dot", []float64{got}, []float64{slowDot(next, moved)})
	}
	copy(u, y)
	mustAgree(t, "axpy and dot of one row", []float64{AxpyDot(a, x, u, x, near, far)}, []float64{slowDot(x, moved)})

	x32, xw := narrowed(x)
	next32, nextw := narrowed(next)
	want, moved = slowDot(xw, y), slowAxpy(a, xw, y)
	mustAgree(t, "dot32",
		[]float64{Dot32(x32, y), DotAhead32(x32, y, nil, nil), DotAhead32(x32, y, near32, nil),
			DotAhead32(x32, y, near32, far32)},
		[]float64{want, want, want, want})
	copy(u, y)
	Axpy32(a, x32, u)
	mustAgree(t, "axpy32", u, moved)
	scaled, scaled32 := make([]float64, n), make([]float64, n)
	for i := range n {
		scaled[i], scaled32[i] = a*x[i], a*xw[i]
	}
	Scale(a, x, u)
	mustAgree(t, "scale", u, scaled)
	Scale32(a, x32, u)
	mustAgree(t, "scale32", u, scaled32)
	rounded := make([]float32, n)
	Round32(x, rounded)
	for i, v := range rounded {
		expect.Must(t, math.Float32bits(v) == math.Float32bits(float32(x[i])),
			"%d of %d values: %v is rounded to %v, want %v", i, n, x[i], v, float32(x[i]))
	}
	for _, hint := range [][2]*float32{{nil, nil}, {near32, nil}, {near32, far32}} {
		copy(u, y)
		got := AxpyDot32(a, x32, u, next32, hint[0], hint[1])
		mustAgree(t, "u of axpy and dot 32", u, moved)
		mustAgree(t, "axpy and dot 32", []float64{got}, []float64{slowDot(nextw, moved)})
	}
}

// checkRows compares the products of rows of n elements, which begin n + pad elements apart, with a vector.
func checkRows(t rapid.TB, s *rng.Stream, count, n, pad int, kind string) {
	x, u := numbers(s, max(0, count*(n+pad)-pad), kind), numbers(s, n, kind)
	x32, xw := narrowed(x)
	rows := make([]int32, 2*count)
	var want, wide [2][]float64
	for k := range rows {
		rows[k] = int32(s.IntN(count))
	}
	row := func(x []float64, i int) []float64 { return x[i*(n+pad):][:n] }
	for i := range count {
		want[0], wide[0] = append(want[0], slowDot(row(x, i), u)), append(wide[0], slowDot(row(xw, i), u))
	}
	for _, i := range rows {
		want[1], wide[1] = append(want[1], want[0][i]), append(wide[1], wide[0][i])
	}
	z := make([]float64, 2*count)
	Dots(x, n+pad, u, z[:count])
	mustAgree(t, "dots", z, want[0])
	Dots32(x32, n+pad, u, z[:count])
	mustAgree(t, "dots32", z, wide[0])
	DotsOf(x, n+pad, rows, u, z)
	mustAgree(t, "dots of", z, want[1])
	DotsOf32(x32, n+pad, rows, u, z)
	mustAgree(t, "dots of 32", z, wide[1])
}

func TestRowsAgreeWithTheDefinition(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		s := rng.New(4, rng.Synthetic, 0, 0)
		for _, kind := range kinds {
			for n := range 65 {
				checkRows(t, &s, 1+n%5, n, n%9, kind)
			}
			checkRows(t, &s, 40, 561, 7, kind)
		}
		Dots(nil, 3, nil, nil)
		DotsOf(nil, 3, nil, nil, nil)
	})
}

// Every length up to four blocks, and those that the paper's data have.
func TestVectorsAgreeWithTheDefinition(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		s := rng.New(1, rng.Synthetic, 0, 0)
		for _, kind := range kinds {
			for n := range 65 {
				checkVectors(t, &s, n, 0, kind)
			}
			for _, n := range []int{100, 101, 180, 561, 562, 1200} {
				checkVectors(t, &s, n, 1, kind)
			}
		}
	})
}

func TestVectorsAgreeOnRandomCases(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			s := rng.New(rapid.Uint64().Draw(r, "seed"), rng.Synthetic, 0, 0)
			n, offset := rapid.IntRange(0, 1200).Draw(r, "n"), rapid.IntRange(0, 9).Draw(r, "offset")
			checkVectors(r, &s, n, offset, rapid.SampledFrom(kinds).Draw(r, "kind"))
		})
	})
}

// Worked by hand: 2^53 + 1 rounds to 2^53, so the result shows the order of the
// additions; and a product that an FMA would not round.
func TestDotByHand(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		ones := make([]float64, 32)
		for i := range ones {
			ones[i] = 1
		}
		x := make([]float64, 32)
		x[0], x[16] = 0x1p53, 1 // one lane: the 1 is lost
		got := Dot(x, ones)
		expect.That(t, got == 0x1p53, "2^53 + 1 in one lane: %g", got)
		clear(x)
		x[0], x[1], x[9] = 0x1p53, 1, 1 // lanes 1 and 9 meet before they meet lane 0
		got = Dot(x, ones)
		expect.That(t, got == 0x1p53+2, "2^53 + (1 + 1): %g", got)
		clear(x)
		x[0], x[8], x[4] = 0x1p53, 1, 1 // lane 8 meets lane 0 first, and lane 4 comes after it: both are lost
		got = Dot(x, ones)
		expect.That(t, got == 0x1p53, "(2^53 + 1) + 1: %g", got)
		a := 1 + 0x1p-30 // a*a = 1 + 2^-29 + 2^-60 rounds to 1 + 2^-29
		got = Dot([]float64{a, 0, 0, 0, 0, 0, 0, 0, 1 + 0x1p-29}, []float64{a, 0, 0, 0, 0, 0, 0, 0, -1})
		expect.That(t, got == 0, "a product was not rounded before it was added: %g", got)
		y := []float64{-1 - 0x1p-29}
		if Axpy(a, []float64{a}, y); y[0] != 0 {
			t.Errorf("a product was not rounded before it was added: %g", y[0])
		}
	})
}

func TestDifferentLengthsPanic(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		x, y := make([]float64, 3), make([]float64, 4)
		x32 := make([]float32, 3)
		for i, f := range []func(){
			func() { Dot(x, y) }, func() { Axpy(1, x, y) }, func() { DotAhead(y, x, nil, nil) },
			func() { AxpyDot(1, x, y, y, nil, nil) }, func() { AxpyDot(1, y, y, x, nil, nil) },
			func() { Dot32(x32, y) }, func() { Axpy32(1, x32, y) }, func() { Round32(y, x32) },
			func() { Scale(1, x, y) }, func() { Scale32(1, x32, y) }, func() { DotAhead32(x32, y, nil, nil) },
			func() { AxpyDot32(1, x32, x, make([]float32, 4), nil, nil) },
			func() { AxpyDot32(1, x32, y, x32, nil, nil) },
			func() { Dots(y, 2, x[:2], make([]float64, 3)) }, func() { Dots32(x32, 3, x, make([]float64, 2)) },
			func() { DotsOf(y, 2, []int32{0}, x[:2], make([]float64, 2)) },
			func() { DotsOf(y, 2, []int32{2}, x[:2], make([]float64, 1)) },
			func() { DotsOf32(x32, 1, []int32{-1}, x[:1], make([]float64, 1)) },
			func() { Gemm(2, 2, 2, y[:3], 2, y, 2, make([]float64, 4), 2) },
			func() { Gemm(2, 2, 2, y, 1, y, 2, make([]float64, 4), 2) },
			func() { Gemm(2, 2, 2, y, 2, y[:3], 2, make([]float64, 4), 2) },
			func() { Gemm(2, 2, 2, y, 2, y, 2, make([]float64, 3), 2) },
			func() { Gemm(-1, 2, 2, y, 2, y, 2, make([]float64, 4), 2) },
		} {
			func() {
				defer func() {
					expect.That(t, recover() != nil, "case %d does not panic", i)
				}()
				f()
			}()
		}
	})
}

// checkGemm compares a product, and what lies between and around the rows.
func checkGemm(t rapid.TB, s *rng.Stream, m, n, k, pad int, kind string) {
	lda, ldb, ldc := k+pad, n+pad, n+2*pad
	a, b := numbers(s, m*lda, kind), numbers(s, k*ldb, kind)
	const canary = 0x1.5p7
	c := make([]float64, m*ldc+3)
	for i := range c {
		c[i] = canary
	}
	Gemm(m, n, k, a, lda, b, ldb, c, ldc)
	want := slowGemm(m, n, k, a, lda, b, ldb)
	for i := range m {
		mustAgree(t, fmt.Sprintf("row %d of %d x %d x %d", i, m, k, n), c[i*ldc:], want[i*n:(i+1)*n])
		for j := n; j < ldc; j++ {
			expect.Must(t, c[i*ldc+j] == canary, "%d x %d x %d writes behind row %d", m, k, n, i)
		}
	}
	for _, x := range c[m*ldc:] {
		expect.Must(t, x == canary, "%d x %d x %d writes behind c", m, k, n)
	}
}

func TestGemmAgreesWithTheDefinition(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		s := rng.New(3, rng.Synthetic, 0, 0)
		for _, size := range [][3]int{
			{0, 3, 3}, {3, 0, 3}, {3, 3, 0}, {1, 1, 1}, {6, 8, 4}, {12, 16, 8}, {6, 8, 256}, {7, 9, 257},
			{30, 568, 30}, {23, 104, 23}, {29, 16, 29}, {13, 5, 600}, {18, 24, 512},
		} {
			for _, kind := range kinds {
				checkGemm(t, &s, size[0], size[1], size[2], 3, kind)
			}
		}
	})
}

func TestGemmAgreesOnRandomCases(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			s := rng.New(rapid.Uint64().Draw(r, "seed"), rng.Synthetic, 0, 0)
			m, n, k := rapid.IntRange(0, 30).Draw(r, "m"), rapid.IntRange(0, 40).Draw(r, "n"),
				rapid.IntRange(0, 300).Draw(r, "k")
			checkGemm(r, &s, m, n, k, rapid.IntRange(0, 8).Draw(r, "pad"), rapid.SampledFrom(kinds).Draw(r, "kind"))
		})
	})
}

func TestNothingAllocates(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		s := rng.New(5, rng.Synthetic, 0, 0)
		x, u, c := numbers(&s, 30*30, "plain"), numbers(&s, 30*30, "plain"), make([]float64, 30*30)
		x32, _ := narrowed(x)
		if allocs := testing.AllocsPerRun(10, func() {
			c[0] = Dot(x, u) + SquaredNorm(x) + DotAhead(x, u, &x[0], &x[1]) + AxpyDot(1e-9, x, u, x, &x[0], nil)
			Axpy(1e-9, x, u)
			Descend(1, 0, 1e-9, u, x, x)
			c[1] = Dot32(x32, u) + DotAhead32(x32, u, &x32[0], nil) + AxpyDot32(1e-9, x32, u, x32, &x32[0], nil)
			Axpy32(1e-9, x32, u)
			Gemm(29, 27, 30, x, 30, u, 30, c, 30)
		}); allocs != 0 {
			t.Errorf("%g allocations, want 0", allocs)
		}
	})
}

// Rows of a product may be computed apart, and are sums of scaled rows of b.
func TestGemmIsAxpyRowByRow(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		s := rng.New(4, rng.Synthetic, 0, 0)
		const m, n, k = 17, 21, 300
		a, b := numbers(&s, m*k, "wide"), numbers(&s, k*n, "wide")
		whole, apart := make([]float64, m*n), make([]float64, m*n)
		Gemm(m, n, k, a, k, b, n, whole, n)
		Gemm(5, n, k, a, k, b, n, apart, n)
		Gemm(m-5, n, k, a[5*k:], k, b, n, apart[5*n:], n)
		mustAgree(t, "apart", apart, whole)
		for i := range m {
			row := make([]float64, n)
			for p := range k {
				Axpy(a[i*k+p], b[p*n:(p+1)*n], row)
			}
			mustAgree(t, "axpys", row, whole[i*n:(i+1)*n])
		}
	})
}
