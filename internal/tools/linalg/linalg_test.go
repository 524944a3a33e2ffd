package linalg

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

var sizes = []int{1, 2, 3, 5, 17, 30, 64, 101}

// symmetric returns a random symmetric matrix of a kind, whose largest entry is about 1.
func symmetric(s *rng.Stream, n int, kind string) []float64 {
	a := make([]float64, n*n)
	g := make([]float64, n*n)
	for i := range g {
		g[i] = s.Normal()
		if kind == "graded" {
			g[i] *= math.Ldexp(1, -3*(i/n))
		}
	}
	for i := range n {
		for j := range i + 1 {
			switch kind {
			case "indefinite":
				a[i*n+j] = g[i*n+j]
			case "diagonal":
				if i == j {
					a[i*n+j] = g[i*n+j]
				}
			case "ones":
				a[i*n+j] = 1
			case "positive", "graded": // G G^T
				for k := range n {
					a[i*n+j] += g[i*n+k] * g[j*n+k]
				}
			case "low-rank":
				for k := range min(n, 2) {
					a[i*n+j] += g[i*n+k] * g[j*n+k]
				}
			}
			a[j*n+i] = a[i*n+j]
		}
	}
	return a
}

var kinds = []string{"indefinite", "diagonal", "ones", "positive", "graded", "low-rank", "zero"}

func TestEigenAgreesWithGonum(t *testing.T) {
	for _, n := range sizes {
		for _, kind := range kinds {
			t.Run(fmt.Sprintf("%s/%d", kind, n), func(t *testing.T) {
				s := rng.New(1, rng.Synthetic, n, 0)
				a := symmetric(&s, n, kind)
				var e mat.EigenSym
				expect.Must(t, e.Factorize(mat.NewSymDense(n, slices.Clone(a)), false), "gonum fails")
				want := e.Values(nil)
				norm := max(math.Abs(want[0]), math.Abs(want[n-1]))
				tolerance := 10 * epsilon * math.Sqrt(float64(n)) * norm
				z := slices.Clone(a)
				got, ok := Eigen(n, z, true)
				alone, ok2 := Eigen(n, slices.Clone(a), false)
				expect.Must(t, ok && ok2 && slices.Equal(got, alone),
					"eigenvalues with vectors %v %v, alone %v %v", got, ok, alone, ok2)
				for k := range n {
					expect.That(t, math.Abs(got[k]-want[k]) <= tolerance,
						"value %d is %v, want %v within %g", k, got[k], want[k], tolerance)
					v := z[k*n : (k+1)*n]
					for i := range n {
						residual := -got[k] * v[i]
						for j := range n {
							residual += a[i*n+j] * v[j]
						}
						if math.Abs(residual) > 2*tolerance {
							t.Fatalf("row %d of A v - lambda v is %g for value %d, want 0 within %g", i, residual, k,
								2*tolerance)
						}
					}
				}
				mustBeOrthonormal(t, n, z)
			})
		}
	}
}

func mustBeOrthonormal(t *testing.T, n int, z []float64) {
	t.Helper()
	for k := range len(z) / n {
		for l := range k + 1 {
			dot, want := 0.0, 0.0
			for i := range n {
				dot += z[k*n+i] * z[l*n+i]
			}
			if k == l {
				want = 1
			}
			expect.Must(t, math.Abs(dot-want) <= 20*epsilon*math.Sqrt(float64(n)),
				"the product of vectors %d and %d is %g, want %g", k, l, dot, want)
		}
	}
}

// The tridiagonal matrix with 2 and -1 has the eigenvalues 2 - 2 cos(k pi/(n+1)).
func TestEigenvaluesOfSecondDifferences(t *testing.T) {
	const n = 100
	for _, exponent := range []int{0, 1000, -1010} {
		a := make([]float64, n*n)
		for i := range n {
			a[i*n+i] = math.Ldexp(2, exponent)
			if i > 0 {
				a[i*n+i-1] = math.Ldexp(-1, exponent)
			}
		}
		values, ok := Eigen(n, a, false)
		expect.Must(t, ok, "no eigenvalues")
		for k, got := range values {
			want := math.Ldexp(2-2*math.Cos(float64(k+1)*math.Pi/(n+1)), exponent)
			expect.That(t, math.Abs(got-want) <= math.Ldexp(50*epsilon, exponent),
				"2^%d: value %d is %g, want %g", exponent, k, got, want)
		}
	}
}

func TestWhatIsNotFiniteIsRefused(t *testing.T) {
	for _, wrong := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		a := []float64{1, 0, wrong, 1}
		_, ok := Eigen(2, slices.Clone(a), true)
		expect.That(t, !ok, "a matrix with %g has eigenvalues", wrong)
		_, ok = Singular(2, slices.Clone(a))
		expect.That(t, !ok, "a matrix with %g has singular values", wrong)
		_, ok = NewCholesky(2, a)
		expect.That(t, !ok, "a matrix with %g is positive definite", wrong)
	}
	if _, ok := NewCholesky(2, []float64{1, 2, 2, 1}); ok {
		t.Error("an indefinite matrix is positive definite")
	}
}

