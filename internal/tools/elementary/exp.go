package elementary

import "math"

// ln 2 in two parts. The first has 21 trailing zeros, so that its product with an
// exponent is exact.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

// expParts returns k, high and rest with exp(x) = 2^k (1 + high + rest) and
// |high| <= ln(2)/2, high being exact. x must be within +-750.
func expParts(x float64) (k int, high, rest float64) {
	const (
		p1 = 1.66666666666666657415e-01
		p2 = -2.77777777770155933842e-03
		p3 = 6.61375632143793436117e-05
		p4 = -1.65339022054652515390e-06
		p5 = 4.13813679705723846039e-08
	)
	k = int(float64(math.Log2E*x) + math.Copysign(0.5, x))
	high = x - float64(float64(k)*ln2High)
	low := float64(float64(k) * ln2Low)
	r := high - low
	t := float64(r * r)
	c := r - float64(t*(p1+float64(t*(p2+float64(t*(p3+float64(t*(p4+float64(t*p5)))))))))
	return k, high, float64(r*c)/(2-c) - low
}

// Exp returns e^x.
func Exp(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > 7.09782712893383973096e+02:
		return math.Inf(1)
	case x < -7.45133219101941108420e+02:
		return 0
	}
	k, high, rest := expParts(x)
	return scale(1+(high+rest), k)
}

// Expm1 returns e^x - 1, with full relative precision for small x.
func Expm1(x float64) float64 {
	switch {
	case x == 0 || math.IsNaN(x):
		return x // -0 stays
	case x > 7.09782712893383973096e+02:
		return math.Inf(1)
	case x < -50:
		return -1
	}
	k, high, rest := expParts(x)
	// 2^k (high + (1 - 2^-k) + rest), with the rounding errors of the sums (Knuth's
	// two-sum).
	less := 0.0
	if k <= 100 {
		less = scale(1, -k)
	}
	one := 1 - less
	lost := (1 - one) - less
	if k < 0 {
		lost = 1 - (one + less)
	}
	sum := high + one
	part := sum - high
	lost += (high - (sum - part)) + (one - part)
	return scale(sum+(lost+rest), k)
}

// scale returns y 2^k, rounded once, for y in [1/4, 4) or 0 and |k| <= 1100.
func scale(y float64, k int) float64 {
	switch {
	case k > 1000:
		return y * power(k-1000) * power(1000)
	case k < -1000:
		return y * power(k+1000) * power(-1000)
	default:
		return y * power(k)
	}
}

// power returns 2^k for a k in [-1022, 1023].
func power(k int) float64 { return math.Float64frombits(uint64(1023+k) << 52) }
