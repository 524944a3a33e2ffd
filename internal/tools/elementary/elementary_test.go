package elementary_test

import (
	"math"
	"math/big"
	"testing"

	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// precision is that of the references, in bits.
const precision = 200

func number(x float64) *big.Float      { return new(big.Float).SetPrec(precision).SetFloat64(x) }
func integer(n int) *big.Float         { return number(float64(n)) }
func zero() *big.Float                 { return new(big.Float).SetPrec(precision) }
func times(x, y *big.Float) *big.Float { return zero().Mul(x, y) }
func over(x, y *big.Float) *big.Float  { return zero().Quo(x, y) }
func plus(x, y *big.Float) *big.Float  { return zero().Add(x, y) }

// series adds up terms until they no longer count.
func series(first *big.Float, next func(term *big.Float, n int) *big.Float) *big.Float {
	sum, term := zero().Set(first), first
	for n := 1; term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-precision; n++ {
		term = next(term, n)
		sum.Add(sum, term)
	}
	return sum
}

// bigExp is e^x by halving x and its Taylor series.
func bigExp(x *big.Float) *big.Float {
	const halvings = 20
	small := zero().SetMantExp(x, -halvings)
	e := series(integer(1), func(term *big.Float, n int) *big.Float { return over(times(term, small), integer(n)) })
	for range halvings {
		e = times(e, e)
	}
	return e
}

// bigExpm1 loses no digits of a small x.
func bigExpm1(x *big.Float) *big.Float {
	if x.MantExp(nil) > -4 {
		return plus(bigExp(x), integer(-1))
	}
	return series(x, func(term *big.Float, n int) *big.Float { return over(times(term, x), integer(n+1)) })
}

// bigLog1p is log(1+x) by the series of the inverse hyperbolic tangent after
// square roots that bring the argument near 1.
func bigLog1p(x *big.Float) *big.Float {
	roots := 0
	for ; x.MantExp(nil) > -6; roots++ { // sqrt(1+x) - 1 = x/(sqrt(1+x) + 1)
		x = over(x, plus(zero().Sqrt(plus(x, integer(1))), integer(1)))
	}
	y := over(x, plus(x, integer(2)))
	power, square := y, times(y, y)
	sum := series(y, func(_ *big.Float, n int) *big.Float {
		power = times(power, square)
		return over(power, integer(2*n+1))
	})
	return zero().SetMantExp(sum, roots+1)
}

func bigLog(x *big.Float) *big.Float {
	exponent := x.MantExp(nil)
	mantissa := zero().SetMantExp(x, -exponent)
	ln2 := bigLog1p(integer(1))
	return plus(times(integer(exponent), ln2), bigLog1p(plus(mantissa, integer(-1))))
}

// bigSin and bigCos are Taylor series, for arguments that are not large.
func bigSin(x *big.Float) *big.Float {
	return series(x, func(term *big.Float, n int) *big.Float {
		return over(times(term, times(x, x)), integer(-2*n*(2*n+1)))
	})
}

func bigCos(x *big.Float) *big.Float {
	return series(integer(1), func(term *big.Float, n int) *big.Float {
		return over(times(term, times(x, x)), integer(-2*n*(2*n-1)))
	})
}

// ulps returns by how many units in the last place of want got differs from it.
func ulps(got float64, want *big.Float) float64 {
	near, _ := want.Float64()
	unit := math.Nextafter(math.Abs(near), math.Inf(1)) - math.Abs(near)
	difference, _ := plus(number(got), zero().Neg(want)).Float64()
	return math.Abs(difference) / unit
}

func TestErrorsAreBelowOneUnit(t *testing.T) {
	stream := rng.New(1, rng.Synthetic, 0, 0)
	between := func(low, high float64) func() float64 {
		return func() float64 { return low + (high-low)*stream.Float64() }
	}
	wide := func(sign float64, low, high int) func() float64 { // any size alike
		return func() float64 {
			return sign * math.Ldexp(1+stream.Float64(), low+stream.IntN(high-low))
		}
	}
	for _, c := range []struct {
		name string
		f    func(float64) float64
		big  func(*big.Float) *big.Float
		x    func() float64
	}{
		{"exp", elementary.Exp, bigExp, between(-708, 709)},
		{"exp near 0", elementary.Exp, bigExp, between(-2, 2)},
		{"exp of small", elementary.Exp, bigExp, wide(-1, -80, -3)},
		{"expm1", elementary.Expm1, bigExpm1, between(-40, 709)},
		{"expm1 near 0", elementary.Expm1, bigExpm1, between(-2, 2)},
		{"expm1 of small", elementary.Expm1, bigExpm1, wide(-1, -1000, 0)},
		{"expm1 of small+", elementary.Expm1, bigExpm1, wide(1, -1000, 0)},
		{"log", elementary.Log, bigLog, wide(1, -1073, 1023)},
		{"log near 1", elementary.Log, bigLog, between(0.5, 2)},
		{"log very near 1", elementary.Log, bigLog, between(1-1e-6, 1+1e-6)},
		{"log1p", elementary.Log1p, bigLog1p, wide(1, -1000, 1000)},
		{"log1p near 0", elementary.Log1p, bigLog1p, between(-0.6, 1.5)},
		{"log1p below 0", elementary.Log1p, bigLog1p, wide(-1, -1000, -1)},
		{"log1p near -1", elementary.Log1p, bigLog1p, between(-1, -0.9)},
		{"sin", elementary.Sin, bigSin, between(-math.Pi/4, math.Pi/4)},
		{"sin of small", elementary.Sin, bigSin, wide(1, -500, -1)},
		{"sin of turns", elementary.Sin, bigSin, between(-20, 20)},
		{"cos", elementary.Cos, bigCos, between(-math.Pi/4, math.Pi/4)},
		{"cos of turns", elementary.Cos, bigCos, between(-20, 20)},
	} {
		worst, at := 0.0, 0.0
		for range 5000 {
			x := c.x()
			if u := ulps(c.f(x), c.big(number(x))); !(u <= worst) {
				worst, at = u, x
			}
		}
		expect.That(t, worst < 1, "%s: error of %.3g units in the last place at %v, want below 1", c.name, worst, at)
		t.Logf("%s: %.3f", c.name, worst)
	}
}

// The error function has no simple reference beside package math's, whose error is
// below one unit: an error of z in Erfinv(p) changes p by 2/sqrt(pi) exp(-z^2) of it.
func TestErfinvInvertsErf(t *testing.T) {
	stream := rng.New(1, rng.Synthetic, 1, 0)
	for i := range 20000 {
		tail := stream.Float64()
		if i%2 == 0 {
			tail = math.Ldexp(1+tail, -1-stream.IntN(50))
		}
		tail = 1 - (1 - tail) // so that 1 - tail is exact
		z := elementary.Erfinv(1 - tail)
		error := (math.Erfc(z) - tail) / (2 / math.SqrtPi * math.Exp(-z*z))
		// Besides four units of z: a unit of tail, and of z^2 in its exponential.
		if bound := 0x1p-52 * (4*math.Abs(z) + tail/math.Exp(-z*z)*(2+z*z)); math.Abs(error) > bound {
			t.Fatalf("Erfinv(1 - %g) = %v is wrong by %g, want at most %g", tail, z, error, bound)
		}
		got := elementary.Erfinv(tail - 1)
		expect.Must(t, got == -z, "Erfinv(%g - 1) = %v, want %v", tail, got, -z)
	}
}

func TestErfcIsThatOfPackageMath(t *testing.T) {
	for x := -8.0; x < 26; x += 0.001 {
		got, want := elementary.Erfc(x), math.Erfc(x)
		expect.Must(t, math.Abs(got-want) <= 1e-14*math.Max(1, want) && (x < 2.5 || math.Abs(got-want) <= 1e-12*want),
			"Erfc(%g) = %v, want %v", x, got, want)
	}
}

func TestSpecialValues(t *testing.T) {
	inf, nan, minus0 := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	for _, c := range []struct {
		name         string
		f            func(float64) float64
		x, want, ulp float64
	}{
		{"exp", elementary.Exp, 0, 1, 0}, {"exp", elementary.Exp, minus0, 1, 0},
		{"exp", elementary.Exp, inf, inf, 0}, {"exp", elementary.Exp, -inf, 0, 0}, {"exp", elementary.Exp, nan, nan, 0},
		{"exp", elementary.Exp, 710, inf, 0}, {"exp", elementary.Exp, -746, 0, 0},
		{"exp", elementary.Exp, -745, 0x1p-1074, 0},
		{"exp", elementary.Exp, 709.782712893384, 1.797693134862273e308, 1e293},
		{"expm1", elementary.Expm1, minus0, minus0, 0}, {"expm1", elementary.Expm1, inf, inf, 0},
		{"expm1", elementary.Expm1, -inf, -1, 0}, {"expm1", elementary.Expm1, nan, nan, 0},
		{"expm1", elementary.Expm1, 0x1p-1074, 0x1p-1074, 0},
		{"log", elementary.Log, 0, -inf, 0}, {"log", elementary.Log, minus0, -inf, 0},
		{"log", elementary.Log, 1, 0, 0}, {"log", elementary.Log, inf, inf, 0},
		{"log", elementary.Log, -1, nan, 0}, {"log", elementary.Log, nan, nan, 0},
		{"log1p", elementary.Log1p, minus0, minus0, 0}, {"log1p", elementary.Log1p, -1, -inf, 0},
		{"log1p", elementary.Log1p, inf, inf, 0}, {"log1p", elementary.Log1p, -2, nan, 0},
		{"log1p", elementary.Log1p, nan, nan, 0},
		{"log1p", elementary.Log1p, 0x1p-1074, 0x1p-1074, 0},
		{"sin", elementary.Sin, minus0, minus0, 0}, {"sin", elementary.Sin, inf, nan, 0},
		{"sin", elementary.Sin, nan, nan, 0}, {"sin", elementary.Sin, 0x1p29, nan, 0},
		{"cos", elementary.Cos, 0, 1, 0}, {"cos", elementary.Cos, -inf, nan, 0},
		{"cos", elementary.Cos, nan, nan, 0}, {"erfinv", elementary.Erfinv, 0, 0, 0},
		{"erfinv", elementary.Erfinv, 1, inf, 0}, {"erfinv", elementary.Erfinv, -1, -inf, 0},
		{"erfinv", elementary.Erfinv, 1.5, nan, 0},
		{"erfinv", elementary.Erfinv, nan, nan, 0},
	} {
		got := c.f(c.x)
		if math.IsNaN(got) && math.IsNaN(c.want) || math.Abs(got-c.want) <= c.ulp {
			continue
		}
		expect.That(t, got == c.want && math.Signbit(got) == math.Signbit(c.want),
			"%s(%v) = %v, want %v", c.name, c.x, got, c.want)
	}
}

// TestBitsArePinned holds every platform to the same bits: the sum of the bits of
// values at 10,000 places.
func TestBitsArePinned(t *testing.T) {
	for _, c := range []struct {
		name      string
		f         func(float64) float64
		low, high float64
		want      uint64
	}{
		{"exp", elementary.Exp, -700, 700, 0xee07c7c2bd6ac88e},
		{"expm1", elementary.Expm1, -3, 3, 0xd12f2ea3bc9aaba},
		{"log", elementary.Log, 0, 10, 0xcf8b67179b3e86a9},
		{"log1p", elementary.Log1p, -0.9, 3, 0x7bcc89e66b2a1309},
		{"sin", elementary.Sin, -10, 10, 0xcaf8b82ab1278870},
		{"cos", elementary.Cos, -10, 10, 0x21d985fd150ee8fa},
		{"erfinv", elementary.Erfinv, -1, 1, 0x57c34c4b70d18b0d},
	} {
		sum, stream := uint64(0), rng.New(1, rng.Synthetic, 2, 0)
		for range 10000 {
			sum = sum*3 + math.Float64bits(c.f(c.low+float64((c.high-c.low)*stream.Float64())))
		}
		expect.That(t, sum == c.want, "%s: the bits add up to %#x, want %#x", c.name, sum, c.want)
	}
}