func TestSingularAgreesWithGonum(t *testing.T) {
	for _, n := range sizes {
		for _, kind := range []string{"full", "graded", "low-rank", "triangular", "zero"} {
			t.Run(fmt.Sprintf("%s/%d", kind, n), func(t *testing.T) {
				s := rng.New(2, rng.Synthetic, n, 0)
				a := make([]float64, n*n) // A^T
				for i := range n {
					for j := range n {
						switch x := s.Normal(); kind {
						case "full":
							a[i*n+j] = x
						case "graded": // columns of all sizes
							a[i*n+j] = math.Ldexp(x, -5*i)
						case "low-rank":
							a[i*n+j] = float64((i % 3) * (j % 2))
						case "triangular":
							if j >= i {
								a[i*n+j] = x
							}
						}
					}
				}
				var svd mat.SVD
				expect.Must(t, svd.Factorize(mat.NewDense(n, n, slices.Clone(a)), mat.SVDNone), "gonum fails")
				want := svd.Values(nil)
				u := slices.Clone(a)
				got, ok := Singular(n, u)
				expect.Must(t, ok, "no singular values")
				tolerance := 10 * epsilon * float64(n) * want[0]
				rank := 0
				for k := range got {
					expect.Must(t, math.Abs(got[k]-want[k]) <= tolerance && (k == 0 || got[k] <= got[k-1]),
						"values %v, want %v within %g", got, want, tolerance)
					if got[k] > tolerance {
						rank++
					}
				}
				mustBeOrthonormal(t, n, u[:rank*n])
				// A A^T = U S^2 U^T.
				for i := range n {
					for j := range n {
						x := 0.0
						for k := range n {
							x += a[k*n+i]*a[k*n+j] - got[k]*got[k]*u[k*n+i]*u[k*n+j]
						}
						if math.Abs(x) > 4*tolerance*want[0] {
							t.Fatalf("A A^T differs from U S^2 U^T by %g in row %d, column %d, want %g at most", x, i,
								j, 4*tolerance*want[0])
						}
					}
				}
			})
		}
	}
}

// A = B diag(2^-60 i) with a well-conditioned B: every singular value is accurate,
// however small.
func TestSmallSingularValuesKeepTheirDigits(t *testing.T) {
	a := []float64{1, 1, math.Ldexp(1, -200), math.Ldexp(-1, -200)}
	values, ok := Singular(2, a)
	expect.Must(t, ok, "no singular values")
	for k, want := range []float64{math.Sqrt2, math.Sqrt2 * 0x1p-200} {
		expect.That(t, math.Abs(values[k]-want) <= 4*epsilon*want, "value %d is %v, want %v", k, values[k], want)
	}
}

func TestCholesky(t *testing.T) {
	for _, n := range sizes {
		s := rng.New(3, rng.Synthetic, n, 0)
		a := symmetric(&s, n, "positive")
		for i := range n {
			a[i*n+i]++
		}
		for i := range n { // the upper triangle is not read
			for j := range i {
				a[j*n+i] = math.NaN()
			}
		}
		c, ok := NewCholesky(n, a)
		expect.Must(t, ok, "not positive definite")
		for i := range n {
			for j := range i {
				a[j*n+i] = a[i*n+j]
			}
		}
		var oracle mat.Cholesky
		expect.Must(t, oracle.Factorize(mat.NewSymDense(n, slices.Clone(a))), "gonum fails")
		tolerance := 10 * epsilon * float64(n) * oracle.Cond()
		if got, want := c.LogDet(), oracle.LogDet(); math.Abs(got-want) > 1e-13*math.Abs(want)+1e-13 {
			t.Errorf("n = %d: the log-determinant is %v, want %v", n, got, want)
		}
		const columns, stride = 3, 5
		x := make([]float64, n*stride)
		for i := range x {
			x[i] = s.Normal()
		}
		b := slices.Clone(x)
		c.Solve(x, columns, stride)
		var want mat.Dense
		expect.NoError(t, oracle.SolveTo(&want, mat.NewDense(n, stride, slices.Clone(b))))
		inverse := c.Inverse()
		for i := range n {
			for j := range stride {
				got := x[i*stride+j]
				if j >= columns {
					expect.That(t, got == b[i*stride+j], "n = %d: a gap between rows was written", n)
				} else if math.Abs(got-want.At(i, j)) > tolerance {
					t.Errorf("n = %d: X[%d][%d] = %v, want %v", n, i, j, got, want.At(i, j))
				}
			}
			for j := range n {
				one := 0.0
				for k := range n {
					one += a[i*n+k] * inverse[k*n+j]
				}
				if i == j {
					one--
				}
				expect.Must(t, math.Abs(one) <= tolerance && inverse[i*n+j] == inverse[j*n+i],
					"n = %d: A A^-1 - I is %g in row %d, column %d; or A^-1 is not symmetric", n, one, i, j)
			}
		}
	}
}

// The bits are the same on every platform.
func TestBitsArePinned(t *testing.T) {
	const n = 37
	s := rng.New(4, rng.Synthetic, n, 0)
	a := symmetric(&s, n, "positive")
	sum := uint64(0)
	take := func(x []float64, ok bool) {
		expect.Must(t, ok, "failed")
		for _, x := range x {
			sum = sum*3 + math.Float64bits(x)
		}
	}
	z, u := slices.Clone(a), slices.Clone(a)
	values, ok := Eigen(n, z, true)
	take(values, ok)
	take(z, true)
	values, ok = Singular(n, u)
	take(values, ok)
	take(u, true)
	c, ok := NewCholesky(n, a)
	take(c.Inverse(), ok)
	take([]float64{c.LogDet()}, true)
	const want = 0x4ee7022669822424
	expect.That(t, sum == want, "the bits add up to %#x, want %#x", sum, uint64(want))
}
